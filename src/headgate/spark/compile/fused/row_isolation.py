"""Row isolation in a group: an expression that fails on a row fails for that row and that member alone.

As in `tags`, but with a second column of bits: `_bad` has the members whose predicates fail on a row. What a member
computes of a row that it wants comes as a struct with one field, which is null where that fails. The driver then takes
results and failures of each member apart.

Example: of two members over a row with k = 0, the first has the predicate `100 / k > 3`, the second the output `1 / k`.
The row comes back with `_bad` = 0b01, `_tags` = 0b10 and a null struct for `1 / k`: it is a failure of both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from headgate.model import times
from headgate.spark.compile.failure_sites import Sites, row_as_json
from headgate.spark.compile.fragment_stream import Ref
from headgate.spark.compile.fused.tags import TAGS, bits_by_output, bits_by_predicates
from headgate.spark.compile.prepared_query import Failure
from headgate.spark.compile.quick_frames import Columns, SqlColumn, collect, select
from headgate.spark.compile.safe_expressions import FAILS, NO, YES, pinned, try_eval, verdict
from headgate.spark.compile.schemas import ARRIVAL, CLOSES, result_schema

BAD = "_bad"  # the members for whom a row fails
ROW = "_row"  # the values of a failing row, as JSON
Judge = Callable[[Sequence[str]], Column]  # a member's texts, such as predicates, as a column of NO, YES or FAILS
Origin = Callable[[Mapping[str, Any]], tuple[tuple[str, int], ...]]  # (stream, offset) of a failing row's tuples
OutputName = tuple[str, bool]  # the column of an output, and whether its values are in a struct


@dataclass(frozen=True, slots=True)
class GuardedOutputs:
    """What members compute of rows that they want: equal expressions once, each null where it fails."""

    bits: Mapping[str, int]  # by expression: the members that want it
    plain: frozenset[str]  # expressions that are columns as they are: these cannot fail

    @classmethod
    def of(cls, outputs: Sequence[Sequence[str]], plain: Sequence[str]) -> GuardedOutputs:
        return cls(bits_by_output(outputs), frozenset(plain))

    def columns(self, spark: SparkSession) -> list[Column]:
        """All of them, as `_e0`, `_e1` and so on."""
        return [self._column(spark, text, bits).alias(f"_e{n}") for n, (text, bits) in enumerate(self.bits.items())]

    def fails(self) -> Column:
        """Whether an output fails on a row for a member that wants it."""
        tests = [
            F.expr(f"({TAGS} & {bits}L) != 0 AND _e{n} IS NULL")
            for n, (text, bits) in enumerate(self.bits.items())
            if text not in self.plain
        ]
        return reduce(lambda left, right: left | right, tests, F.lit(False))

    def names(self, texts: Sequence[str]) -> list[OutputName]:
        """The columns of a member's outputs."""
        numbers = {text: n for n, text in enumerate(self.bits)}
        return [(f"_e{numbers[text]}", text not in self.plain) for text in texts]

    def _column(self, spark: SparkSession, text: str, bits: int) -> Column:
        if text in self.plain:
            return F.expr(text)
        return try_eval(spark, f"struct({text} AS v)", f"({TAGS} & {bits}L) != 0")


def judge_rows(
    columns: Columns, frame: DataFrame, predicates: Sequence[Sequence[str]], within: str | None, judge: Judge
) -> DataFrame:
    """Rows with the members that want them in `_tags`, and those for whom they fail in `_bad`."""
    bits_of = bits_by_predicates(predicates)
    names = {texts: f"_v{n}" for n, texts in enumerate(bits_of) if texts}

    def verdicts() -> list[Column]:
        computed = [
            pinned(_for_takers(judge(texts), bits_of[texts], within)).alias(name) for texts, name in names.items()
        ]
        return [F.col("*"), *computed]

    # The key has bits and names: another group of the same first member may judge the same texts for other members.
    key = ("judged", judge.__qualname__, within, *((texts, bits_of[texts], name) for texts, name in names.items()))
    rows = select(frame, columns.several(key, verdicts))
    always = bits_of.get((), 0)
    tags = [f"{always}L", *(f"IF({name} = {YES}, {bits_of[texts]}L, 0L)" for texts, name in names.items())]
    bad = ["0L", *(f"IF({name} = {FAILS}, {bits_of[texts]}L, 0L)" for texts, name in names.items())]
    takers = "" if within is None else f"{within} & "
    both = [SqlColumn(f"{takers}({' | '.join(texts)})", name) for texts, name in ((tags, TAGS), (bad, BAD))]
    return select(rows, columns.listed([SqlColumn(f"* EXCEPT ({', '.join(names.values())})" if names else "*"), *both]))


def predicate_judge(spark: SparkSession) -> Judge:
    """A judge of predicates, all of which must hold."""
    return lambda predicates: verdict(spark, " AND ".join(f"({text})" for text in predicates))


def computed_texts(tests: Sequence[str], outputs: Sequence[str]) -> list[str]:
    """What a member computes of a row, as expressions to look for a failure in: outputs only where its tests hold.

    >>> computed_texts(["v > 1"], ["1 / v"]), computed_texts([], ["1 / v"])
    (['CASE WHEN (v > 1) THEN struct(1 / v) END'], ['1 / v'])
    """
    if not tests:
        return list(outputs)
    return [f"CASE WHEN {' AND '.join(f'({text})' for text in tests)} THEN struct({', '.join(outputs)}) END"]


def _for_takers(column: Column, bits: int, within: str | None) -> Column:
    return column if within is None else F.when(F.expr(f"({within} & {bits}L) != 0"), column).otherwise(F.lit(NO))


def rows_with_outputs(
    columns: Columns, frame: DataFrame, outputs: GuardedOutputs, refs: Sequence[Ref], keep: Sequence[str]
) -> DataFrame:
    """Judged rows with outputs and the columns `keep`; those on which something fails have their values in `_row`."""
    spark = frame.sparkSession
    key = (*outputs.bits.items(), *refs)
    rows = frame.where(columns.expression(f"{TAGS} != 0 OR {BAD} != 0"))
    rows = select(rows, columns.several(("outputs", key), lambda: [F.col("*"), *outputs.columns(spark)]))

    def selected() -> list[Column]:
        row = F.when(F.expr(f"{BAD} != 0") | outputs.fails(), row_as_json(spark, refs)).alias(ROW)
        return [*(F.col(f"_e{n}") for n in range(len(outputs.bits))), *map(F.col, (*keep, TAGS, BAD)), row]

    return select(rows, columns.several(("rows with outputs", key, *keep), selected))


def collect_union(frames: Sequence[DataFrame]) -> pa.Table:
    """One job: the rows of several frames, with null in columns that a frame lacks."""
    return collect(reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), frames))


def member_rows(table: pa.Table, number: int, names: Sequence[OutputName], schema: pa.Schema) -> pa.Table:
    """A member's results: the rows that it wants and for which all its outputs could be computed."""
    rows = table.filter(pc.and_not(_bit(table, TAGS, number), _fails(table, number, names)))
    columns = result_schema(schema)
    closes = rows[CLOSES] if CLOSES in rows.column_names else pa.nulls(rows.num_rows, columns.field(CLOSES).type)
    arrays = [pc.struct_field(rows[name], "v") if in_struct else rows[name] for name, in_struct in names]
    arrays += [rows[ARRIVAL], closes]
    return pa.table([array.cast(column.type) for array, column in zip(arrays, columns, strict=True)], schema=columns)


@dataclass(frozen=True, slots=True)
class FailureFinder:
    """Finds what failed among a job's rows, and why."""

    sites: Sites
    origin: Origin

    def find(self, table: pa.Table, number: int, site: int, names: Sequence[OutputName] = ()) -> tuple[Failure, ...]:
        """What failed for a member at a site: its predicates, or its outputs in some columns."""
        rows = table.filter(_fails(table, number, names))
        notes = [f"{site} {row or '{}'}" for row in rows[ROW].to_pylist()]
        origins = [self.origin(row) for row in times.rows(rows.drop_columns([ROW]))]
        closes = rows[CLOSES].cast(pa.int64()).to_pylist() if CLOSES in rows.column_names else [None] * rows.num_rows
        failures = zip(origins, self.sites.reasons(notes), notes, closes, strict=True)
        return tuple(Failure(origin, reason, self.sites.row_of(note), end) for origin, reason, note, end in failures)


def _fails(table: pa.Table, number: int, names: Sequence[OutputName]) -> Any:
    wanted, bad = _bit(table, TAGS, number), _bit(table, BAD, number)
    for name, in_struct in names:
        if in_struct:
            bad = pc.or_(bad, pc.and_(wanted, pc.is_null(table[name])))
    return bad


def _bit(table: pa.Table, name: str, number: int) -> Any:
    """Which rows have a member's bit set; where a frame lacked the column, none."""
    bits = pc.bit_wise_and(table[name].fill_null(0), pa.scalar(1 << number, pa.int64()))
    return pc.not_equal(bits, pa.scalar(0, pa.int64()))
