"""Which runs held the workers, and how long that made a query wait.

While no worker is free, the time that a query waits is divided equally among the runs that hold them. While one is
free, the query waits for a run of its own operators (which may not run twice at the same time), if there is one, or for
nothing that a run does: its worker was kept for others, or the policy let it idle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.history.history import History

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Span = tuple[float, float, float]  # from, to, how many results wait


@dataclass(frozen=True, slots=True)
class Delays:
    """Seconds that results waited, by run (in the order of `Timeline.runs`) and by nothing that ran.

    Together they are the whole wait.
    """

    held: Floats  # the run held a worker, and none was free
    own: Floats  # a worker was free, but the run had the query's operators, or its results were being committed
    free: float  # a worker was free, and nothing that ran was in the way

    @property
    def by_run(self) -> Floats:
        return self.held + self.own


class Timeline:
    """Time cut into pieces in which the same runs hold workers.

    >>> from headgate.history.records import RunRecord
    >>> long = RunRecord(1, 0, "report", "low", ("report",), 9, oldest=0.0, began=0.0, evaluated=3.0, ended=3.0)
    >>> late = RunRecord(2, 0, "fire", "high", ("fire",), 1, oldest=1.0, began=3.5, evaluated=4.0, ended=4.0)
    >>> delays = Timeline(History.of([long, late])).delays("fire", [(1.0, 3.5, 1.0)])
    >>> delays.held.tolist(), delays.free
    ([2.0, 0.0], 0.5)
    """

    def __init__(self, history: History) -> None:
        self.runs = runs = history.runs_so_far()
        began = np.array([run.began for run in runs], dtype=float)
        evaluated = np.maximum(began, [run.evaluated for run in runs])
        ended = np.maximum(evaluated, [run.ended for run in runs])
        changes = [setting.at for setting in history.settings]
        self._edges = np.unique(np.concatenate([began, evaluated, ended, changes])) if runs else np.zeros(1)
        self._began, self._evaluated, self._ended = (
            np.searchsorted(self._edges, moments) for moments in (began, evaluated, ended)
        )
        self._busy = self._count(self._began, self._evaluated)
        self._full = self._busy >= self._workers(history)
        self.runs_of: dict[str, list[int]] = {}  # by query: places in `runs`
        for place, run in enumerate(runs):
            for query in run.queries:
                self.runs_of.setdefault(query, []).append(place)

    def delays(self, query: str, spans: Sequence[Span]) -> Delays:
        """Who made a query's results wait, that waited during some spans of time."""
        waited = self._waited(spans)
        whole = float(sum((upto - since) * count for since, upto, count in spans))
        held = np.zeros(len(self.runs))
        own = np.zeros(len(self.runs))
        if len(waited):
            each = np.divide(waited, self._busy, out=np.zeros_like(waited), where=self._full & (self._busy > 0))
            held = _between(each, self._began, self._evaluated)
            mine = np.array(self.runs_of.get(query, ()), dtype=np.int64)
            first, last = self._began[mine], self._ended[mine]
            beside = self._count(first, last)
            each = np.divide(waited, beside, out=np.zeros_like(waited), where=~self._full & (beside > 0))
            own[mine] = _between(each, first, last)
        return Delays(held, own, max(0.0, whole - float(held.sum()) - float(own.sum())))

    def _workers(self, history: History) -> Ints:
        """How many workers there are in each piece of time."""
        given = [(setting.at, int(setting.header.get("workers", 1))) for setting in history.settings]
        if not given:
            return np.full(len(self._busy), 1 + max((run.worker for run in self.runs), default=0), dtype=np.int64)
        places = np.searchsorted([at for at, _ in given], self._edges[:-1], side="right") - 1
        return np.array([workers for _, workers in given], dtype=np.int64)[np.maximum(places, 0)]

    def _count(self, first: NDArray[np.intp], last: NDArray[np.intp]) -> Ints:
        """How many stretches, each from an edge to another, cover every piece."""
        change = np.zeros(len(self._edges), dtype=np.int64)
        np.add.at(change, first, 1)
        np.add.at(change, last, -1)
        return np.cumsum(change)[:-1]

    def _waited(self, spans: Sequence[Span]) -> Floats:
        """Seconds, times results, that spans have in each piece."""
        pieces = len(self._edges) - 1
        waited = np.zeros(max(pieces, 0))
        if not pieces or not spans:
            return waited
        since, upto, count = (np.array(column, dtype=float) for column in zip(*spans, strict=True))
        since, upto = (np.clip(moments, self._edges[0], self._edges[-1]) for moments in (since, upto))
        for sign, moments in ((1.0, upto), (-1.0, since)):  # what lies before a moment, less what lies before another
            place = np.clip(np.searchsorted(self._edges, moments, side="right") - 1, 0, pieces - 1)
            change = np.zeros(pieces + 1)
            np.add.at(change, place, sign * count)
            whole = change[::-1].cumsum()[::-1][1:]  # pieces before the one that the moment lies in
            waited += whole * np.diff(self._edges)
            np.add.at(waited, place, sign * count * (moments - self._edges[place]))
        return np.maximum(waited, 0.0)


def _between(each: Floats, first: NDArray[np.intp], last: NDArray[np.intp]) -> Floats:
    """The sums of what lies between edges."""
    upto = np.concatenate([[0.0], np.cumsum(each)])
    return np.asarray(np.maximum(upto[last] - upto[first], 0.0))
