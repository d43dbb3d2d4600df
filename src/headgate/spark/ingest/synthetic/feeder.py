"""The feeder: a source whose tuples come by a process of arrivals, with random values or rows of a file.

After a restart a feeder begins with new arrivals: like the world outside, it does not repeat what it has sent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.sim.arrivals import Times
from headgate.spark.ingest.sources.base import MOST_ROWS, Batch, Reader
from headgate.spark.ingest.synthetic.paged_rows import PagedRows
from headgate.spark.ingest.synthetic.timetable import Timetable

TICK = 0.02  # seconds whose arrivals come as one batch
EXACT = 1e-6  # seconds since the epoch are not more exact than that as a float


@dataclass(frozen=True, slots=True)
class Stamp:
    """Columns that get the moment of arrival: always, or only where they are null."""

    columns: tuple[str, ...]
    always: bool

    def on(self, rows: pa.Table, moments: Times) -> pa.Table:
        for name in self.columns:
            index = rows.schema.get_field_index(name)
            field = rows.schema.field(index)
            stamps = _as_type(moments, field.type)
            column = stamps if self.always else pc.coalesce(rows.column(index), stamps)
            rows = rows.set_column(index, field, column)
        return rows


class Feeder(Reader):
    """Gives all tuples that are due as one batch.

    Tuples are due at the end of the tick in which they arrive, so that a batch has several of them.
    """

    def __init__(
        self,
        timetable: Timetable,
        supply: PagedRows,
        stamp: Stamp,
        *,
        began: float,
        tick: float = TICK,
        rows: float = math.inf,
    ) -> None:
        self._timetable, self._supply, self._stamp = timetable, supply, stamp
        self._began, self._tick, self._left = began, tick, rows

    @property
    def done(self) -> bool:
        return self._ended and not self._supply.bad

    @property
    def _ended(self) -> bool:
        return self._left <= 0 or self._supply.over or math.isinf(self._timetable.next)

    def read(self, now: float) -> list[Batch]:
        moments = np.empty(0)
        if not self._ended:
            moments = self._timetable.until(self._limit(now), int(min(MOST_ROWS, self._left)))
        self._left -= len(moments)
        rows = self._supply.take(len(moments))
        rows = self._stamp.on(rows, self._began + moments[: rows.num_rows])
        bad, self._supply.bad = tuple(self._supply.bad), []
        return [Batch(rows, None, bad)] if rows.num_rows or bad else []

    def due(self, now: float) -> float:
        if self._ended:
            return now if self._supply.bad else math.inf
        arrival = self._timetable.next
        if self._tick:
            arrival = math.ceil((arrival - 0.9 * EXACT) / self._tick) * self._tick
        return self._began + arrival

    def close(self) -> None:
        self._supply.close()

    def _limit(self, now: float) -> float:
        """The moment up to which arrivals are due.

        It lies a little after what `due` says: otherwise rounding could make the reader poll for ever without a tuple.
        """
        passed = now - self._began + EXACT
        return math.floor(passed / self._tick) * self._tick + EXACT if self._tick else passed


def _as_type(moments: Times, kind: Any) -> Any:
    """Seconds since the epoch as an Arrow array of a type of times or dates."""
    microseconds = pa.array(np.round(moments * 1e6).astype(np.int64))
    return microseconds.cast(pa.timestamp("us", "UTC")).cast(kind)
