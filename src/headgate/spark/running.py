"""A query in the engine: where it stands, what it holds back, how it has done."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from headgate.model import Aggregate, Except, Operator, Query, QueueId, Source
from headgate.plan.sharing import Place
from headgate.spark.jobs.evaluate import Evaluation
from headgate.spark.jobs.rows import Leaf, Range
from headgate.spark.jobs.schemas import ARRIVAL, CLOSES
from headgate.spark.store.log import StreamLog

KEPT = 100_000  # response times that percentiles are taken from


@dataclass(slots=True)
class Tally:
    """What a query has done since the engine started."""

    runs: int = 0
    jobs: int = 0
    tuples_in: int = 0
    tuples_out: int = 0
    dead_letters: int = 0
    responses: array[float] = field(default_factory=lambda: array("d"))

    def note(self, response_times: list[float]) -> None:
        self.responses.extend(response_times)
        if len(self.responses) > 2 * KEPT:
            del self.responses[:-KEPT]


@dataclass(slots=True)
class RunningQuery:
    """A query, checked by Spark, and its offset in the log at each leaf of its plan."""

    query: Query
    evaluation: Evaluation
    starts: dict[Place, int]  # the offset from which it reads at all
    positions: dict[Place, int]  # what is committed
    queues: dict[Place, QueueId] = field(default_factory=dict)
    bases: dict[QueueId, int] = field(default_factory=dict)  # the log's offset at the core's 0
    state: str = "running"  # running, paused, suspended
    error: str = ""
    busy: bool = False  # a run of it is under way that is not committed yet
    tally: Tally = field(default_factory=Tally)

    @property
    def name(self) -> str:
        return self.query.name

    @property
    def windows(self) -> list[Aggregate | Except]:
        return [node for node in _operators(self.query.plan) if isinstance(node, Aggregate | Except)]

    @property
    def held(self) -> list[Place]:
        """Leaves whose every tuple waits for a window to close."""
        return [place for place in self.positions if _closes_above(self.query.plan, place)]

    def stream(self, place: Place) -> str:
        return source_at(self.query.plan, place).stream

    def leaves(self, taken: Mapping[QueueId, tuple[int, int]], logs: Mapping[str, StreamLog]) -> dict[Place, Leaf]:
        """What a run reads: the offsets it takes, and the frontiers before and after them."""
        made: dict[Place, Leaf] = {}
        for place, queue in self.queues.items():
            stream, base = self.stream(place), self.bases[queue]
            here = self.positions[place]
            first, last = taken.get(queue, (here - base, here - base))
            log = logs[stream]
            old, new = log.frontier_at(base + first), log.frontier_at(base + last)
            made[place] = Leaf(stream, Range(base + first, base + last), old, new, self.starts[place])
        return made

    def taken(self, leaves: Mapping[Place, Leaf]) -> int:
        """How many tuples a run takes; leaves with one queue take the same ones."""
        ranges = {self.queues[place]: leaf.range for place, leaf in leaves.items()}
        return sum(each.last - each.first for each in ranges.values())

    def can_close(self, logs: Mapping[str, StreamLog], ends: Mapping[str, int]) -> bool:
        """Whether a window ends between where the query stands and the ends of its logs."""
        old = _frontier(log.frontier_at(self.positions[place]) for place, log in self._logs(logs))
        new = _frontier(log.frontier_at(ends[self.stream(place)]) for place, log in self._logs(logs))
        return any(_ends_between(node.window.size, node.window.slide, old, new) for node in self.windows)

    def _logs(self, logs: Mapping[str, StreamLog]) -> Iterator[tuple[Place, StreamLog]]:
        return ((place, logs[self.stream(place)]) for place in self.positions)


def source_at(plan: Operator, place: Place) -> Source:
    """The leaf at a place."""
    node: Operator | Source = plan
    for number in place:
        assert isinstance(node, Operator)
        node = node.inputs[number]
    assert isinstance(node, Source)
    return node


def response_times(
    rows: pa.Table, leaves: Mapping[Place, Leaf], logs: Mapping[str, StreamLog], emission: float
) -> list[float]:
    """How long each result took: from its latest tuple, or from the tuple that closed its window."""
    arrivals = rows[ARRIVAL].to_pylist()
    if rows[CLOSES].null_count < rows.num_rows:
        ends = rows[CLOSES].cast(pa.int64()).to_pylist()
        distinct = [end for end in pc.unique(rows[CLOSES].cast(pa.int64())).to_pylist() if end is not None]
        closing = {end: _closing(end, leaves, logs, emission) for end in distinct}
        arrivals = [arrival if end is None else closing[end] for arrival, end in zip(arrivals, ends, strict=True)]
    return [max(0.0, emission - arrival) for arrival in arrivals]


def _closing(end: int, leaves: Mapping[Place, Leaf], logs: Mapping[str, StreamLog], emission: float) -> float:
    """The arrival of the tuple with which all frontiers had passed an event time; a stream's end is no tuple."""
    latest = max(_passing(end, leaf, logs[leaf.stream]) for leaf in leaves.values())
    return latest if math.isfinite(latest) else emission


def _passing(end: int, leaf: Leaf, log: StreamLog) -> float:
    low, high = leaf.range.first, leaf.range.last
    if low == high:
        return -math.inf
    while high - low > 1:
        middle = (low + high) // 2
        passed = log.frontier_at(middle)
        low, high = (low, middle) if passed is not None and passed >= end else (middle, high)
    found = log.arrivals(low, low + 1)
    return found[0][0] if found else -math.inf


def _operators(plan: Operator) -> Iterator[Operator]:
    yield plan
    for child in plan.inputs:
        if isinstance(child, Operator):
            yield from _operators(child)


def _closes_above(plan: Operator, place: Place) -> bool:
    node: Operator | Source = plan
    for number in place:
        if isinstance(node, Aggregate | Except):
            return True
        assert isinstance(node, Operator)
        node = node.inputs[number]
    return False


def _frontier(found: Iterator[int | float | None]) -> float:
    return min(-math.inf if moment is None else float(moment) for moment in found)


def _ends_between(size: float, slide: float, old: float, new: float) -> bool:
    """Whether a window's end lies in (old, new] microseconds; ends are size + multiples of slide.

    >>> _ends_between(10.0, 5.0, 0.0, 9e6), _ends_between(10.0, 5.0, 9e6, 10e6), _ends_between(10.0, 10.0, 1e6, 9e6)
    (True, True, False)
    """
    if new == math.inf or old == -math.inf:
        return new > old
    return math.floor((new / 1e6 - size) / slide) > math.floor((old / 1e6 - size) / slide)
