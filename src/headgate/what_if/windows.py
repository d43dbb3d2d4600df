"""When windows close, so that the tuples which they hold can be taken."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from headgate.history.records import RunRecord
from headgate.model import Aggregate, Except, Operator, Query, QueueId, walk
from headgate.plan.network import Network
from headgate.plan.places import Place

_GAP = 1.5  # slides without a release, in which one was missed: a run took the tuples of several windows


@dataclass(frozen=True, slots=True)
class Releases:
    """When a query's windows closed, and how long before that the last of a window's tuples came."""

    times: tuple[float, ...]
    lag: float

    def between(self, after: float, upto: float) -> Sequence[float]:
        return self.times[bisect_right(self.times, after) : bisect_right(self.times, upto)]

    def following(self, moment: float) -> float:
        """The first one at a moment or after it."""
        place = bisect_left(self.times, moment)
        return self.times[place] if place < len(self.times) else moment


def slide_of(plan: Operator) -> float | None:
    """Seconds from one closing of a query's windows to the next; None: nothing waits for a window.

    >>> from headgate.model import Select, Source, Window
    >>> slide_of(Aggregate(inputs=(Source("s"),), window=Window(10.0, 5.0))), slide_of(Select(inputs=(Source("s"),)))
    (5.0, None)
    """
    return min((node.window.slide for node in walk(plan) if isinstance(node, Aggregate | Except)), default=None)


def held_queues(network: Network, query: str) -> list[QueueId]:
    """The queues of a query whose tuples wait until a window closes."""
    plan = network.queries[query].plan
    return [queue for place, queue in network.leaves(query).items() if _closes_above(plan, place)]


def learn_releases(
    queries: Iterable[Query], runs: Sequence[RunRecord], began: float, ended: float
) -> Mapping[str, Releases]:
    """The releases of all queries with windows, as recorded; what was not recorded as the plan says."""
    seen: dict[str, list[tuple[float, float]]] = {}  # by query: (when, how long after the latest tuple)
    for run in runs:
        for name, answer in run.answers.items():
            if answer.released is not None and not run.cancelled:
                seen.setdefault(name, []).append((answer.released, answer.released - answer.mean_arrival))
    found: dict[str, Releases] = {}
    for query in queries:
        slide = slide_of(query.plan)
        if slide is not None and not query.once:
            theirs = seen.get(query.name, [])
            times = every(slide, sorted({time for time, _ in theirs}), began, ended)
            found[query.name] = Releases(tuple(times), max(0.0, median([lag for _, lag in theirs] or [0.0])))
    return found


def every(slide: float, known: Sequence[float], began: float, ended: float) -> list[float]:
    """The known times, and those that must have been between, before and after them.

    >>> every(1.0, [2.1, 5.1], began=0.0, ended=6.5)
    [0.1, 1.1, 2.1, 3.1, 4.1, 5.1, 6.1]
    """
    times = list(known) or [began + slide]
    before = int((times[0] - began) / slide)
    found = [round(times[0] - slide * step, 9) for step in range(before, 0, -1)]
    for time, following in zip(times, [*times[1:], None], strict=True):
        found.append(time)
        if following is not None and following - time > _GAP * slide:
            steps = round((following - time) / slide)
            found += [time + (following - time) * step / steps for step in range(1, steps)]
    found += [times[-1] + slide * step for step in range(1, int((ended - times[-1]) / slide) + 1)]
    return found


def _closes_above(plan: Operator, place: Place) -> bool:
    node = plan
    for port in place:
        if isinstance(node, Aggregate | Except):
            return True
        child = node.inputs[port]
        if not isinstance(child, Operator):
            return False
        node = child
    return False
