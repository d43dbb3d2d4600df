"""Builds frames in which an expression that fails on a row fails for that row alone.

What an expression fails on gives no result: a tuple in a filter, a projection or the argument of an aggregate, a pair
in what a join computes, a group whose sum overflows or on which an expression above the aggregate fails. Such a row
goes up through the plan with a note in the column `_failed` (see `failure_sites`), and what could not be computed is
null. Before a join, an aggregate or an EXCEPT, where it would meet other rows, it is split off into a frame of its own
and joins the results again at the end: so one job gives the results and the failures.

Example: `SELECT id, 100 / k AS q FROM a` over the rows (id, k) = (1, 50), (2, 0) gives

    id    q     _failed
    1     2.0   null
    2     null  0 {"id":2,"k":0}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.types import StructType

from headgate.model import Aggregate, Except, Join, Operator, Project, Select, Source, TableJoin, Union, walk
from headgate.plan.fusion_template import join_conditions
from headgate.spark.compile.event_time_columns import quoted
from headgate.spark.compile.failure_sites import Sites
from headgate.spark.compile.fragment_rows import scope
from headgate.spark.compile.fragment_stream import Ref
from headgate.spark.compile.frames import Builder, ConstantColumns
from headgate.spark.compile.quick_frames import SqlColumn, select
from headgate.spark.compile.read_sets import Reading
from headgate.spark.compile.safe_expressions import (
    FAILS,
    NO,
    YES,
    arguments,
    is_safe,
    overflow_safe,
    pinned,
    try_eval,
    verdict,
)
from headgate.spark.compile.schemas import ARRIVAL, CLOSES, FAILED, FROM
from headgate.spark.compile.sql_text import time_bound

_TRIED, _VERDICT, _OVER = "_tried", "_verdict", "_over"  # _over: whether a sum of the group overflows
GOOD = f"{FAILED} IS NULL"
Note = Callable[[], Column]  # makes the note of a failing row, see `failure_sites`
OVERFLOW = "a sum is too large for its type"


@dataclass(frozen=True, slots=True)
class IsolatingBuilder(Builder):
    """Builds frames whose rows say in `_from` what they were made of and in `_failed` why they have no result."""

    sites: Sites = field(kw_only=True)
    keys_too: bool = False  # guard the equalities of a join as well: they may hide a cast, but then are not hashed
    failures: list[DataFrame] = field(default_factory=list)  # failed rows that were split off on the way

    @property
    def extra(self) -> tuple[str, ...]:
        return (FROM, FAILED)

    def _source(self, reading: Reading, constants: ConstantColumns) -> DataFrame | None:
        frame = _without_isolation(self)._source(reading, constants)
        return None if frame is None else self._unmarked(frame)

    def _unmarked(self, frame: DataFrame) -> DataFrame:
        return self._select(frame, [SqlColumn("*"), SqlColumn("CAST(NULL AS STRING)", FAILED)])

    def _select_cached(self, frame: DataFrame, key: object, make: Callable[[], Sequence[Column]]) -> DataFrame:
        """Select columns that are made once per query: making one takes many calls into the JVM."""
        return select(frame, self.catalog.columns.several((self.keys_too, key), make))

    def _filtered(self, node: Operator, frame: DataFrame, predicate: str) -> DataFrame:
        if is_safe(predicate):
            return frame.where(self._expression(f"{predicate} OR NOT ({GOOD})"))

        def test() -> Sequence[Column]:
            number = F.when(F.expr(GOOD), verdict(self._spark, predicate)).otherwise(F.lit(YES))
            return F.col("*"), pinned(number).alias(_VERDICT)

        rows = self._select_cached(frame, ("test", predicate), test).where(self._expression(f"{_VERDICT} != {NO}"))
        note = partial(self._note, frame, node, [predicate])
        return self._marked(rows, (node, predicate), f"{_VERDICT} = {FAILS}", note, drop=[_VERDICT])

    def _projected(self, node: Project, frame: DataFrame, constants: ConstantColumns) -> DataFrame:
        risky = [column.expression for column in node.columns if not is_safe(column.expression)]
        if risky:
            frame = self._computed(frame, node, risky)
        texts = [_field(risky.index(text)) if text in risky else text for text in (c.expression for c in node.columns)]
        columns = [SqlColumn(text, column.name) for text, column in zip(texts, node.columns, strict=True)]
        return self._select(frame, [*columns, *map(SqlColumn, self._hidden(constants))])

    def _computed(self, frame: DataFrame, node: Operator, texts: Sequence[str]) -> DataFrame:
        """A frame with expressions computed, as fields of the struct `_tried`; rows on which one fails are marked."""
        return self._try_expressions(frame, (node, *texts), texts, partial(self._note, frame, node, texts))

    def _try_expressions(self, frame: DataFrame, key: object, texts: Sequence[str], note: Note) -> DataFrame:
        fields = ", ".join(f"{text} AS c{number}" for number, text in enumerate(texts))
        computed = self._select_cached(
            frame,
            ("tried", fields),
            lambda: [F.col("*"), try_eval(self._spark, f"struct({fields})", GOOD).alias(_TRIED)],
        )
        return self._marked(computed, key, f"{_TRIED} IS NULL", note)

    def _marked(self, frame: DataFrame, key: object, failed: str, note: Note, drop: Sequence[str] = ()) -> DataFrame:
        """Put a note into rows for which `failed` holds.

        The condition is marked nondeterministic, so that a filter above does not compute it a second time.
        """

        def mark() -> Sequence[Column]:
            fails = F.expr(f"{GOOD} AND {failed} AND monotonically_increasing_id() >= 0")
            kept = F.expr(f"* EXCEPT ({', '.join([FAILED, *drop])})")
            return kept, F.when(fails, note()).otherwise(F.col(FAILED)).alias(FAILED)

        return self._select_cached(frame, ("mark", key), mark)

    def _note(self, frame: DataFrame, node: Operator, texts: Sequence[str]) -> Column:
        return self.sites.note(frame, self._refs(node.inputs[0]), texts)

    def _refs(self, node: Operator | Source) -> tuple[Ref, ...]:
        """The columns of a node, each name once: an expression cannot refer to one of two equal names anyway."""
        named = {part.table for part in walk(node) if isinstance(part, TableJoin)}  # another may be lost just now
        tables = {name: tuple(self.catalog.tables[name].columns) for name in named}
        return tuple(dict.fromkeys(scope(node, self.catalog.streams, tables)))

    def _good(self, frame: DataFrame, node: Operator | Source) -> DataFrame:
        """The rows that have not failed; the others are split off, past the operator that comes next."""
        if not self._may_fail(node):
            return frame
        return self._split_off_failures(frame)

    def _split_off_failures(self, frame: DataFrame) -> DataFrame:
        hidden = [SqlColumn(name) for name in (ARRIVAL, CLOSES, FROM, FAILED)]
        self.failures.append(self._select(frame.where(self._expression(f"NOT ({GOOD})")), hidden))
        return frame.where(self._expression(GOOD))

    def _may_fail(self, node: Operator | Source) -> bool:
        """Whether rows of a node may be marked as failed."""
        match node:
            case Source() | Except():
                return False
            case Select():
                own = not is_safe(node.predicate) if node.predicate else False
            case Project():
                own = not all(is_safe(column.expression) for column in node.columns)
            case Join() | TableJoin():
                return bool(self._guarded_condition(node))
            case Union():
                return True  # sides may be cast to a common type
            case Aggregate():
                return any(overflow_safe(value.expression)[1] for value in node.aggregates)
            case _:
                own = False
        return own or any(self._may_fail(child) for child in node.inputs)

    def _guarded_condition(self, node: Join | TableJoin) -> str:
        """The part of a join's condition that is guarded."""
        keys, rest = join_conditions(node.condition)
        return " AND ".join(f"({text})" for text in ((*keys, *rest) if self.keys_too else rest))

    def _plain_condition(self, node: Join | TableJoin) -> str:
        """The part of a join's condition that is not guarded."""
        keys, _ = join_conditions(node.condition)
        return "TRUE" if self.keys_too or not keys else " AND ".join(f"({text})" for text in keys)

    def _paired(self, node: Join | TableJoin, rows: DataFrame) -> DataFrame:
        """Pairs of a join, those marked for which the condition could not be computed."""
        guarded = self._guarded_condition(node)
        return self._mark_failed_pairs(node, rows, guarded, "TRUE") if guarded else rows

    def _mark_failed_pairs(self, node: Join | TableJoin, rows: DataFrame, guarded: str, where: str) -> DataFrame:
        judged = self._select_cached(
            rows, ("pairs", guarded), lambda: [F.col("*"), verdict(self._spark, guarded).alias(_VERDICT)]
        )
        note = partial(self.sites.note, rows, self._refs(node), [guarded])
        return self._marked(judged, (node, guarded), f"{_VERDICT} = {FAILS} AND ({where})", note, drop=[_VERDICT])

    def _condition_of(self, node: Join | TableJoin) -> Column:
        guarded, plain = self._guarded_condition(node), self._expression(self._plain_condition(node))
        if not guarded:
            return plain
        key = ("condition", self.keys_too, node)
        return self.catalog.columns.single(key, lambda: plain & (verdict(self._spark, guarded) != NO))

    def _table_join(self, node: TableJoin, frame: DataFrame) -> DataFrame:
        frame = self._good(frame, node.inputs[0])
        left = frame.alias(node.left) if node.left else frame
        table = F.broadcast(self.catalog.tables[node.table].alias(node.alias))
        joined = left.join(table, self._condition_of(node), node.how)
        return self._paired(node, joined) if node.how == "inner" else self._paired_outer(node, joined)

    def _paired_outer(self, node: TableJoin, rows: DataFrame) -> DataFrame:
        """As `_paired`, but a row without a partner is not marked: the condition was not computed for it."""
        guarded = self._guarded_condition(node)
        partner = " OR ".join(f"{quoted(ref)} IS NOT NULL" for ref in self._refs(node) if ref[0] == node.alias)
        return self._mark_failed_pairs(node, rows, guarded, partner) if guarded else rows

    def _join(self, node: Join, inputs: list[DataFrame | None], constants: ConstantColumns) -> DataFrame | None:
        good = [
            None if frame is None else self._good(frame, child)
            for frame, child in zip(inputs, node.inputs, strict=False)
        ]
        pairs = Builder._join(self, node, good, constants)
        return None if pairs is None else self._paired(node, pairs)

    def _on(self, node: Join) -> Column:
        return self._expression(time_bound(node)) & self._condition_of(node)

    def _combined(self) -> list[SqlColumn]:
        return [SqlColumn(f"concat({FROM}, {FROM}_other)", FROM), SqlColumn("CAST(NULL AS STRING)", FAILED)]

    def union_all(self, frames: Sequence[DataFrame]) -> DataFrame | None:
        """All results, and the failed rows that were split off: null in columns that these do not have."""
        everything = [frame for frame in (Builder.union_all(self, frames), *self.failures) if frame is not None]
        if not everything:
            return None
        return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), everything)

    def _aggregate_input(self, node: Aggregate, frame: DataFrame) -> DataFrame:
        texts = [key.expression for key in node.keys]
        texts += [text for value in node.aggregates for text in arguments(value.expression)]
        risky = [text for text in dict.fromkeys(texts) if not is_safe(text)]
        if not risky:
            return self._good(frame, node.inputs[0])
        return self._split_off_failures(self._computed(frame, node, risky))

    def _aggregates(self, node: Aggregate) -> list[SqlColumn]:
        aggregates = [(value.name, *overflow_safe(value.expression)) for value in node.aggregates]
        overflows = " OR ".join(f"({test})" for _, _, test in aggregates if test)
        columns = [SqlColumn(text, name) for name, text, _ in aggregates]
        return [SqlColumn(f"concat(min({FROM}), max({FROM}))", FROM), SqlColumn(overflows or "FALSE", _OVER), *columns]

    def _aggregated(self, node: Aggregate, rows: DataFrame) -> DataFrame:
        sums = [value.expression for value in node.aggregates if overflow_safe(value.expression)[1]]
        rows = self._unmarked(rows)
        if not sums:
            return rows
        refs = [(key.name,) for key in node.keys] or [("_window",)]
        return self._marked(rows, node, _OVER, lambda: self.sites.note(rows, refs, sums, OVERFLOW))

    def _except(
        self, reading: Reading, node: Except, inputs: list[DataFrame | None], constants: ConstantColumns
    ) -> DataFrame | None:
        agreed = self.catalog.types.get(reading.place)
        good = [
            None if frame is None else self._split_off_failures(self._conformed(frame, agreed, constants))
            for frame in inputs
        ]
        rows = Builder._except(self, reading, node, good, constants)
        return None if rows is None else self._unmarked(rows)

    def _conformed(self, frame: DataFrame, agreed: StructType | None, constants: ConstantColumns) -> DataFrame:
        """A cast to the type that a union agreed on may fail as well."""
        if agreed is None or _types(frame.schema)[: len(agreed)] == _types(agreed):
            return Builder._conformed(self, frame, agreed, constants)
        named = frame.toDF(*agreed.names, *frame.columns[len(agreed.names) :])
        refs = list(dict.fromkeys((name,) for name in agreed.names))
        casts = [f"CAST({quoted((column.name,))} AS {column.dataType.simpleString()})" for column in agreed]
        rows = self._try_expressions(named, ("cast", *casts), casts, lambda: self.sites.note(named, refs, casts))
        columns = [SqlColumn(_field(number), column.name) for number, column in enumerate(agreed)]
        return self._select(rows, [*columns, *map(SqlColumn, self._hidden(constants))])


def _without_isolation(builder: IsolatingBuilder) -> Builder:
    """The same builder without isolation; its rows say what they were made of."""
    return Builder(builder.catalog, builder.rows, builder.schema_only, builder.meets, tracked=True)


def _field(number: int) -> str:
    return f"{_TRIED}.c{number}"


def _types(schema: StructType) -> list[tuple[str, str]]:
    return [(column.name, column.dataType.simpleString()) for column in schema]
