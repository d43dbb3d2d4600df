"""Large pieces of a log: executors read them from its sealed Parquet files, the driver does not touch them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from headgate.spark.compile.event_times import quoted
from headgate.spark.compile.leaf_rows import LogPart, Rows
from headgate.spark.compile.schemas import LATE, OFFSET
from headgate.spark.compile.time_spans import ALWAYS, NEVER, Span

_PATTERN = re.compile(r"[\\*?\[\]{}]")  # what Spark takes for a pattern in the path of a file to read
LARGE = 50_000  # rows that executors read faster than the driver ships them, if nothing else is to be shared
VAST = 500_000  # rows of a train that executors alone touch; fewer go through the driver, in half the time
HEAVY = 32 << 20  # bytes of files that weigh as much, however few rows they hold
_FEW = 1_000  # rows that nobody weighs


@dataclass(frozen=True, slots=True)
class Sealed:
    """Rows of a log that lie in files: those for which the condition holds. Rows from offset `end` on are not there."""

    paths: tuple[str, ...]
    condition: str
    end: int

    def frame(self, spark: SparkSession, schema: pa.Schema) -> DataFrame:
        """The rows with their columns; a flipped bit in a page fails the job."""
        reader = spark.read.schema(from_arrow_schema(schema)).option("parquet.page.verify-checksum.enabled", "true")
        found = reader.parquet(*(_PATTERN.sub(r"\\\g<0>", path) for path in self.paths))
        return found.where(self.condition) if self.condition else found


def sealed(
    log: Rows, first: int, last: int, event_time: str | None, span: Span = ALWAYS, *, late: bool = False
) -> Sealed | None:
    """What executors are to read of offsets [first, last) and some event times; None: too little to be worth it.

    Late rows are for those who ask for all times.
    """
    parts = [part for part in log.segments(first, last) if part.path is not None]
    end = parts[-1].end if parts else first
    if span.bounded:
        parts = [part for part in parts if part.overlaps(span.low, span.high)]
    if sum(part.rows for part in parts) < LARGE or not plain(log.read(last, last).schema):
        return None
    conditions = _offsets(parts, first, last)
    if event_time is not None and not all(part.inside(span.low, span.high) for part in parts):
        conditions += _times(event_time, span)
    if not late and any(part.late for part in parts):
        conditions.append(f"NOT coalesce({LATE}, false)")  # files of version 1 have no such column
    return Sealed(tuple(located(part.path) for part in parts if part.path), " AND ".join(conditions), min(end, last))


def vast(log: Rows, first: int, last: int) -> bool:
    """Whether a train is for executors alone: they read it, and write what comes of it."""
    if last - first < min(_FEW, VAST):
        return False
    if last - first >= VAST:
        return True
    return sum(part.path.stat().st_size for part in log.segments(first, last) if part.path is not None) >= HEAVY


def located(path: Path) -> str:
    """A path as Spark takes it, whatever its default file system is.

    >>> located(Path("/data/streams/s"))
    'file:///data/streams/s'
    """
    return f"file://{path.absolute()}"


def train(log: Rows, first: int, last: int) -> Span | None:
    """A span that holds the event times of many rows, from what their segments say; None: look at the rows."""
    if sealed(log, first, last, None) is None:
        return None
    found = NEVER
    for part in log.segments(first, last):
        if part.low is not None and part.high is not None:
            found = found.hull(Span(part.low, part.high))
    return found


def plain(schema: pa.Schema) -> bool:
    """Whether rows come from Parquet as they went there, whether Arrow or Spark reads or writes them.

    >>> plain(pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("tags", pa.list_(pa.string()))]))
    True
    >>> plain(pa.schema([("took", pa.duration("us"))]))
    False
    """
    names = {name.lower() for name in schema.names}  # Spark tells the columns of a file apart without case
    return len(names) == len(schema.names) and all(_plain(one.type) for one in schema)


def _plain(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_timestamp(kind):
        return bool(kind == pa.timestamp("us", "UTC"))
    if types.is_list(kind) or types.is_struct(kind) or types.is_map(kind):
        return all(_plain(kind.field(number).type) for number in range(kind.num_fields))
    tests = (types.is_signed_integer, types.is_floating, types.is_boolean, types.is_string, types.is_binary)
    return any(test(kind) for test in (*tests, types.is_date32, types.is_decimal128))


def _offsets(parts: Sequence[LogPart], first: int, last: int) -> list[str]:
    found = []
    if parts[0].first < first:
        found.append(f"{OFFSET} >= {first}L")
    if parts[-1].end > last:
        found.append(f"{OFFSET} < {last}L")
    return found


def _times(column: str, span: Span) -> list[str]:
    """Bounds that Parquet's statistics are compared with."""
    name = quoted((column,))
    found = []
    if span.low > -inf:
        found.append(f"{name} >= timestamp_micros({span.low}L)")
    if span.high < inf:
        found.append(f"{name} <= timestamp_micros({span.high}L)")
    return found
