"""Runs of a group in which an expression that fails on a row fails for that row and that member alone.

As in `tags`, with a second set of bits: `_bad` tells the members whose predicates fail on a row. What a member computes
of a row that it wants comes as a struct, which is null where that fails. The driver tells results from failures.
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

from headgate.spark.compile.failure_sites import Sites, row_told
from headgate.spark.compile.fragment_stream import Ref
from headgate.spark.compile.fused.tags import TAGS
from headgate.spark.compile.prepared_query import Failure
from headgate.spark.compile.quick_frames import Columns, NewColumn, collected, select
from headgate.spark.compile.safe_expressions import ALIVE, FAILS, NO, YES, pinned, tried, verdict
from headgate.spark.compile.schemas import ARRIVAL, CLOSES, result_schema

BAD, ROW = "_bad", "_row"
Told = tuple[pa.Table, tuple[Failure, ...]]  # a member's results, and what failed for it
Origin = Callable[[Mapping[str, Any]], tuple[tuple[str, int], ...]]  # the tuples that a failing row was made of


@dataclass(frozen=True, slots=True)
class Outputs:
    """What members compute of rows that they want: equal expressions once."""

    wanted: Mapping[str, int]  # by expression: the bits of the members that want it
    plain: frozenset[str]  # columns as they are

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], plain: Sequence[str]) -> Outputs:
        wanted: dict[str, int] = {}
        for number, found in enumerate(texts):
            for text in found:
                wanted[text] = wanted.get(text, 0) | 1 << number
        return cls(wanted, frozenset(plain))

    def columns(self, spark: SparkSession) -> list[Column]:
        """All of them, as `_e0`, `_e1` and so on."""
        return [self._column(spark, text, bits).alias(f"_e{n}") for n, (text, bits) in enumerate(self.wanted.items())]

    def fails(self) -> Column:
        """Whether one of them fails on a row for a member that wants it."""
        tests = [
            F.expr(f"({TAGS} & {bits}L) != 0 AND _e{n} IS NULL")
            for n, (text, bits) in enumerate(self.wanted.items())
            if text not in self.plain
        ]
        return reduce(lambda one, other: one | other, tests, F.lit(False))

    def names(self, texts: Sequence[str]) -> list[tuple[str, bool]]:
        """The columns of a member's outputs, and whether each is a struct."""
        numbers = {text: n for n, text in enumerate(self.wanted)}
        return [(f"_e{numbers[text]}", text not in self.plain) for text in texts]

    def _column(self, spark: SparkSession, text: str, bits: int) -> Column:
        if text in self.plain:
            return F.expr(text)
        return tried(spark, f"struct({text} AS v)", f"{ALIVE} AND ({TAGS} & {bits}L) != 0")


def judged(
    columns: Columns,
    frame: DataFrame,
    texts: Sequence[Sequence[str]],
    within: str | None,
    judge: Callable[[Sequence[str]], Column],
) -> DataFrame:
    """Rows with the members that want them in `_tags`, and those for whom they fail in `_bad`."""
    alike: dict[tuple[str, ...], int] = {}  # what several members ask is asked once
    for number, found in enumerate(texts):
        alike[tuple(found)] = alike.get(tuple(found), 0) | 1 << number
    asked = {found: f"_v{n}" for n, found in enumerate(alike) if found}

    def said() -> list[Column]:
        found = [pinned(_own(judge(texts), alike[texts], within)).alias(name) for texts, name in asked.items()]
        return [F.col("*"), *found]

    # With bits and names: another group of the same first member may ask the same for other members.
    key = ("judged", judge.__qualname__, within, *((found, alike[found], name) for found, name in asked.items()))
    rows = select(frame, columns.several(key, said))
    always = sum(bits for found, bits in alike.items() if not found)
    tags = [f"{always}L", *(f"IF({asked[found]} = {YES}, {bits}L, 0L)" for found, bits in alike.items() if found)]
    bad = ["0L", *(f"IF({asked[found]} = {FAILS}, {bits}L, 0L)" for found, bits in alike.items() if found)]
    mine = "" if within is None else f"{within} & "
    told = [NewColumn(f"{mine}({' | '.join(each)})", name) for each, name in ((tags, TAGS), (bad, BAD))]
    return select(rows, columns.listed([NewColumn(f"* EXCEPT ({', '.join(asked.values())})" if asked else "*"), *told]))


def conditions(spark: SparkSession) -> Callable[[Sequence[str]], Column]:
    """What predicates say of a row: NO, YES or FAILS."""
    return lambda found: verdict(spark, " AND ".join(f"({text})" for text in found))


def computed(tests: Sequence[str], outputs: Sequence[str]) -> list[str]:
    """What a member computes of a row, as one expression: outputs only where its tests hold.

    >>> computed(["v > 1"], ["1 / v"]), computed([], ["1 / v"])
    (['CASE WHEN (v > 1) THEN struct(1 / v) END'], ['1 / v'])
    """
    if not tests:
        return list(outputs)
    return [f"CASE WHEN {' AND '.join(f'({text})' for text in tests)} THEN struct({', '.join(outputs)}) END"]


def _own(column: Column, bits: int, within: str | None) -> Column:
    return column if within is None else F.when(F.expr(f"({within} & {bits}L) != 0"), column).otherwise(F.lit(NO))


def told_rows(
    columns: Columns, frame: DataFrame, outputs: Outputs, refs: Sequence[Ref], keep: Sequence[str]
) -> DataFrame:
    """Judged rows with outputs and some columns; those on which something fails tell what they hold in `_row`."""
    spark = frame.sparkSession
    key = (*outputs.wanted.items(), *refs)
    rows = frame.where(columns.one(f"{TAGS} != 0 OR {BAD} != 0"))
    rows = select(rows, columns.several(("outputs", key), lambda: [F.col("*"), *outputs.columns(spark)]))

    def told() -> list[Column]:
        row = F.when(F.expr(f"{BAD} != 0") | outputs.fails(), row_told(spark, refs)).alias(ROW)
        return [*(F.col(f"_e{n}") for n in range(len(outputs.wanted))), *map(F.col, (*keep, TAGS, BAD)), row]

    return select(rows, columns.several(("told", key, *keep), told))


def united(frames: Sequence[DataFrame]) -> pa.Table:
    """One job: rows of several frames; null where one lacks a column."""
    return collected(reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames))


def results(table: pa.Table, number: int, names: Sequence[tuple[str, bool]], schema: pa.Schema) -> pa.Table:
    """A member's results: the rows that it wants and of which all that it computes has a value."""
    rows = table.filter(pc.and_not(_bit(table, TAGS, number), _fails(table, number, names)))
    whole = result_schema(schema)
    closes = rows[CLOSES] if CLOSES in rows.column_names else pa.nulls(rows.num_rows, whole.field(CLOSES).type)
    arrays = [pc.struct_field(rows[name], "v") if guarded else rows[name] for name, guarded in names]
    arrays += [rows[ARRIVAL], closes]
    return pa.table([each.cast(one.type) for each, one in zip(arrays, whole, strict=True)], schema=whole)


@dataclass(frozen=True, slots=True)
class Failing:
    """Finds what failed among a job's rows, and why."""

    sites: Sites
    origin: Origin

    def found(
        self, table: pa.Table, number: int, site: int, names: Sequence[tuple[str, bool]] = ()
    ) -> tuple[Failure, ...]:
        """What failed for a member at a site: its predicates, or what it computes in some columns."""
        rows = table.filter(_fails(table, number, names))
        notes = [f"{site} {row or '{}'}" for row in rows[ROW].to_pylist()]
        origins = [self.origin(row) for row in rows.drop_columns([ROW]).to_pylist()]
        closes = rows[CLOSES].cast(pa.int64()).to_pylist() if CLOSES in rows.column_names else [None] * rows.num_rows
        found = zip(origins, self.sites.reasons(notes), notes, closes, strict=True)
        return tuple(Failure(origin, reason, self.sites.held(note), end) for origin, reason, note, end in found)


def _fails(table: pa.Table, number: int, names: Sequence[tuple[str, bool]]) -> Any:
    wanted, bad = _bit(table, TAGS, number), _bit(table, BAD, number)
    for name, guarded in names:
        if guarded:
            bad = pc.or_(bad, pc.and_(wanted, pc.is_null(table[name])))
    return bad


def _bit(table: pa.Table, name: str, number: int) -> Any:
    """Whose rows they are; none where a frame does not say."""
    bits = pc.bit_wise_and(table[name].fill_null(0), pa.scalar(1 << number, pa.int64()))
    return pc.not_equal(bits, pa.scalar(0, pa.int64()))
