"""Logs of made-up rows in memory, for runs that only warm Spark up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.model import Aggregate, EventTime, Except, HeadgateError, Join, Operator, Stream, walk
from headgate.spark.compile.leaf_rows import Leaf, Range, ReadableSegment
from headgate.spark.compile.schemas import ARRIVAL, LATE, OFFSET, arrow_schema
from headgate.spark.ingest.synthetic.random_rows import generated
from headgate.workload.arrivals import ARRIVALS
from headgate.workload.settings import Settings

SHORTEST = 1.0  # seconds of event time that rows cover at least
SPARSE = 10.0  # a train covers so many times the bound of a join, so that a row finds some partners but not thousands


@dataclass(frozen=True, slots=True)
class Size:
    """How many rows a log has that earlier runs have taken, and how many the run takes."""

    before: int
    taken: int


@dataclass(frozen=True, slots=True)
class Pace:
    """The seconds of event time that the rows before a run cover, and those that the run takes."""

    before: float
    taken: float
    joins: bool = False  # some of the rows are joined with each other

    @classmethod
    def of(cls, plans: Iterable[Operator], streams: Iterable[Stream]) -> Pace:
        """A pace at which windows close with rows in them, and rows of joins find partners.

        >>> from headgate.model import Source, Window
        >>> plan = Aggregate(inputs=(Source("s"),), window=Window(10.0, 5.0), time="ts")
        >>> Pace.of([plan], [Stream(name="s", watermark=2.0)])
        Pace(before=12.0, taken=10.0, joins=False)
        """
        nodes = [node for plan in plans for node in walk(plan)]
        windows = [node.window for node in nodes if isinstance(node, Aggregate | Except)]
        bounds = [node.upper - node.lower for node in nodes if isinstance(node, Join)]
        behind = max((stream.watermark for stream in streams), default=0.0)
        before = max([SHORTEST, *(window.size for window in windows), *bounds]) + behind
        taken = max([SHORTEST, *(2 * window.slide for window in windows), *(SPARSE * bound for bound in bounds)])
        return cls(before, taken, bool(bounds))


@dataclass(frozen=True, slots=True)
class MadeUpLog:
    """A log whose first rows earlier runs would have taken; the run takes the others."""

    stream: Stream
    table: pa.Table
    size: Size
    start: int = 0

    @classmethod
    def of(cls, stream: Stream, size: Size, pace: Pace, now: float) -> MadeUpLog:
        """Rows with random values, and event times from `now` on for those that the run takes."""
        count = size.before + size.taken
        seconds = np.concatenate(
            [np.linspace(-pace.before, 0.0, size.before, endpoint=False), np.linspace(0.0, pace.taken, size.taken)]
        )
        times = pa.array(np.round((now + seconds) * 1e6).astype(np.int64)).cast(pa.timestamp("us", "UTC"))
        rows = _random_rows(stream, arrow_schema(stream), count, times)
        hidden = {OFFSET: np.arange(count), ARRIVAL: np.full(count, now), LATE: np.zeros(count, dtype=bool)}
        for name, values in hidden.items():
            rows = rows.append_column(name, pa.array(values))
        return cls(stream, rows, size)

    def leaf(self) -> Leaf:
        """The log as a run reads it."""
        last = self.size.before + self.size.taken
        old, new = self._frontier_at(self.size.before), self._frontier_at(last)
        return Leaf(self.stream.name, Range(self.size.before, last), old, new)

    def read(self, first: int, last: int) -> pa.Table:
        return self.table.slice(first, last - first)

    def read_window(self, first: int, last: int, low: EventTime, high: EventTime) -> pa.Table:
        rows = self.read(first, last)
        if self.stream.event_time is None:
            return rows
        times = rows[self.stream.event_time].cast(pa.int64()).to_numpy()
        return rows.filter(pa.array((times >= low) & (times <= high)))

    def segments(self, first: int, last: int) -> Sequence[ReadableSegment]:
        return ()

    def misses(self, first: int, lows: Mapping[str, EventTime]) -> bool:
        return False

    def _frontier_at(self, offset: int) -> EventTime | None:
        if self.stream.event_time is None:
            return None
        latest: int = self.table[self.stream.event_time][offset - 1].cast(pa.int64()).as_py()
        return latest - round(self.stream.watermark * 1_000_000)


def _random_rows(stream: Stream, schema: pa.Schema, count: int, times: pa.Array) -> pa.Table:
    """Rows as a synthetic source makes them; whole numbers are not 0, since many expressions divide by them."""
    settings = _settings(stream)
    pages, parts, rows = generated(schema, settings, np.random.default_rng(1)), [], 0
    while rows < count:
        page, _ = next(pages)
        parts.append(page)
        rows += page.num_rows
    table = pa.concat_tables(parts).slice(0, count).combine_chunks()
    for number, field in enumerate(schema):
        if pa.types.is_timestamp(field.type) or pa.types.is_date(field.type):
            table = table.set_column(number, field, times.cast(field.type, safe=False))
        elif pa.types.is_integer(field.type) and field.name not in settings:
            table = table.set_column(number, field, _positive(table[number], field.type))
    return table


def _positive(values: Any, kind: pa.DataType) -> Any:
    return pc.max_element_wise(values, pa.scalar(1, kind))


def _settings(stream: Stream) -> Settings:
    """The settings of a synthetic source, which say what is in the columns; otherwise none."""
    if stream.source is not None:
        try:
            settings = Settings(stream.source)
            if settings.name in ARRIVALS and "file" not in settings:
                next(generated(arrow_schema(stream), settings, np.random.default_rng(1)))
                return settings
        except HeadgateError:  # a column has the name of another setting of the source
            pass
    return Settings("poisson")
