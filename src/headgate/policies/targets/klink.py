from __future__ import annotations

from headgate.policies.registry import register
from headgate.policies.targets.by_deadline import ByDeadline
from headgate.stats.ways import Way


@register("klink")
class Klink(ByDeadline):
    """The query whose window closes soonest, counting the work that is to be done before that.

    What waits for a window that is still open for long can wait, and is worked off just in time for its end: then the
    window's result comes at once. What waits for no window is due when it arrives. Targets do not count.

    >>> from headgate.policies.checks import Situation
    >>> queries = {"a": "aggregate, window=10s, cost=1s", "b": "aggregate, window=8s, cost=1s", "c": "select, cost=1s"}
    >>> heads = {"c": 0.5}  # a: 10 − 1, b: 8 − 1, c: 0.5 − 1
    >>> Situation(queries, heads=heads).order("klink")
    ['c', 'b', 'a']
    >>> Situation(queries, heads=heads, waiting={"a": 4}).order("klink")  # a: 10 − 4
    ['c', 'a', 'b']
    """

    source = "Farhat, Daudjee, Querzoni 2021 (Klink)"
    rule = "earliest end of a window − work that waits before it"
    needs = frozenset({"model", "ways"})

    def due(self, way: Way, arrival: float) -> float:
        return way.windows[0].closes(arrival) if way.windows else arrival
