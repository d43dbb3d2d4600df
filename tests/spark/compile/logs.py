"""Logs in memory, and runs over them, as the engine makes them but without files and threads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from math import inf, isfinite
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headgate.model import Operator, Stream, times
from headgate.plan.places import Place, below_window
from headgate.spark.compile.leaf_rows import Leaf, Range, ReadableLog, ReadableSegment
from headgate.spark.compile.prepared_query import PreparedQuery
from headgate.spark.compile.read_sets import sources

WATERMARK = 3_000_000
Row = tuple[Any, ...]


def late(rows: Sequence[Row]) -> set[int]:
    """The offsets of late rows, if each is appended on its own; the event time is the last column."""
    offsets: set[int] = set()
    highest = -inf
    for offset, row in enumerate(rows):
        if row[-1] < highest - WATERMARK:
            offsets.add(offset)
        highest = max(highest, row[-1])
    return offsets


def batch_views(plan: Operator, logs: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """What a batch must read to give a query's results: late rows only for leaves below no window operator.

    A stream's name stands for all its rows if there is such a leaf, `NAME_in_time` for those that windows may hold.
    """
    windows = all(below_window(plan, place) for place, _ in sources(plan))
    views: dict[str, pa.Table] = {}
    for name, rows in logs.items():
        in_time = rows.filter(pc.invert(rows["_late"]))
        views |= {name: in_time if windows else rows, f"{name}_in_time": in_time}
    return {name: rows.drop_columns(["_offset", "_arrival", "_late"]) for name, rows in views.items()}


def read_by(sql: str, views: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """The views whose names are in a text: every other would be shipped to Spark for nothing."""
    words = set(re.findall(r"\w+", sql))
    return {name: rows for name, rows in views.items() if name in words}


@dataclass(frozen=True)
class MemoryLog:
    """Rows of (…, event time in microseconds)."""

    schema: pa.Schema
    rows: Sequence[Row]
    start: int = 0
    late: Collection[int] = ()

    @cached_property
    def table(self) -> pa.Table:
        columns = list(zip(*self.rows, strict=True)) or [()] * len(self.schema.names)
        arrays = [pa.array(list(column), field.type) for column, field in zip(columns, self.schema, strict=True)]
        table = pa.Table.from_arrays(arrays, schema=self.schema)
        table = table.append_column("_offset", pa.array(range(len(self.rows)), pa.int64()))
        table = table.append_column("_arrival", pa.array([n / 10 for n in range(len(self.rows))], pa.float64()))
        return table.append_column("_late", pa.array([n in self.late for n in range(len(self.rows))], pa.bool_()))

    def read(self, first: int, last: int) -> pa.Table:
        return self.table.slice(first, last - first)

    def read_window(self, first: int, last: int, low: float, high: float) -> pa.Table:
        rows = self.read(first, last)
        times = rows[self.schema.names[-1]].cast(pa.int64())
        wanted = [time is not None and low <= time <= high for time in times.to_pylist()]
        return rows.filter(pa.array(wanted, pa.bool_())).filter(pc.invert(pc.field("_late")))

    def segments(self, first: int, last: int) -> Sequence[ReadableSegment]:
        return ()

    def misses(self, first: int, lows: Mapping[str, float]) -> bool:
        return first < self.start

    def frontier_at(self, offset: int) -> float | None:
        if offset == len(self.rows):
            return inf
        seen = [row[-1] for row in self.rows[:offset] if row[-1] is not None]
        return max(seen) - WATERMARK if seen else None


def run_leaves(
    plan: Operator, logs: Mapping[str, MemoryLog], cuts: Sequence[Sequence[float]]
) -> Iterator[dict[Place, Leaf]]:
    """The leaves of each run: `cuts` has for each run the share of its log that each leaf has read by then."""
    at = dict.fromkeys((place for place, _ in sources(plan)), 0)
    for shares in [*cuts, [1.0] * len(at)]:
        leaves = {}
        for (place, source), share in zip(sources(plan), shares, strict=False):
            log = logs[source.stream]
            last = max(at[place], int(share * len(log.rows)))
            leaves[place] = Leaf(
                source.stream, Range(at[place], last), _before(log, at[place]), log.frontier_at(last), log.start
            )
            at[place] = last
        yield leaves


def _before(log: MemoryLog, offset: int) -> float | None:
    return None if offset == 0 else log.frontier_at(offset)


def results(
    prepared: PreparedQuery, logs: Mapping[str, MemoryLog], cuts: Sequence[Sequence[float]]
) -> list[Counter[Row]]:
    """The results of each run, with their multiplicity."""
    rows: Mapping[str, ReadableLog] = logs
    return [
        counted(prepared.run(leaves, rows).rows.drop_columns(["_arrival", "_closes"]))
        for leaves in run_leaves(prepared.plan, logs, cuts)
    ]


def counted(table: pa.Table) -> Counter[Row]:
    columns = [times.values(column) for column in table.columns]
    return Counter(tuple(map(_plain, row)) for row in zip(*columns, strict=True))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(map(_plain, value.values()))
    if isinstance(value, list):
        return tuple(map(_plain, value))
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, Decimal | float) and isfinite(value) and value == int(value):
        return int(value)
    return value


def naive(table: pa.Table) -> pa.Table:
    """Timestamps without a zone, as DuckDB takes them without an extension."""
    fields = [
        pa.field(column.name, pa.timestamp("us")) if pa.types.is_timestamp(column.type) else column
        for column in table.schema
    ]
    return table.cast(pa.schema(fields))


def of_stream(stream: Stream, schema: pa.Schema, rows: Sequence[Row]) -> MemoryLog:
    return MemoryLog(schema, rows, late=late(rows) if stream.event_time else ())
