"""Builds the DataFrame of one run from a plan and the rows that the run takes.

Every frame on the way carries hidden columns beside its own: `_arrival` (when the latest of its tuples arrived) and
`_closes` (the end of the window that the row belongs to, or null).

What changes from run to run must be data, not text: a literal would make Spark compile the job's code anew in every
run. So the rows come as a table, and for a sliding window the first and the last window end to emit come as constant
columns `_first_n`, `_last_n` of that table, n being the depth of the aggregate in the plan. Example: an aggregate at
place (0,) whose windows ending at 10 s and 20 s close gets rows with `_first_1` = 10 s and `_last_1` = 20 s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import pyarrow as pa
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
from headgate.plan.places import Place
from headgate.spark.compile import fragment_rows
from headgate.spark.compile.event_time_columns import END, START, column_names, quoted, window_columns
from headgate.spark.compile.executor_reads import SealedRows
from headgate.spark.compile.fragment_stream import FragmentStream, Ref
from headgate.spark.compile.join_keys import paired
from headgate.spark.compile.leaf_rows import Leaves, Logs
from headgate.spark.compile.log_reader import LogReader, LogRows
from headgate.spark.compile.quick_frames import Columns, SqlColumn, group_by, select, ship
from headgate.spark.compile.read_sets import Reading, Survey, check_leaves
from headgate.spark.compile.schemas import ARRIVAL, CLOSES, FROM, OFFSET, unique
from headgate.spark.compile.sql_text import interval, origin_column, time_bound, window_call
from headgate.spark.compile.time_spans import ALWAYS, Span, micros

SMALL = 20_000  # rows that one task handles faster than a shuffle
BATCH = 10_000  # rows of a task where there are more
_OTHER = "_other"  # suffix of the hidden columns of a join's right side
_WINDOW = "_window"
_LONG = (1 << 63) - 1

ConstantColumns = Mapping[str, EventTime]  # hidden columns with one value for all rows of a run
Finish = Callable[[DataFrame, Sequence[str]], DataFrame]  # puts columns in order; the names are extra hidden ones
RowsOf = Callable[[Reading], LogRows]  # the rows of a leaf
MakeBuilder = Callable[["Catalog", RowsOf], "Builder"]


@dataclass(frozen=True, slots=True)
class Catalog:
    """What names in a plan mean, and the types that set operations agreed on, by their place."""

    spark: SparkSession
    streams: Mapping[str, Stream]
    tables: Mapping[str, DataFrame]
    types: Mapping[Place, StructType] = field(default_factory=dict)
    columns: Columns = field(default_factory=Columns)


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds frames from readings; None stands for a frame that certainly has no rows."""

    catalog: Catalog
    rows: RowsOf
    schema_only: bool = False  # build frames without rows too: only their types are of interest
    meets: bool = False  # rows will meet other rows above: in one partition they need no shuffle
    tracked: bool = False  # rows say in `_from` which tuples they were made of

    @property
    def extra(self) -> tuple[str, ...]:
        """Hidden columns besides `_arrival` and `_closes`."""
        return (FROM,) if self.tracked else ()

    @property
    def _spark(self) -> SparkSession:
        return self.catalog.spark

    def _hidden(self, constants: ConstantColumns) -> tuple[str, ...]:
        return (ARRIVAL, CLOSES, *self.extra, *constants)

    def frame(self, reading: Reading, constants: ConstantColumns) -> DataFrame | None:
        """The rows of a node."""
        match reading.node:
            case Source():
                return self._source(reading, constants)
            case Aggregate():
                return replace(self, meets=True)._aggregate(reading, reading.node, constants)
        below = replace(self, meets=True) if isinstance(reading.node, Join | Except) else self
        inputs = [below.frame(input_reading, constants) for input_reading in reading.inputs]
        match reading.node:
            case Union():
                return self._union(reading, inputs, constants)
            case Except():
                return self._except(reading, reading.node, inputs, constants)
            case Join():
                return self._join(reading.node, inputs, constants)
        return None if inputs[0] is None else self._stateless(reading.node, inputs[0], constants)

    def union_all(self, frames: Sequence[DataFrame]) -> DataFrame | None:
        """The results of a run: those of all its readings."""
        return reduce(DataFrame.union, frames) if frames else None

    def _source(self, reading: Reading, constants: ConstantColumns) -> DataFrame | None:
        assert isinstance(reading.node, Source)
        table, sealed = self.rows(reading)
        stream = self.catalog.streams[reading.node.stream]
        in_memory = None
        if table.num_rows or self.schema_only:
            in_memory = (
                self._fragment_rows(stream, table, constants)
                if isinstance(stream, FragmentStream)
                else self._stream_rows(stream, table, constants)
            )
        if sealed is None:
            return in_memory
        in_files = self._sealed_rows(stream, sealed, table.schema, constants)
        return in_files if in_memory is None else in_files.union(in_memory)

    def _fragment_rows(self, stream: FragmentStream, table: pa.Table, constants: ConstantColumns) -> DataFrame:
        hidden = (ARRIVAL, CLOSES, FROM) if self.tracked else (ARRIVAL, CLOSES)
        frame = self._ship(table.select([*stream.types.names, *hidden]), constants)
        return self._select(frame, [*fragment_rows.named(stream), *map(SqlColumn, (*hidden, *constants))])

    def _stream_rows(self, stream: Stream, table: pa.Table, constants: ConstantColumns) -> DataFrame:
        closes = pa.nulls(table.num_rows, pa.timestamp("us", "UTC"))
        if not self.tracked:
            return self._ship(table.select([*stream.columns, ARRIVAL]).append_column(CLOSES, closes), constants)
        frame = self._ship(table.select([*stream.columns, ARRIVAL, OFFSET]).append_column(CLOSES, closes), constants)
        own = [SqlColumn(quoted((name,))) for name in stream.columns]
        hidden = [SqlColumn(ARRIVAL), SqlColumn(CLOSES), origin_column(stream.name), *map(SqlColumn, constants)]
        return self._select(frame, [*own, *hidden])

    def _sealed_rows(
        self, stream: Stream, sealed: SealedRows, schema: pa.Schema, constants: ConstantColumns
    ) -> DataFrame:
        """Here constants are literals: Spark compiles anew, which costs little beside reading so many rows."""
        literals = [f"timestamp_micros({_as_long(moment)}L) AS {name}" for name, moment in constants.items()]
        names = [quoted((name,)) for name in (*stream.columns, ARRIVAL)]
        origins = [f"{origin.text} AS {origin.name}" for origin in (origin_column(stream.name),) if self.tracked]
        return sealed.frame(self.catalog.spark, schema).selectExpr(
            *names, f"CAST(NULL AS timestamp) AS {CLOSES}", *origins, *literals
        )

    def _ship(self, table: pa.Table, constants: ConstantColumns) -> DataFrame:
        for name, moment in constants.items():
            table = table.append_column(name, _constant(moment, table.num_rows))
        small = table.num_rows <= SMALL
        frame = ship(self.catalog.spark, table, SMALL if small else BATCH)
        return frame.coalesce(1) if small and self.meets else frame

    def _select(self, frame: DataFrame, columns: Sequence[SqlColumn]) -> DataFrame:
        return select(frame, self.catalog.columns.listed(columns))

    def _expression(self, text: str) -> Column:
        return self.catalog.columns.expression(text)

    def _stateless(self, node: Operator, frame: DataFrame, constants: ConstantColumns) -> DataFrame:
        match node:
            case Select() if node.predicate:
                return self._filtered(node, frame, node.predicate)
            case Project():
                return self._projected(node, frame, constants)
            case TableJoin():
                return self._table_join(node, frame)
            case Select() | Split():
                return frame
        raise AssertionError(f"no way to run {node.kind}")  # pragma: no cover

    def _filtered(self, node: Operator, frame: DataFrame, predicate: str) -> DataFrame:
        del node
        return frame.where(self._expression(predicate))

    def _projected(self, node: Project, frame: DataFrame, constants: ConstantColumns) -> DataFrame:
        columns = [SqlColumn(column.expression, column.name) for column in node.columns]
        return self._select(frame, [*columns, *map(SqlColumn, self._hidden(constants))])

    def _table_join(self, node: TableJoin, frame: DataFrame) -> DataFrame:
        left = frame.alias(node.left) if node.left else frame
        table = F.broadcast(self.catalog.tables[node.table].alias(node.alias))
        return left.join(table, self._expression(node.condition), node.how)

    def _join(self, node: Join, inputs: list[DataFrame | None], constants: ConstantColumns) -> DataFrame | None:
        if len(inputs) < 2 or inputs[0] is None or inputs[1] is None:
            return None
        left = inputs[0].alias(node.left) if node.left else inputs[0]
        hidden = self._hidden(constants)
        other = [name + _OTHER for name in hidden]
        renamed = [SqlColumn(name, other_name) for name, other_name in zip(hidden, other, strict=True)]
        right = self._select(inputs[1], [_all_but(hidden), *renamed]).alias(node.right)
        latest = [SqlColumn(f"greatest({name}, {name}{_OTHER})", name) for name in (ARRIVAL, CLOSES)]
        dropped = (ARRIVAL, CLOSES, *self.extra, *other)
        return self._select(left.join(right, self._on(node)), [_all_but(dropped), *latest, *self._combined()])

    def _on(self, node: Join) -> Column:
        bound = self._expression(time_bound(node))
        # The bound first: which pairs beyond it meet at all depends on what is still kept.
        return bound & self._expression(node.condition) if node.condition else bound

    def _combined(self) -> list[SqlColumn]:
        """The extra hidden columns of a pair, made of those of its two rows."""
        return [SqlColumn(f"concat({FROM}, {FROM}{_OTHER})", FROM)] if self.tracked else []

    def _aggregate(self, reading: Reading, node: Aggregate, constants: ConstantColumns) -> DataFrame | None:
        ends: ConstantColumns = {} if node.window.tumbling else _window_ends(reading)
        frame = self.frame(reading.inputs[0], {**constants, **ends})
        if frame is None:
            return None
        frame = self._aggregate_input(node, frame)
        window = SqlColumn(window_call(node), _WINDOW)
        if ends:  # a row is in several windows: drop those that end elsewhere before they are grouped
            frame = self._select(frame, [SqlColumn("*"), window])
            frame = frame.where(self._expression(f"{_WINDOW}.end BETWEEN {' AND '.join(ends)}"))
            window = SqlColumn(_WINDOW)
        keys = [SqlColumn(key.expression, key.name) for key in node.keys]
        columns = self.catalog.columns
        rows = group_by(
            frame,
            columns.listed([window, *keys, *map(SqlColumn, constants)]),
            columns.aggregates([SqlColumn(f"max({ARRIVAL})", ARRIVAL), *self._aggregates(node)]),
        )
        start, end = f"{_WINDOW}.start", f"{_WINDOW}.end"
        own = [SqlColumn(quoted((column.name,))) for column in (*node.keys, *node.aggregates)]
        hidden = [SqlColumn(ARRIVAL), SqlColumn(end, CLOSES), *map(SqlColumn, (*self.extra, *constants))]
        return self._select(
            self._aggregated(node, rows), [SqlColumn(start, *START), SqlColumn(end, *END), *own, *hidden]
        )

    def _aggregate_input(self, node: Aggregate, frame: DataFrame) -> DataFrame:
        del node
        return frame

    def _aggregates(self, node: Aggregate) -> list[SqlColumn]:
        origins = [SqlColumn(f"concat(min({FROM}), max({FROM}))", FROM)] if self.tracked else []
        return [*origins, *(SqlColumn(value.expression, value.name) for value in node.aggregates)]

    def _aggregated(self, node: Aggregate, rows: DataFrame) -> DataFrame:
        del node
        return rows

    def _union(self, reading: Reading, inputs: list[DataFrame | None], constants: ConstantColumns) -> DataFrame | None:
        agreed = self.catalog.types.get(reading.place)
        sides = [self._conformed(frame, agreed, constants) for frame in inputs if frame is not None]
        return reduce(DataFrame.union, sides) if sides else None

    def _except(
        self, reading: Reading, node: Except, inputs: list[DataFrame | None], constants: ConstantColumns
    ) -> DataFrame | None:
        agreed = self.catalog.types.get(reading.place)
        left, right = (*inputs, None)[:2]
        if left is None:
            return None
        left = self._conformed(left, agreed, constants)
        columns = column_names(node, self.catalog.streams)
        origins = [F.min(FROM).alias(FROM)] if FROM in self.extra else []
        kept = left.groupBy(*map(_named, columns), *constants).agg(F.max(ARRIVAL).alias(ARRIVAL), *origins)
        if right is not None:
            kept = _without(kept, self._conformed(right, agreed, constants), columns)
        closes = self._closes(node).alias(CLOSES)
        return kept.select(*map(_named, columns), ARRIVAL, closes, *(FROM for _ in origins), *constants)

    def _conformed(self, frame: DataFrame, agreed: StructType | None, constants: ConstantColumns) -> DataFrame:
        """A side of a set operation under the agreed names and types, even if this run lacks the other side."""
        if agreed is None or _names_and_types(frame.schema)[: len(agreed)] == _names_and_types(agreed):
            return frame
        hidden = self._hidden(constants)
        renamed = frame.toDF(*agreed.names, *frame.columns[len(agreed) :])
        return renamed.select(
            *(_named(column.name).cast(column.dataType).alias(column.name) for column in agreed), *hidden
        )

    def _closes(self, node: Except) -> Column:
        (ref, _), at_end = window_columns(node, self.catalog.streams)
        size = 0 if at_end else micros(node.window.size)
        return F.expr(f"{quoted(ref)} + {interval(size)}")


@dataclass(frozen=True, slots=True)
class WholeQuery:
    """The query that a fragment was cut from: its plan, the fragment's place in it, and what its leaves have taken.

    `leaves` are the offsets of the streams that stand behind the rows which the fragment reads in a run. With them a
    fragment knows the frontiers that the uncut query would have at that point.
    """

    plan: Operator
    place: Place
    leaves: Leaves


def survey_of(
    catalog: Catalog,
    plan: Operator,
    leaves: Leaves,
    train_span: Callable[[Place, Ref], Span] = lambda *_: ALWAYS,
    whole: WholeQuery | None = None,
) -> Survey:
    """The survey of one run of a plan, or of a fragment of a whole query."""
    if whole is None:
        return Survey(plan, catalog.streams, leaves, train_span)
    above = Survey(whole.plan, catalog.streams, whole.leaves, lambda *_: ALWAYS)
    return Survey(plan, catalog.streams, leaves, train_span, above, whole.place)


def compile_run(
    catalog: Catalog,
    plan: Operator,
    leaves: Leaves,
    logs: Logs,
    finish: Finish,
    whole: WholeQuery | None = None,
    make_builder: MakeBuilder = Builder,
) -> DataFrame | None:
    """The results that a run adds, as one frame: the query's columns, `_arrival`, `_closes`, the builder's extra ones.

    None: the run certainly adds nothing (no window closes, nothing to join with), and needs no job.
    """
    check_leaves(plan, leaves)
    reader = LogReader(leaves, logs, catalog.streams)
    survey = survey_of(catalog, plan, leaves, reader.train_span, whole)
    builder = make_builder(catalog, reader.rows_of)
    frames = [builder.frame(paired(reading), {}) for reading in survey.readings()]
    return builder.union_all([finish(frame, builder.extra) for frame in frames if frame is not None])


def _window_ends(reading: Reading) -> ConstantColumns:
    depth = len(reading.place)
    return {f"_first_{depth}": reading.span.low, f"_last_{depth}": reading.span.high}


def _as_long(moment: EventTime) -> int:
    return moment if isinstance(moment, int) else (_LONG if moment > 0 else -_LONG)


def _constant(moment: EventTime, length: int) -> Any:
    return pa.repeat(pa.scalar(_as_long(moment), pa.timestamp("us", "UTC")), length)


def _all_but(names: Sequence[str]) -> SqlColumn:
    return SqlColumn(f"* EXCEPT ({', '.join(names)})")


def _named(name: str) -> Column:
    return F.col(quoted((name,)))


def _names_and_types(schema: StructType) -> list[tuple[str, str]]:
    return [(column.name, column.dataType.simpleString()) for column in schema]


def _without(left: DataFrame, right: DataFrame, columns: tuple[str, ...]) -> DataFrame:
    """Left rows with no equal right row; nulls are equal, as in EXCEPT."""
    equalities = [f"l.{quoted((name,))} <=> r.{quoted((name,))}" for name in columns]
    return left.alias("l").join(right.alias("r"), F.expr(" AND ".join(equalities)), "left_anti")


def finish_in_order(names: Sequence[str]) -> Finish:
    """A function that orders a frame's columns: the query's, names made unique, then the hidden ones.

    A query's frames usually have the columns `names`, and asking a frame takes time: only frames with extra hidden
    columns are asked.
    """
    usual = _order_columns(names, ())
    return lambda frame, extra: _order_columns(frame.columns, extra)(frame) if extra else usual(frame)


def _order_columns(names: Sequence[str], extra: Sequence[str]) -> Callable[[DataFrame], DataFrame]:
    hidden = (ARRIVAL, CLOSES, *extra)
    own = [position for position, name in enumerate(names) if name not in hidden]
    unique_names = dict(zip(own, unique(names[position] for position in own), strict=True))
    renamed = [unique_names.get(position, name) for position, name in enumerate(names)]
    ordered = [*unique_names.values(), *hidden]
    if [*names] == ordered:
        return lambda frame: frame
    return lambda frame: frame.toDF(*renamed).select(*map(_named, ordered))
