"""Runs in which an expression that fails on a row fails for that row alone.

What an expression fails on gives no result of its query: a tuple in a filter, a projection or the argument of an
aggregate, a pair in what a join computes, a group in a sum that overflows or in what is computed above the aggregate.
Such a row goes up through the plan with the reason in `_failed`, its other columns null; where it would meet other rows
it is led around, as a frame of its own. So one job gives the results and what failed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.types import StructType

from headgate.model import Aggregate, Except, Join, Operator, Project, Select, Source, TableJoin, Union
from headgate.plan.template import join_conditions
from headgate.spark.compile.event_times import quoted
from headgate.spark.compile.failure_sites import Sites
from headgate.spark.compile.fragment_rows import scope
from headgate.spark.compile.fragment_stream import Ref
from headgate.spark.compile.frames import Builder, Marks, bound
from headgate.spark.compile.quick_frames import NewColumn, select
from headgate.spark.compile.read_sets import Reading
from headgate.spark.compile.safe_expressions import (
    ALIVE,
    FAILS,
    NO,
    YES,
    arguments,
    pinned,
    safe,
    total,
    tried,
    verdict,
)
from headgate.spark.compile.schemas import ARRIVAL, CLOSES, FAILED, FROM

_TRIED, _VERDICT, _OVER = "_tried", "_verdict", "_over"
GOOD = f"{FAILED} IS NULL"
_LIVES = f"{ALIVE} AND {GOOD}"
Note = Callable[[], Column]  # what a failing row says
OVERFLOW = "a sum is too large for its type"


@dataclass(frozen=True, slots=True)
class IsolatingBuilder(Builder):
    """Builds frames whose rows say what they were made of and, in `_failed`, why they have no result."""

    sites: Sites = field(kw_only=True)
    keys_too: bool = False  # the equalities of a join are guarded as well: they may hide a cast, but can be hashed
    failures: list[DataFrame] = field(default_factory=list)  # rows that were led around

    @property
    def extra(self) -> tuple[str, ...]:
        return (FROM, FAILED)

    def _source(self, reading: Reading, marks: Marks) -> DataFrame | None:
        made = _plain(self)._source(reading, marks)
        return None if made is None else self._unmarked(made)

    def _unmarked(self, frame: DataFrame) -> DataFrame:
        return self._select(frame, [NewColumn("*"), NewColumn("CAST(NULL AS STRING)", FAILED)])

    def _made(self, frame: DataFrame, key: object, make: Callable[[], Sequence[Column]]) -> DataFrame:
        """A selection of columns that are made once: each takes many calls into the JVM."""
        return select(frame, self.catalog.columns.several((self.keys_too, key), make))

    def _filtered(self, node: Operator, frame: DataFrame, predicate: str) -> DataFrame:
        if safe(predicate):
            return frame.where(self._plain(f"{predicate} OR NOT ({GOOD})"))

        def test() -> Sequence[Column]:
            said = F.when(F.expr(GOOD), verdict(self._spark, predicate)).otherwise(F.lit(YES))
            return F.col("*"), pinned(said).alias(_VERDICT)

        rows = self._made(frame, ("test", predicate), test).where(self._plain(f"{_VERDICT} != {NO}"))
        note = partial(self._note, frame, node, [predicate])
        return self._marked(rows, (node, predicate), f"{_VERDICT} = {FAILS}", note, drop=[_VERDICT])

    def _projected(self, node: Project, frame: DataFrame, marks: Marks) -> DataFrame:
        risky = [one.expression for one in node.columns if not safe(one.expression)]
        if risky:
            frame = self._computed(frame, node, risky)
        texts = [
            _field(risky.index(one.expression)) if one.expression in risky else one.expression for one in node.columns
        ]
        made = [NewColumn(text, one.name) for text, one in zip(texts, node.columns, strict=True)]
        return self._select(frame, [*made, *map(NewColumn, self._hidden(marks))])

    def _computed(self, frame: DataFrame, node: Operator, texts: Sequence[str]) -> DataFrame:
        """A frame with expressions computed, as fields of `_tried`; rows on which one fails are marked."""
        return self._tried(frame, (node, *texts), texts, partial(self._note, frame, node, texts))

    def _tried(self, frame: DataFrame, key: object, texts: Sequence[str], note: Note) -> DataFrame:
        fields = ", ".join(f"{text} AS c{number}" for number, text in enumerate(texts))
        computed = self._made(
            frame,
            ("tried", fields),
            lambda: [F.col("*"), tried(self._spark, f"struct({fields})", _LIVES).alias(_TRIED)],
        )
        return self._marked(computed, key, f"{_TRIED} IS NULL", note)

    def _marked(self, frame: DataFrame, key: object, failed: str, note: Note, drop: Sequence[str] = ()) -> DataFrame:
        """Mark rows; pinned, or a filter above would compute the mark, and what it is made of, a second time."""

        def mark() -> Sequence[Column]:
            fails = F.expr(f"{GOOD} AND {failed} AND monotonically_increasing_id() >= 0")
            kept = F.expr(f"* EXCEPT ({', '.join([FAILED, *drop])})")
            return kept, F.when(fails, note()).otherwise(F.col(FAILED)).alias(FAILED)

        return self._made(frame, ("mark", key), mark)

    def _note(self, frame: DataFrame, node: Operator, texts: Sequence[str]) -> Column:
        return self.sites.note(frame, self._refs(node.inputs[0]), texts)

    def _refs(self, node: Operator | Source) -> tuple[Ref, ...]:
        """The columns below an operator, once each: two of one name cannot be told apart anyway."""
        tables = {name: tuple(frame.columns) for name, frame in self.catalog.tables.items()}
        return tuple(dict.fromkeys(scope(node, self.catalog.streams, tables)))

    def _good(self, frame: DataFrame, node: Operator | Source) -> DataFrame:
        """The rows that have not failed; the others are led around what comes next."""
        if not self._may_fail(node):
            return frame
        return self._led_around(frame)

    def _led_around(self, frame: DataFrame) -> DataFrame:
        told = [NewColumn(name) for name in (ARRIVAL, CLOSES, FROM, FAILED)]
        self.failures.append(self._select(frame.where(self._plain(f"NOT ({GOOD})")), told))
        return frame.where(self._plain(GOOD))

    def _may_fail(self, node: Operator | Source) -> bool:
        """Whether rows of a node may be marked as failed."""
        match node:
            case Source() | Except():
                return False
            case Select():
                own = not safe(node.predicate) if node.predicate else False
            case Project():
                own = not all(safe(one.expression) for one in node.columns)
            case Join() | TableJoin():
                return bool(self._rest(node))
            case Union():
                return True  # sides may be cast to a common type
            case Aggregate():
                return any(total(one.expression)[1] for one in node.aggregates)
            case _:
                own = False
        return own or any(self._may_fail(child) for child in node.inputs)

    def _rest(self, node: Join | TableJoin) -> str:
        """What of a join's condition is guarded."""
        keys, rest = join_conditions(node.condition)
        return " AND ".join(f"({one})" for one in ((*keys, *rest) if self.keys_too else rest))

    def _keys(self, node: Join | TableJoin) -> str:
        keys, _ = join_conditions(node.condition)
        return "TRUE" if self.keys_too or not keys else " AND ".join(f"({one})" for one in keys)

    def _paired(self, node: Join | TableJoin, rows: DataFrame) -> DataFrame:
        """Pairs of a join; those are marked for which the condition could not be computed."""
        rest = self._rest(node)
        return self._judged(node, rows, rest, "TRUE") if rest else rows

    def _judged(self, node: Join | TableJoin, rows: DataFrame, rest: str, where: str) -> DataFrame:
        judged = self._made(rows, ("pairs", rest), lambda: [F.col("*"), verdict(self._spark, rest).alias(_VERDICT)])
        note = partial(self.sites.note, rows, self._refs(node), [rest])
        return self._marked(judged, (node, rest), f"{_VERDICT} = {FAILS} AND ({where})", note, drop=[_VERDICT])

    def _condition_of(self, node: Join | TableJoin) -> Column:
        rest, keys = self._rest(node), self._plain(self._keys(node))
        if not rest:
            return keys
        key = ("condition", self.keys_too, node)
        return self.catalog.columns.single(key, lambda: keys & (verdict(self._spark, rest) != NO))

    def _table_join(self, node: TableJoin, frame: DataFrame) -> DataFrame:
        frame = self._good(frame, node.inputs[0])
        left = frame.alias(node.left) if node.left else frame
        table = F.broadcast(self.catalog.tables[node.table].alias(node.alias))
        joined = left.join(table, self._condition_of(node), node.how)
        return self._paired(node, joined) if node.how == "inner" else self._paired_outer(node, joined)

    def _paired_outer(self, node: TableJoin, rows: DataFrame) -> DataFrame:
        """Rows without a partner have met no condition: there it says NO, or fails for want of the partner."""
        rest = self._rest(node)
        partner = " OR ".join(f"{quoted(ref)} IS NOT NULL" for ref in self._refs(node) if ref[0] == node.alias)
        return self._judged(node, rows, rest, partner) if rest else rows

    def _join(self, node: Join, inputs: list[DataFrame | None], marks: Marks) -> DataFrame | None:
        good = [
            None if one is None else self._good(one, child) for one, child in zip(inputs, node.inputs, strict=False)
        ]
        made = Builder._join(self, node, good, marks)
        return None if made is None else self._paired(node, made)

    def _on(self, node: Join) -> Column:
        return self._condition_of(node) & self._plain(bound(node))

    def _combined(self) -> list[NewColumn]:
        return [NewColumn(f"concat({FROM}, {FROM}_other)", FROM), NewColumn("CAST(NULL AS STRING)", FAILED)]

    def together(self, made: Sequence[DataFrame]) -> DataFrame | None:
        """All results, and what was led around: null in columns that it does not have."""
        everything = [frame for frame in (Builder.together(self, made), *self.failures) if frame is not None]
        if not everything:
            return None
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), everything)

    def _aggregate_input(self, node: Aggregate, frame: DataFrame) -> DataFrame:
        texts = [key.expression for key in node.keys]
        texts += [text for value in node.aggregates for text in arguments(value.expression)]
        risky = [text for text in dict.fromkeys(texts) if not safe(text)]
        if not risky:
            return self._good(frame, node.inputs[0])
        return self._led_around(self._computed(frame, node, risky))

    def _aggregates(self, node: Aggregate) -> list[NewColumn]:
        found = [(value.name, *total(value.expression)) for value in node.aggregates]
        over = " OR ".join(f"({test})" for _, _, test in found if test)
        made = [NewColumn(text, name) for name, text, _ in found]
        return [NewColumn(f"concat(min({FROM}), max({FROM}))", FROM), NewColumn(over or "FALSE", _OVER), *made]

    def _aggregated(self, node: Aggregate, rows: DataFrame) -> DataFrame:
        sums = [value.expression for value in node.aggregates if total(value.expression)[1]]
        rows = self._unmarked(rows)
        if not sums:
            return rows
        refs = [(key.name,) for key in node.keys] or [("_window",)]
        return self._marked(rows, node, _OVER, lambda: self.sites.note(rows, refs, sums, OVERFLOW))

    def _except(self, reading: Reading, node: Except, inputs: list[DataFrame | None], marks: Marks) -> DataFrame | None:
        agreed = self.catalog.types.get(reading.place)
        good = [None if one is None else self._led_around(self._conformed(one, agreed, marks)) for one in inputs]
        made = Builder._except(self, reading, node, good, marks)
        return None if made is None else self._unmarked(made)

    def _conformed(self, frame: DataFrame, agreed: StructType | None, marks: Marks) -> DataFrame:
        """A cast to the type that a union agreed on may fail as well."""
        if agreed is None or _types(frame.schema)[: len(agreed)] == _types(agreed):
            return Builder._conformed(self, frame, agreed, marks)
        named = frame.toDF(*agreed.names, *frame.columns[len(agreed.names) :])
        refs = list(dict.fromkeys((name,) for name in agreed.names))
        casts = [f"CAST({quoted((one.name,))} AS {one.dataType.simpleString()})" for one in agreed]
        rows = self._tried(named, ("cast", *casts), casts, lambda: self.sites.note(named, refs, casts))
        made = [NewColumn(_field(number), one.name) for number, one in enumerate(agreed)]
        return self._select(rows, [*made, *map(NewColumn, self._hidden(marks))])


def _plain(builder: IsolatingBuilder) -> Builder:
    """The same builder without isolation; its rows say what they were made of."""
    return Builder(builder.catalog, builder.rows, builder.shape_only, builder.meets, tracked=True)


def _field(number: int) -> str:
    return f"{_TRIED}.c{number}"


def _types(schema: StructType) -> list[tuple[str, str]]:
    return [(one.name, one.dataType.simpleString()) for one in schema]
