"""Rows that wait between two fragments of a query, as a fragment log keeps them.

A row of such a log has

    c0, c1, …     what the fragment's last operator gave, as the columns of `FragmentStream.types`
    _came         the arrival of its latest tuple
    _closed       the end of the window that it belongs to, or null
    _t0, _t1, …   each event time that the operators above ask for, in microseconds
    _from         the tuples of the streams that it was made of
    _p0, _p1, …   progress: the offset of each stream below up to which the rows before and including this one reach
    _row          false for a row that only carries progress

A run that moves the frontier but gives no rows writes one row that only carries its progress. So an offset in this log
stands for offsets of the streams, and with them for the frontiers that the uncut query would have there. Example: the
rows of a run over offsets [40, 60) of a stream have `_p0` = 40, the last of them 60.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from headgate.model import Join, Operator, Source, Stream, TableJoin
from headgate.spark.compile.event_time_columns import column_names, quoted
from headgate.spark.compile.fragment_stream import FragmentStream, Ref
from headgate.spark.compile.leaf_rows import ReadableLog
from headgate.spark.compile.quick_frames import SqlColumn
from headgate.spark.compile.schemas import ARRIVAL, CLOSES, FROM, ORIGINS, unique
from headgate.spark.compile.time_spans import Span

CAME, CLOSED, ROW = "_came", "_closed", "_row"
StreamOffsets = Sequence[int]  # one for each stream in `FragmentStream.below`


@dataclass(frozen=True, slots=True)
class OutputColumns:
    """The columns that a fragment gives: those called `refs` in its last frame, as `names`, then the event times."""

    refs: tuple[Ref, ...]
    names: tuple[str, ...]
    times: tuple[Ref, ...] = ()
    tracked: bool = False  # rows say what they were made of: another fragment may fail on them

    @classmethod
    def result(cls, refs: Sequence[Ref]) -> OutputColumns:
        """Columns of a query's results, as users see them."""
        return cls(tuple(refs), tuple(unique(ref[-1] for ref in refs)))

    @classmethod
    def inner(cls, refs: Sequence[Ref], times: Sequence[Ref]) -> OutputColumns:
        """Columns of a fragment that feeds another one, as the fragment log keeps them."""
        return cls(tuple(refs), tuple(f"c{number}" for number in range(len(refs))), tuple(times), tracked=True)

    def finished(self, frame: DataFrame, extra: Sequence[str] = ()) -> DataFrame:
        """The columns in order, then `_arrival`, `_closes`, event times in microseconds, and extra hidden columns."""
        refs = {ref: ref for ref in (*self.refs, *self.times)}
        if all(len(ref) == 1 for ref in self.refs):  # by position: a projection may give one name twice
            frame = frame.toDF(*self.names, *frame.columns[len(self.names) :])
            renamed = {ref[0]: name for ref, name in zip(reversed(self.refs), reversed(self.names), strict=True)}
            refs = {ref: (renamed[ref[0]], *ref[1:]) for ref in refs}
            own = [F.col(quoted((name,))) for name in self.names]
        else:
            own = [F.col(quoted(ref)).alias(name) for ref, name in zip(self.refs, self.names, strict=True)]
        times = [F.unix_micros(F.col(quoted(refs[ref]))).alias(f"_t{number}") for number, ref in enumerate(self.times)]
        return frame.select(*own, ARRIVAL, CLOSES, *times, *extra)


def scope(
    node: Operator | Source, streams: Mapping[str, Stream], tables: Mapping[str, Sequence[str]]
) -> tuple[Ref, ...]:
    """What operators above a node call its columns: after a join they carry a side's name.

    >>> joined = Join(inputs=(Source("a"), Source("b")), left="a", right="b", lower=0.0, upper=0.0)
    >>> streams = {name: Stream(name=name, schema=(("id", "int"),)) for name in "ab"}
    >>> scope(joined, streams, {})
    (('a', 'id'), ('b', 'id'))
    """
    match node:
        case Source():
            stream = streams[node.stream]
            return stream.refs if isinstance(stream, FragmentStream) else tuple((name,) for name in stream.columns)
        case Join():
            right = _qualified(scope(node.inputs[1], streams, tables), node.right)
            return (*_qualified(scope(node.inputs[0], streams, tables), node.left), *right)
        case TableJoin():
            right = tuple((node.alias, name) for name in tables[node.table])
            return (*_qualified(scope(node.inputs[0], streams, tables), node.left), *right)
    if len(node.inputs) == 1 and node.kind in ("select", "split"):
        return scope(node.inputs[0], streams, tables)
    return tuple((name,) for name in column_names(node, streams))


def log_schema(inner: FragmentStream) -> pa.Schema:
    """The columns of a fragment log."""
    hidden = [pa.field(CAME, pa.float64()), pa.field(CLOSED, pa.timestamp("us", "UTC"))]
    times = [pa.field(f"_t{number}", pa.int64()) for number in range(len(inner.times))]
    progress = [pa.field(f"_p{number}", pa.int64()) for number in range(len(inner.below))]
    origins = pa.field(FROM, ORIGINS)
    return pa.schema([*inner.types, *hidden, *times, origins, *progress, pa.field(ROW, pa.bool_())])


def written(inner: FragmentStream, result: pa.Table, old: StreamOffsets, new: StreamOffsets, now: float) -> pa.Table:
    """A run's results as rows of the fragment log; without results, one row that only carries the run's progress."""
    rows = result.rename_columns([{ARRIVAL: CAME, CLOSES: CLOSED}.get(name, name) for name in result.column_names])
    if not result.num_rows:
        rows = pa.table({name: [now if name == CAME else None] for name in rows.column_names}, schema=rows.schema)
    for number, (before, after) in enumerate(zip(old, new, strict=True)):
        progress = [before] * (rows.num_rows - 1) + [after]
        rows = rows.append_column(f"_p{number}", pa.array(progress, pa.int64()))
    rows = rows.append_column(ROW, pa.array([bool(result.num_rows)] * rows.num_rows))
    schema = log_schema(inner)
    return rows.select(schema.names).cast(schema)


def read(log: ReadableLog, inner: FragmentStream, first: int, last: int, times: Mapping[Ref, Span]) -> pa.Table:
    """The rows of some offsets and event times, hidden columns named as in frames (`_arrival`, `_closes`)."""
    rows = log.read(first, last)
    wanted = rows[ROW]
    for ref, span in times.items():
        column = rows[time_column(inner, ref)]
        for compare, bound in ((pc.greater_equal, span.low), (pc.less_equal, span.high)):
            if bound not in (inf, -inf):
                wanted = pc.and_(wanted, compare(column, pa.scalar(int(bound), pa.int64())))
    rows = rows.filter(wanted)  # null, a row without this time, is dropped: no window holds it
    if FROM not in rows.column_names:
        rows = rows.append_column(FROM, pa.nulls(rows.num_rows, ORIGINS))
    kept = [*inner.types.names, CAME, CLOSED, FROM, *(f"_t{number}" for number in range(len(inner.times)))]
    renamed = [{CAME: ARRIVAL, CLOSED: CLOSES}.get(name, name) for name in kept]
    return rows.select(kept).rename_columns(renamed)


def empty(inner: FragmentStream) -> pa.Table:
    """No rows, as `read` gives them."""
    hidden = [pa.field(ARRIVAL, pa.float64()), pa.field(CLOSES, pa.timestamp("us", "UTC"))]
    return pa.schema([*inner.types, *hidden]).empty_table()


def reach(log: ReadableLog, inner: FragmentStream, offset: int, base: StreamOffsets) -> StreamOffsets:
    """The stream offsets up to which the rows before an offset of the log reach; `base` at the log's beginning."""
    if offset == 0:
        return base
    row = log.read(offset - 1, offset)
    return [row[f"_p{number}"][0].as_py() for number in range(len(inner.below))]


def arrivals(rows: pa.Table) -> tuple[tuple[float, int], ...]:
    """When the rows' tuples arrived, in the order of the log, as (arrival, number of rows)."""
    if not rows.num_rows:
        return ()
    runs: Any = pc.run_end_encode(rows[CAME].combine_chunks())
    ends = [0, *runs.run_ends.to_pylist()]
    return tuple((came, ends[n + 1] - ends[n]) for n, came in enumerate(runs.values.to_pylist()))


def named(inner: FragmentStream) -> list[SqlColumn]:
    """The log's columns under the names that the operators above use: a side of a join becomes a struct."""
    owners: dict[str, list[str]] = {}
    plain: list[SqlColumn] = []
    for ref, name in zip(inner.refs, inner.types.names, strict=True):
        if len(ref) == 1:
            plain.append(SqlColumn(quoted((name,)), ref[0]))
        else:
            owners.setdefault(ref[0], []).append(f"{quoted((name,))} AS {quoted(ref[1:])}")
    structs = [SqlColumn(f"struct({', '.join(columns)})", owner) for owner, columns in owners.items()]
    return [*plain, *structs]


def time_column(stream: Stream, ref: Ref) -> str:
    """The column of a log that holds an event time; in a fragment log it is in microseconds."""
    return f"_t{stream.times.index(ref)}" if isinstance(stream, FragmentStream) else ref[0]


def _qualified(refs: tuple[Ref, ...], owner: str) -> tuple[Ref, ...]:
    return tuple((owner, ref[-1]) for ref in refs) if owner else refs
