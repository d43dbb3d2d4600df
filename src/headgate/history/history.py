"""A history: the records of a stretch of time, put in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.history.records import Arrivals, Delivery, Record, RunRecord, RunStart, Setting


@dataclass(slots=True)
class History:
    """Records by kind, in the order of time.

    >>> run = RunRecord(1, 0, "fire", "gold", ("fire",), 10, oldest=0.5, began=1.0, evaluated=1.2, ended=1.3)
    >>> history = History.of([run, Delivery(1.4, "fire", 1)])
    >>> history.began, history.ended, [record.unit for record in history.runs]
    (0.5, 1.4, ['fire'])
    """

    runs: list[RunRecord] = field(default_factory=list)  # by when they began
    arrivals: dict[str, list[tuple[float, int]]] = field(default_factory=dict)  # by stream: (arrival, how many)
    deliveries: dict[str, list[Delivery]] = field(default_factory=dict)  # by query
    settings: list[Setting] = field(default_factory=list)
    under_way: list[RunStart] = field(default_factory=list)  # runs of which only the beginning is recorded
    until: float | None = None  # when it was read, if its driver was still running then

    @classmethod
    def of(cls, records: Iterable[Record]) -> History:
        history = cls()
        for record in records:
            if isinstance(record, RunRecord):
                history.runs.append(record)
            elif isinstance(record, RunStart):
                history.under_way.append(record)
            elif isinstance(record, Arrivals):
                history.arrivals.setdefault(record.stream, []).extend(record.chunks)
            elif isinstance(record, Delivery):
                history.deliveries.setdefault(record.query, []).append(record)
            else:
                history.settings.append(record)
        return history.in_order()

    def in_order(self) -> History:
        """The same, put in order; it is changed in place."""
        self.runs.sort(key=lambda run: (run.began, run.id))
        starts = {start.id: start for start in self.under_way}
        ended = {run.id for run in self.runs} if starts else frozenset()
        self.under_way = sorted(
            (start for start in starts.values() if start.id not in ended), key=lambda start: (start.began, start.id)
        )
        for chunks in self.arrivals.values():
            chunks.sort()
        return self

    def runs_so_far(self) -> list[RunRecord]:
        """All runs by when they began, those under way as far as they have come."""
        if not self.under_way:
            return self.runs
        unfinished = [
            RunRecord.of_start(start, max(self.now, start.began), max(self.now, start.began), unfinished=True)
            for start in self.under_way
        ]
        return sorted([*self.runs, *unfinished], key=lambda run: (run.began, run.id))

    @property
    def began(self) -> float:
        """The time of the first arrival or run."""
        starts = [chunks[0][0] for chunks in self.arrivals.values() if chunks]
        first = [min(run.oldest, run.began) for run in self.runs[:1]]
        first += [min(start.oldest, start.began) for start in self.under_way[:1]]
        return min([*starts, *first], default=0.0)

    @property
    def ended(self) -> float:
        """The time of the last record."""
        moments = [chunks[-1][0] for chunks in self.arrivals.values() if chunks]
        moments += [deliveries[-1].at for deliveries in self.deliveries.values() if deliveries]
        moments += [start.began for start in self.under_way]
        return max([*moments, *(run.ended for run in self.runs)], default=0.0)

    @property
    def now(self) -> float:
        """When it was read, if its driver was still running; else the time of the last record."""
        return self.ended if self.until is None else max(self.until, self.ended)

    @property
    def origin(self) -> float:
        """When the driver began: the time that people count from."""
        return self.settings[-1].origin if self.settings else 0.0

    @property
    def header(self) -> Mapping[str, Any]:
        """The newest setting: streams, queries, classes, policy, costs, as the first line of a trace has them."""
        return self.settings[-1].header if self.settings else {}

    def delivered(self, query: str, commit: int | None) -> float | None:
        """When a query's sink had taken the results of a commit; None if that is not known."""
        if commit is None:
            return None
        return next((one.at for one in self.deliveries.get(query, ()) if one.commit >= commit), None)
