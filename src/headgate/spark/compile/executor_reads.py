"""Large parts of a log: executors read them from its sealed Parquet files, without passing through the driver."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.spark.compile.arrow_types import to_spark
from headgate.spark.compile.event_time_columns import quoted
from headgate.spark.compile.leaf_rows import Range, ReadableLog, ReadableSegment, read_kept
from headgate.spark.compile.rows_read import add_rows
from headgate.spark.compile.schemas import LATE, OFFSET
from headgate.spark.compile.time_spans import ALWAYS, NEVER, Span

_PATTERN = re.compile(r"[\\*?\[\]{}]")  # what Spark takes for a pattern in the path of a file to read
LARGE = 50_000  # rows that executors read faster than the driver ships them, if nothing else is to be shared
VAST = 500_000  # rows of a train that executors alone read and write; fewer go through the driver, in half the time
PRUNED = 1_000_000  # rows in files that the driver looks through for a join, quicker than executors join them
HEAVY = 32 << 20  # bytes of files that count as vast, however few rows they hold
_FEW = 1_000  # fewer rows than these are never vast: the sizes of their files are not looked up


@dataclass(frozen=True, slots=True)
class SealedRows:
    """Rows of a log that lie in sealed files: those for which the condition holds, all before offset `end`."""

    paths: tuple[str, ...]
    condition: str
    end: int
    rows: int  # in those files, some of which the condition may leave out

    def frame(self, spark: SparkSession, schema: pa.Schema) -> DataFrame:
        """The rows with their columns; a flipped bit in a page fails the job."""
        add_rows(self.rows)
        reader = spark.read.schema(to_spark(schema)).option("parquet.page.verify-checksum.enabled", "true")
        rows = reader.parquet(*(_PATTERN.sub(r"\\\g<0>", path) for path in self.paths))
        return rows.where(self.condition) if self.condition else rows


def sealed_rows(
    log: ReadableLog, first: int, last: int, event_time: str | None, span: Span = ALWAYS, *, late: bool = False
) -> SealedRows | None:
    """What executors are to read of offsets [first, last) and some event times; None: too little to be worth it.

    Late rows are only for callers that ask for all event times.
    """
    segments = [segment for segment in log.segments(first, last) if segment.path is not None]
    end = segments[-1].end if segments else first
    if span.bounded:
        segments = [segment for segment in segments if segment.overlaps(span.low, span.high)]
    if sum(_wanted(segment, first, last, span) for segment in segments) < LARGE or not plain(
        log.read(last, last).schema
    ):
        return None
    conditions = _offset_conditions(segments, first, last)
    if event_time is not None and not all(segment.inside(span.low, span.high) for segment in segments):
        conditions += _time_conditions(event_time, span)
    if not late and any(segment.late for segment in segments):
        conditions.append(f"NOT coalesce({LATE}, false)")  # files of version 1 have no such column
    paths = tuple(located(segment.path) for segment in segments if segment.path)
    rows = sum(segment.rows for segment in segments)
    return SealedRows(paths, " AND ".join(conditions), min(end, last), rows)


def _wanted(segment: ReadableSegment, first: int, last: int, span: Span) -> float:
    """About how many rows of a segment are wanted, its event times taken as evenly spread."""
    rows = min(segment.end, last) - max(segment.first, first)
    if not span.bounded or segment.low is None or segment.high is None or segment.high == segment.low:
        return rows
    inside = min(span.high, segment.high) - max(span.low, segment.low)
    return rows * inside / (segment.high - segment.low)


def vast(log: ReadableLog, first: int, last: int) -> bool:
    """Whether a train is so large that executors alone read it and write its results."""
    if last - first < min(_FEW, VAST):
        return False
    if last - first >= VAST:
        return True
    segments = log.segments(first, last)
    return sum(segment.path.stat().st_size for segment in segments if segment.path is not None) >= HEAVY


def too_many(log: ReadableLog, offsets: Range, span: Span) -> bool:
    """Whether files hold more rows of some offsets and event times than the driver looks through for a join."""

    def sealed(first: int) -> list[ReadableSegment]:
        found = (segment for segment in log.segments(first, offsets.last) if segment.path is not None)
        return [segment for segment in found if segment.overlaps(span.low, span.high)]

    segments = read_kept(log, offsets.first, sealed)
    if sum(segment.rows for segment in segments) > PRUNED:
        return True
    try:
        return sum(segment.path.stat().st_size for segment in segments if segment.path is not None) > HEAVY
    except FileNotFoundError:  # dropped meanwhile; whoever reads next sees to it
        return True


def located(path: Path) -> str:
    """A path as Spark takes it, whatever its default file system is.

    >>> located(Path("/data/streams/s"))
    'file:///data/streams/s'
    """
    return f"file://{path.absolute()}"


def train_span(log: ReadableLog, first: int, last: int) -> Span | None:
    """A span that holds the event times of a large train, by its segments; None: a small one, look at the rows."""
    if sealed_rows(log, first, last, None) is None:
        return None
    span = NEVER
    for segment in log.segments(first, last):
        if segment.low is not None and segment.high is not None:
            span = span.hull(Span(segment.low, segment.high))
    return span


def plain(schema: pa.Schema) -> bool:
    """Whether rows come from Parquet as they were written, whether Arrow or Spark reads or writes them.

    >>> plain(pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("tags", pa.list_(pa.string()))]))
    True
    >>> plain(pa.schema([("took", pa.duration("us"))]))
    False
    """
    names = {name.lower() for name in schema.names}  # Spark ignores case in the column names of a file
    return len(names) == len(schema.names) and all(_plain_type(column.type) for column in schema)


def _plain_type(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_timestamp(kind):
        return bool(kind == pa.timestamp("us", "UTC"))
    if types.is_list(kind) or types.is_struct(kind) or types.is_map(kind):
        return all(_plain_type(kind.field(number).type) for number in range(kind.num_fields))
    tests = (types.is_signed_integer, types.is_floating, types.is_boolean, types.is_string, types.is_binary)
    return any(test(kind) for test in (*tests, types.is_date32, types.is_decimal128))


def _offset_conditions(segments: Sequence[ReadableSegment], first: int, last: int) -> list[str]:
    conditions = []
    if segments[0].first < first:
        conditions.append(f"{OFFSET} >= {first}L")
    if segments[-1].end > last:
        conditions.append(f"{OFFSET} < {last}L")
    return conditions


def _time_conditions(column: str, span: Span) -> list[str]:
    """Bounds that Spark compares with Parquet's statistics, to skip row groups."""
    name = quoted((column,))
    conditions = []
    if span.low > -inf:
        conditions.append(f"{name} >= timestamp_micros({span.low}L)")
    if span.high < inf:
        conditions.append(f"{name} <= timestamp_micros({span.high}L)")
    return conditions
