from __future__ import annotations

from collections.abc import Sequence

from headgate.model import Level, Unit
from headgate.policies.linear import Linear
from headgate.policies.order import Line
from headgate.policies.registry import register
from headgate.stats import Stats, ratio

Chart = Sequence[tuple[float, float]]  # points (seconds spent, bytes left), from the leaf to the output


def envelope(chart: Chart) -> list[float]:
    """How steeply the lower envelope of a progress chart falls along each of its steps.

    From a point go to the later one that is reached by the steepest descent, the farthest of several; from there again.

    >>> envelope([(0, 10), (1, 9), (2, 2), (3, 0)])  # the dull first step leads to a steep one
    [4.0, 4.0, 2.0]
    """
    steps: list[float] = []
    while (start := len(steps)) < len(chart) - 1:
        steep, end = max(
            (ratio(chart[start][1] - y, x - chart[start][0]), place)
            for place, (x, y) in enumerate(chart)
            if place > start
        )
        steps += [steep] * (end - start)
    return steps


@register("chain")
class Chain(Linear):
    """The operator on the steepest segment of its path's progress chart goes first: keeps queues small.

    The chart shows how much of a tuple is left after so much work. A segment of its lower envelope is a chain of
    operators that frees memory quickly as a whole, even if the first of them alone does not. Among tuples on equal
    segments the earliest goes first.

    >>> from headgate.policies.checks import Situation
    >>> slow_start = ["select, cost=1ms, selectivity=0.9, name=a1", "select, cost=1ms, selectivity=0, name=a2"]
    >>> queries = {"a": slow_start, "b": "select, cost=3ms, selectivity=0, name=b1"}
    >>> Situation(queries).order("chain"), Situation(queries).order("greedy")
    (['a2', 'a1', 'b1'], ['a2', 'b1', 'a1'])

    An operator on several paths has the steepest of its segments.
    """

    source = "Pielech 2004, section 4.6, after Babcock, Babu, Datar, Motwani 2003"
    rule = "steepest segment of the progress chart"
    needs = frozenset({"progress"})
    levels = (Level.OPERATOR,)

    def line(self, unit: Unit, stats: Stats) -> Line:
        return max(envelope(chart)[place] for chart, place in stats.progress(unit)), 0.0
