"""Feeders: tuples by a process of arrivals, made up or taken from a file.

After a restart a feeder begins anew. It stands for the world outside, which does not repeat itself either.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.model import HeadgateError, Stream
from headgate.sim.arrivals import Times, arrivals
from headgate.spark.ingest.parsing.files import check_suffix, pages
from headgate.spark.ingest.parsing.records import Read, schema_of
from headgate.spark.ingest.sources.base import MOST_ROWS, Batch, Reader
from headgate.spark.ingest.sources.options import existing, flag
from headgate.spark.ingest.synthetic.paged_rows import PagedRows, repeated
from headgate.spark.ingest.synthetic.random_rows import generated
from headgate.spark.ingest.synthetic.timetable import Timetable
from headgate.workload.arrivals import ARRIVALS
from headgate.workload.settings import Settings

TICK = 0.02
EXACT = 1e-6  # seconds since the epoch are not more exact than that as a float
OWN = ("rows", "file", "repeat", "tick")


@dataclass(frozen=True, slots=True)
class Stamp:
    """Columns that get the moment of arrival: where they are null, or always."""

    columns: tuple[str, ...]
    always: bool

    def on(self, rows: pa.Table, moments: Times) -> pa.Table:
        for name in self.columns:
            place = rows.schema.get_field_index(name)
            field = rows.schema.field(place)
            stamps = _moments(moments, field.type)
            column = stamps if self.always else pc.coalesce(rows.column(place), stamps)
            rows = rows.set_column(place, field, column)
        return rows


class Feeder(Reader):
    """What is due is one batch. Arrivals are due at the end of their tick, so that a batch holds a few of them."""

    def __init__(
        self,
        table: Timetable,
        supply: PagedRows,
        stamp: Stamp,
        *,
        began: float,
        tick: float = TICK,
        rows: float = math.inf,
    ) -> None:
        self._table, self._supply, self._stamp = table, supply, stamp
        self._began, self._tick, self._left = began, tick, rows

    @property
    def done(self) -> bool:
        return self._ended and not self._supply.bad

    @property
    def _ended(self) -> bool:
        return self._left <= 0 or self._supply.over or math.isinf(self._table.next)

    def read(self, now: float) -> list[Batch]:
        moments = np.empty(0)
        if not self._ended:
            moments = self._table.until(self._limit(now), int(min(MOST_ROWS, self._left)))
        self._left -= len(moments)
        rows = self._supply.take(len(moments))
        rows = self._stamp.on(rows, self._began + moments[: rows.num_rows])
        bad, self._supply.bad = tuple(self._supply.bad), []
        return [Batch(rows, None, bad)] if rows.num_rows or bad else []

    def due(self, now: float) -> float:
        if self._ended:
            return now if self._supply.bad else math.inf
        arrival = self._table.next
        if self._tick:
            arrival = math.ceil((arrival - 0.9 * EXACT) / self._tick) * self._tick
        return self._began + arrival

    def close(self) -> None:
        self._supply.close()

    def _limit(self, now: float) -> float:
        """Arrivals up to here are due; a little more than `due` says, or a reader could be asked for ever."""
        passed = now - self._began + EXACT
        return math.floor(passed / self._tick) * self._tick + EXACT if self._tick else passed


def open_feeder(settings: Settings, stream: Stream, directory: Path, seed: int, began: float) -> Feeder:
    """A feeder from its settings: those of its kind of arrivals, its own, and one for each column."""
    schema, kind = schema_of(stream), ARRIVALS[settings.name]
    own = tuple(name for name in OWN if name not in kind.settings)  # the file of a trace holds its times
    columns = () if "file" in settings and "file" in own else schema.names
    settings.only([*kind.settings, *own, *columns])
    if "repeat" in settings and "file" not in settings:
        raise HeadgateError("repeat is for the rows of a file", hint="write file=rows.csv, or leave out repeat")
    process = arrivals(_text(settings, kind.settings), directory)
    times, values = (np.random.default_rng([seed, part]) for part in (0, 1))
    tick, rows = settings.duration("tick"), settings.whole("rows", low=0)
    if "file" in own and "file" in settings:
        supply, stamp = _from_file(settings, stream, directory)
    else:
        # A column with the name of another setting cannot be set.
        ours = tuple(name for name in schema.names if name not in (*kind.settings, *own))
        supply, stamp = _made_up(Settings(_text(settings, ours)), schema, values)
    return Feeder(
        Timetable(process, times),
        supply,
        stamp,
        began=began,
        tick=TICK if tick is None else tick,
        rows=math.inf if rows is None else rows,
    )


def _text(settings: Settings, known: tuple[str, ...]) -> str:
    """The string with some of its settings only, as they were written."""
    return ", ".join([settings.name, *(f"{key}={settings.word(key)}" for key in known if key in settings)])


def _made_up(settings: Settings, schema: pa.Schema, random: np.random.Generator) -> tuple[PagedRows, Stamp]:
    timed = [field.name for field in schema if pa.types.is_timestamp(field.type) or pa.types.is_date(field.type)]
    return PagedRows(generated(schema, settings, random), schema), Stamp(tuple(timed), always=True)


def _from_file(settings: Settings, stream: Stream, directory: Path) -> tuple[PagedRows, Stamp]:
    """Rows without an event time get the arrival's; so do all if they repeat, or they would be late the second time."""
    schema, repeat = schema_of(stream), flag(settings, "repeat")
    path = existing(directory / str(settings.word("file")))
    check_suffix(path.name)

    def again() -> Generator[Read, None, None]:
        return pages(path, schema)

    stamp = Stamp((stream.event_time,) if stream.event_time else (), always=repeat)
    return PagedRows(repeated(again) if repeat else again(), schema), stamp


def _moments(moments: Times, kind: Any) -> Any:
    exact = pa.array(np.round(moments * 1e6).astype(np.int64))
    return exact.cast(pa.timestamp("us", "UTC")).cast(kind)
