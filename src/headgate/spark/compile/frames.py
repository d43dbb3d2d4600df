"""A plan and the offsets a run takes, as one DataFrame.

Every frame inside carries hidden columns after or among its own: `_arrival` (the latest of its tuples) and `_closes`
(the end of the window that the row is of, or null). What changes from run to run is data: the rows, and for sliding
windows the first and last end to emit, as constant columns `_first_n`, `_last_n` of the rows, n the depth of the
aggregate. A literal would make Spark compile the job's code anew in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.types import StructType

from headgate.model import (
    Aggregate,
    EventTime,
    Except,
    Join,
    Operator,
    Project,
    Select,
    Source,
    Split,
    Stream,
    TableJoin,
    Union,
)
from headgate.plan.sharing import Place
from headgate.spark.compile import fragment_rows
from headgate.spark.compile.event_times import END, START, names, quoted, window_columns
from headgate.spark.compile.executor_reads import Sealed, sealed, train
from headgate.spark.compile.fragment_stream import FragmentStream, Ref
from headgate.spark.compile.leaf_rows import Leaf, Range, Rows, check_kept, read_kept
from headgate.spark.compile.quick_frames import Columns, NewColumn, grouped, select, shipped
from headgate.spark.compile.read_sets import Reading, Survey, Within, check_leaves
from headgate.spark.compile.schemas import ARRIVAL, CLOSES, FROM, OFFSET, unique
from headgate.spark.compile.time_spans import ALWAYS, NEVER, Span, micros

SMALL = 20_000  # rows that one task handles faster than a shuffle
BATCH = 10_000  # rows of a task where there are more
_OTHER = "_other"  # what a join's right side calls its hidden columns
_WINDOW = "_window"
_LONG = (1 << 63) - 1

Marks = Mapping[str, EventTime]  # hidden constant columns
Finish = Callable[[DataFrame, Sequence[str]], DataFrame]  # a frame and the names of further hidden columns
Build = Callable[["Catalog", "Callable[[Reading], Found]"], "Builder"]


@dataclass(frozen=True, slots=True)
class Catalog:
    """What names in a plan mean, and the types that set operations agreed on."""

    spark: SparkSession
    streams: Mapping[str, Stream]
    tables: Mapping[str, DataFrame]
    types: Mapping[Place, StructType] = field(default_factory=dict)
    columns: Columns = field(default_factory=Columns)


class Found(NamedTuple):
    """Rows of a log: those that the driver has, and those that executors are to read before them."""

    table: pa.Table
    sealed: Sealed | None = None


@dataclass(slots=True)
class Reader:
    """Reads logs for one run, each piece once."""

    leaves: Mapping[Place, Leaf]
    logs: Mapping[str, Rows]
    streams: Mapping[str, Stream]
    _read: dict[tuple[object, ...], Found] = field(default_factory=dict)

    def found(self, stream: str, offsets: Range, times: Within, late: bool) -> Found:
        """Rows of a log by offsets, and by event times where spans are asked for; late ones if they are."""
        bounded = {ref: span for ref, span in times.items() if span.bounded}
        key = (stream, offsets.first, offsets.last, late, *sorted(bounded.items()))
        if key not in self._read:
            log, known = self.logs[stream], self.streams[stream]
            self._read[key] = read_kept(
                log, offsets.first, lambda first: self._rows(stream, first, offsets.last, bounded, late)
            )
            lows = {fragment_rows.time_column(known, ref): span.low for ref, span in bounded.items()}
            check_kept(log, stream, offsets.first, lows)
        return self._read[key]

    def _rows(self, stream: str, first: int, last: int, bounded: Within, late: bool) -> Found:
        log, known = self.logs[stream], self.streams[stream]
        if isinstance(known, FragmentStream):
            return Found(fragment_rows.read(log, known, first, last, bounded))
        span = next(iter(bounded.values()), ALWAYS)
        files = sealed(log, first, last, known.event_time, span, late=late)
        rest = first if files is None else files.end
        return Found(log.read(rest, last) if late else log.read_window(rest, last, span.low, span.high), files)

    def train(self, place: Place, ref: Ref) -> Span:
        """The span of an event time in a leaf's new tuples; of many tuples one that holds it."""
        leaf = self.leaves[place]
        stream, log = self.streams[leaf.stream], self.logs[leaf.stream]
        wide = None if isinstance(stream, FragmentStream) else train(log, leaf.range.first, leaf.range.last)
        if wide is not None:
            return wide
        rows = self.found(leaf.stream, leaf.range, {}, late=False).table
        times = (
            rows[fragment_rows.time_column(stream, ref)]
            if isinstance(stream, FragmentStream)
            else rows[ref[0]].cast(pa.int64())
        )
        found = pc.min_max(times).as_py()
        return NEVER if found["min"] is None else Span(found["min"], found["max"])


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds frames from readings; None is a frame known to have no rows."""

    catalog: Catalog
    rows: Callable[[Reading], Found]
    shape_only: bool = False  # frames of no rows are built too: for their types
    meets: bool = False  # rows will meet other rows above: in one partition they need no shuffle
    tracked: bool = False  # rows say in `_from` which tuples they were made of

    @property
    def extra(self) -> tuple[str, ...]:
        """Hidden columns besides `_arrival` and `_closes`."""
        return (FROM,) if self.tracked else ()

    @property
    def _spark(self) -> SparkSession:
        return self.catalog.spark

    def _hidden(self, marks: Marks) -> tuple[str, ...]:
        return (ARRIVAL, CLOSES, *self.extra, *marks)

    def frame(self, reading: Reading, marks: Marks) -> DataFrame | None:
        """The rows of a node."""
        match reading.node:
            case Source():
                return self._source(reading, marks)
            case Aggregate():
                return replace(self, meets=True)._aggregate(reading, reading.node, marks)
        below = replace(self, meets=True) if isinstance(reading.node, Join | Except) else self
        inputs = [below.frame(one, marks) for one in reading.inputs]
        match reading.node:
            case Union():
                return self._union(reading, inputs, marks)
            case Except():
                return self._except(reading, reading.node, inputs, marks)
            case Join():
                return self._join(reading.node, inputs, marks)
        return None if inputs[0] is None else self._stateless(reading.node, inputs[0], marks)

    def together(self, made: Sequence[DataFrame]) -> DataFrame | None:
        """All that a run gives."""
        return reduce(DataFrame.union, made) if made else None

    def _source(self, reading: Reading, marks: Marks) -> DataFrame | None:
        assert isinstance(reading.node, Source)
        table, files = self.rows(reading)
        stream = self.catalog.streams[reading.node.stream]
        made = None
        if table.num_rows or self.shape_only:
            made = (
                self._waiting(stream, table, marks)
                if isinstance(stream, FragmentStream)
                else self._new(stream, table, marks)
            )
        if files is None:
            return made
        read = self._stored(stream, files, table.schema, marks)
        return read if made is None else read.union(made)

    def _waiting(self, stream: FragmentStream, table: pa.Table, marks: Marks) -> DataFrame:
        hidden = (ARRIVAL, CLOSES, FROM) if self.tracked else (ARRIVAL, CLOSES)
        made = self._shipped(table.select([*stream.types.names, *hidden]), marks)
        return self._select(made, [*fragment_rows.named(stream), *map(NewColumn, (*hidden, *marks))])

    def _new(self, stream: Stream, table: pa.Table, marks: Marks) -> DataFrame:
        closes = pa.nulls(table.num_rows, pa.timestamp("us", "UTC"))
        if not self.tracked:
            return self._shipped(table.select([*stream.columns, ARRIVAL]).append_column(CLOSES, closes), marks)
        made = self._shipped(table.select([*stream.columns, ARRIVAL, OFFSET]).append_column(CLOSES, closes), marks)
        own = [NewColumn(quoted((name,))) for name in stream.columns]
        return self._select(
            made, [*own, NewColumn(ARRIVAL), NewColumn(CLOSES), origin(stream.name), *map(NewColumn, marks)]
        )

    def _stored(self, stream: Stream, files: Sealed, schema: pa.Schema, marks: Marks) -> DataFrame:
        """As literals, marks make Spark compile anew, which does not matter beside the reading of so many rows."""
        constants = [f"timestamp_micros({_bounded(moment)}L) AS {name}" for name, moment in marks.items()]
        names = [quoted((name,)) for name in (*stream.columns, ARRIVAL)]
        told = [f"{made.text} AS {made.name}" for made in (origin(stream.name),) if self.tracked]
        return files.frame(self.catalog.spark, schema).selectExpr(
            *names, f"CAST(NULL AS timestamp) AS {CLOSES}", *told, *constants
        )

    def _shipped(self, table: pa.Table, marks: Marks) -> DataFrame:
        for name, moment in marks.items():
            table = table.append_column(name, _constant(moment, table.num_rows))
        small = table.num_rows <= SMALL
        made = shipped(self.catalog.spark, table, SMALL if small else BATCH)
        return made.coalesce(1) if small and self.meets else made

    def _select(self, frame: DataFrame, columns: Sequence[NewColumn]) -> DataFrame:
        return select(frame, self.catalog.columns.listed(columns))

    def _plain(self, text: str) -> Column:
        return self.catalog.columns.one(text)

    def _stateless(self, node: Operator, frame: DataFrame, marks: Marks) -> DataFrame:
        match node:
            case Select() if node.predicate:
                return self._filtered(node, frame, node.predicate)
            case Project():
                return self._projected(node, frame, marks)
            case TableJoin():
                return self._table_join(node, frame)
            case Select() | Split():
                return frame
        raise AssertionError(f"no way to run {node.kind}")  # pragma: no cover

    def _filtered(self, node: Operator, frame: DataFrame, predicate: str) -> DataFrame:
        del node
        return frame.where(self._plain(predicate))

    def _projected(self, node: Project, frame: DataFrame, marks: Marks) -> DataFrame:
        made = [NewColumn(one.expression, one.name) for one in node.columns]
        return self._select(frame, [*made, *map(NewColumn, self._hidden(marks))])

    def _table_join(self, node: TableJoin, frame: DataFrame) -> DataFrame:
        left = frame.alias(node.left) if node.left else frame
        table = F.broadcast(self.catalog.tables[node.table].alias(node.alias))
        return left.join(table, self._plain(node.condition), node.how)

    def _join(self, node: Join, inputs: list[DataFrame | None], marks: Marks) -> DataFrame | None:
        if len(inputs) < 2 or inputs[0] is None or inputs[1] is None:
            return None
        left = inputs[0].alias(node.left) if node.left else inputs[0]
        hidden = self._hidden(marks)
        other = [name + _OTHER for name in hidden]
        renamed = [NewColumn(name, far) for name, far in zip(hidden, other, strict=True)]
        right = self._select(inputs[1], [_all_but(hidden), *renamed]).alias(node.right)
        latest = [NewColumn(f"greatest({name}, {name}{_OTHER})", name) for name in (ARRIVAL, CLOSES)]
        gone = (ARRIVAL, CLOSES, *self.extra, *other)
        return self._select(left.join(right, self._on(node)), [_all_but(gone), *latest, *self._combined()])

    def _on(self, node: Join) -> Column:
        condition = self._plain(bound(node))
        return self._plain(node.condition) & condition if node.condition else condition

    def _combined(self) -> list[NewColumn]:
        """The other hidden columns of a pair."""
        return [NewColumn(f"concat({FROM}, {FROM}{_OTHER})", FROM)] if self.tracked else []

    def _aggregate(self, reading: Reading, node: Aggregate, marks: Marks) -> DataFrame | None:
        own: Marks = {} if node.window.tumbling else _ends(reading)
        frame = self.frame(reading.inputs[0], {**marks, **own})
        if frame is None:
            return None
        frame = self._aggregate_input(node, frame)
        window = NewColumn(window_call(node), _WINDOW)
        if own:  # a row is in several windows: leave out those that end elsewhere before they are grouped
            frame = self._select(frame, [NewColumn("*"), window])
            frame = frame.where(self._plain(f"{_WINDOW}.end BETWEEN {' AND '.join(own)}"))
            window = NewColumn(_WINDOW)
        keys = [NewColumn(key.expression, key.name) for key in node.keys]
        columns = self.catalog.columns
        rows = grouped(
            frame,
            columns.listed([window, *keys, *map(NewColumn, marks)]),
            columns.aggregates([NewColumn(f"max({ARRIVAL})", ARRIVAL), *self._aggregates(node)]),
        )
        start, end = f"{_WINDOW}.start", f"{_WINDOW}.end"
        given = [NewColumn(quoted((column.name,))) for column in (*node.keys, *node.aggregates)]
        hidden = [NewColumn(ARRIVAL), NewColumn(end, CLOSES), *map(NewColumn, (*self.extra, *marks))]
        return self._select(
            self._aggregated(node, rows), [NewColumn(start, *START), NewColumn(end, *END), *given, *hidden]
        )

    def _aggregate_input(self, node: Aggregate, frame: DataFrame) -> DataFrame:
        del node
        return frame

    def _aggregates(self, node: Aggregate) -> list[NewColumn]:
        told = [NewColumn(f"concat(min({FROM}), max({FROM}))", FROM)] if self.tracked else []
        return [*told, *(NewColumn(value.expression, value.name) for value in node.aggregates)]

    def _aggregated(self, node: Aggregate, rows: DataFrame) -> DataFrame:
        del node
        return rows

    def _union(self, reading: Reading, inputs: list[DataFrame | None], marks: Marks) -> DataFrame | None:
        agreed = self.catalog.types.get(reading.place)
        made = [self._conformed(one, agreed, marks) for one in inputs if one is not None]
        return reduce(DataFrame.union, made) if made else None

    def _except(self, reading: Reading, node: Except, inputs: list[DataFrame | None], marks: Marks) -> DataFrame | None:
        agreed = self.catalog.types.get(reading.place)
        left, right = (*inputs, None)[:2]
        if left is None:
            return None
        left = self._conformed(left, agreed, marks)
        columns = names(node, self.catalog.streams)
        told = [F.min(FROM).alias(FROM)] if FROM in self.extra else []
        kept = left.groupBy(*map(_named, columns), *marks).agg(F.max(ARRIVAL).alias(ARRIVAL), *told)
        if right is not None:
            kept = _without(kept, self._conformed(right, agreed, marks), columns)
        closes = self._closes(node).alias(CLOSES)
        return kept.select(*map(_named, columns), ARRIVAL, closes, *(FROM for _ in told), *marks)

    def _conformed(self, frame: DataFrame, agreed: StructType | None, marks: Marks) -> DataFrame:
        """A side of a set operation under the names and types of the whole: another side may be missing in this run."""
        if agreed is None or _shape(frame.schema)[: len(agreed)] == _shape(agreed):
            return frame
        hidden = self._hidden(marks)
        sided = frame.toDF(*agreed.names, *frame.columns[len(agreed) :])
        return sided.select(*(_named(one.name).cast(one.dataType).alias(one.name) for one in agreed), *hidden)

    def _closes(self, node: Except) -> Column:
        (ref, _), at_end = window_columns(node, self.catalog.streams)
        size = 0 if at_end else micros(node.window.size)
        return F.expr(f"{quoted(ref)} + {_interval(size)}")


@dataclass(frozen=True, slots=True)
class Whole:
    """The query that a piece is of: its plan, the piece's place in it, and its leaves at the cut that stands for."""

    plan: Operator
    place: Place
    leaves: Mapping[Place, Leaf]


def survey_of(
    catalog: Catalog,
    plan: Operator,
    leaves: Mapping[Place, Leaf],
    train: Callable[[Place, Ref], Span] = lambda *_: ALWAYS,
    whole: Whole | None = None,
) -> Survey:
    """The survey of one run of a plan, or of a piece of it."""
    if whole is None:
        return Survey(plan, catalog.streams, leaves, train)
    above = Survey(whole.plan, catalog.streams, whole.leaves, lambda *_: ALWAYS)
    return Survey(plan, catalog.streams, leaves, train, above, whole.place)


def compile_run(
    catalog: Catalog,
    plan: Operator,
    leaves: Mapping[Place, Leaf],
    logs: Mapping[str, Rows],
    finish: Finish,
    whole: Whole | None = None,
    build: Build = Builder,
) -> DataFrame | None:
    """The results that a run adds, as one frame: the query's columns, `_arrival`, `_closes`, others that `build` adds.

    None: the run adds nothing for certain (no window closes, nothing to join with), and needs no job.
    """
    check_leaves(plan, leaves)
    reader = Reader(leaves, logs, catalog.streams)
    survey = survey_of(catalog, plan, leaves, reader.train, whole)

    def rows(reading: Reading) -> Found:
        assert isinstance(reading.node, Source)
        return reader.found(reading.node.stream, reading.offsets, reading.times, reading.late)

    builder = build(catalog, rows)
    frames = [builder.frame(reading, {}) for reading in survey.readings()]
    made = [finish(frame, builder.extra) for frame in frames if frame is not None]
    return builder.together(made)


def origin(stream: str) -> NewColumn:
    """The tuple that a row of a stream is, as `_from` tells it."""
    return NewColumn(f"array(struct({literal(stream)} AS stream, {OFFSET} AS offset))", FROM)


def literal(text: str) -> str:
    r"""A text as SQL writes it.

    >>> print(literal("it's"))
    'it\'s'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def bound(node: Join) -> str:
    """The time bound as a condition; of width 0 it is an equality, which Spark can hash."""
    if node.lower == node.upper == 0:
        return f"{node.left_time} = {node.right_time}"
    low, high = (f"{node.left_time} + {_interval(micros(seconds))}" for seconds in (node.lower, node.upper))
    return f"{node.right_time} BETWEEN {low} AND {high}"


def _interval(length: int) -> str:
    whole, rest = divmod(abs(length), 1_000_000)
    return f"INTERVAL '{'-' if length < 0 else ''}{whole}.{rest:06d}' SECOND"


def window_call(node: Aggregate) -> str:
    """The windows that a row is in, as Spark writes them."""
    size, slide = (f"'{micros(length)} microseconds'" for length in (node.window.size, node.window.slide))
    return f"window({node.time}, {size}, {slide})"


def _ends(reading: Reading) -> Marks:
    depth = len(reading.place)
    return {f"_first_{depth}": reading.span.low, f"_last_{depth}": reading.span.high}


def _bounded(moment: EventTime) -> int:
    return moment if isinstance(moment, int) else (_LONG if moment > 0 else -_LONG)


def _constant(moment: EventTime, length: int) -> Any:
    return pa.repeat(pa.scalar(_bounded(moment), pa.timestamp("us", "UTC")), length)


def _all_but(names: Sequence[str]) -> NewColumn:
    return NewColumn(f"* EXCEPT ({', '.join(names)})")


def _named(name: str) -> Column:
    return F.col(quoted((name,)))


def _shape(schema: StructType) -> list[tuple[str, str]]:
    return [(one.name, one.dataType.simpleString()) for one in schema]


def _without(left: DataFrame, right: DataFrame, columns: tuple[str, ...]) -> DataFrame:
    """Left rows with no equal right row; nulls are equal, as in EXCEPT."""
    pairs = [f"l.{quoted((name,))} <=> r.{quoted((name,))}" for name in columns]
    return left.alias("l").join(right.alias("r"), F.expr(" AND ".join(pairs)), "left_anti")


def finishing(found: Sequence[str]) -> Finish:
    """Brings the columns of a frame into order: the query's under names of their own, then the hidden ones.

    A query's frames have always the same columns, and asking takes time; with further hidden ones they are asked.
    """
    usual = _in_order(found, ())
    return lambda frame, extra: _in_order(frame.columns, extra)(frame) if extra else usual(frame)


def _in_order(found: Sequence[str], extra: Sequence[str]) -> Callable[[DataFrame], DataFrame]:
    hidden = (ARRIVAL, CLOSES, *extra)
    mine = [place for place, name in enumerate(found) if name not in hidden]
    fresh = dict(zip(mine, unique(found[place] for place in mine), strict=True))
    renamed = [fresh.get(place, name) for place, name in enumerate(found)]
    wanted = [*fresh.values(), *hidden]
    if [*found] == wanted:
        return lambda frame: frame
    return lambda frame: frame.toDF(*renamed).select(*map(_named, wanted))
