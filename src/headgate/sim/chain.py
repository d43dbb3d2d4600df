"""A fast path for the common case: runs of one tuple through a chain of filters on one stream."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from headgate.metrics import QueryRecords
from headgate.model import QueueId
from headgate.sim.draws import Drawn, Outcomes

MOST_FILTERS = 255  # that a byte can count


class FilterChain:
    """How far every tuple of a stream gets in a chain of filters, and what that costs, worked out beforehand."""

    __slots__ = ("entry", "length", "note_arrival", "note_emission", "overhead", "passed", "times", "work")

    def __init__(
        self,
        entry: QueueId,
        filters: Sequence[tuple[float, float, Outcomes]],  # cost and overhead
        times: array[float],
        records: QueryRecords,
    ) -> None:
        costs = [cost + overhead for cost, overhead, _ in filters]
        overheads = [overhead for _, overhead, _ in filters]
        self.entry = entry
        self.length = len(filters)
        self.passed = _passed([outcomes for *_, outcomes in filters], len(times))  # filters, by offset of the tuple
        self.work = [tuple(costs[: passed + 1]) for passed in range(self.length + 1)]  # seconds, by filters passed
        self.overhead = [sum(overheads[: passed + 1]) for passed in range(self.length + 1)]  # that of calls among it
        self.times = times
        self.note_arrival = records.arrival.append
        self.note_emission = records.emission.append


def _passed(outcomes: Sequence[Outcomes], tuples: int) -> bytes:
    still = np.ones(tuples, dtype=np.uint8)
    count = np.zeros(tuples, dtype=np.uint8)
    for outcome in outcomes:
        if isinstance(outcome, Drawn):
            still &= np.frombuffer(outcome.table, dtype=np.uint8)
        count += still
    return count.tobytes()


NOT_A_CHAIN = FilterChain(-1, (), array("d"), QueryRecords("", 0.0))
