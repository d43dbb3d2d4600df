"""Row isolation for fused aggregates: an expression fails for a row, or a window, and one member alone.

Rows are judged before they are grouped: one on which a member's predicates, keys or function arguments fail comes into
none of its windows. Windows are judged by the members' predicates on windows, their outputs, and sums that overflow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from headgate.spark.compile.event_time_columns import END, START, quoted, reference
from headgate.spark.compile.failure_sites import row_as_json
from headgate.spark.compile.fragment_stream import Ref
from headgate.spark.compile.fused.registry import MemberResult
from headgate.spark.compile.fused.row_isolation import (
    BAD,
    ROW,
    FailureFinder,
    GuardedOutputs,
    collect_union,
    computed_texts,
    judge_rows,
    member_rows,
    predicate_judge,
    rows_with_outputs,
)
from headgate.spark.compile.fused.tags import BIT, MEMBER, TAGS
from headgate.spark.compile.quick_frames import SqlColumn, group_by, select
from headgate.spark.compile.safe_expressions import (
    FAILS,
    NO,
    YES,
    arguments,
    is_safe,
    only_where,
    overflow_safe,
    try_eval,
)
from headgate.spark.compile.schemas import ARRIVAL, CLOSES, OFFSET
from headgate.spark.compile.sql_text import window_call

if TYPE_CHECKING:
    from headgate.spark.compile.fused.aggregates import FusedAggregates

_FIRST, _LAST = "_first_offset", "_last_offset"  # of a window's tuples
_OVER = "_over"  # suffix of the column that says whether a sum overflows


@dataclass(frozen=True, slots=True)
class IsolatingAggregates:
    """The job of a group of aggregates in which expressions may fail."""

    group: FusedAggregates

    def run(self, frame: DataFrame, within: str | None) -> list[MemberResult]:
        """What each member gets, of windows that close and others."""
        group, spark = self.group, self.group.catalog.spark
        refs = [(name,) for name in group.columns]
        columns, risks = group.catalog.columns, self._risks()
        rows = judge_rows(columns, frame, risks, within, lambda risk: _judge_risk(spark, risk))
        windows = self._windows(rows)
        judged = judge_rows(columns, windows, group.tests, BIT, predicate_judge(spark))
        bad = " | ".join([BAD, *self._overflows()])
        both = [SqlColumn(bad, BAD), SqlColumn(f"{TAGS} & ~({bad})", TAGS)]
        judged = select(judged, columns.listed([SqlColumn(f"* EXCEPT ({TAGS}, {BAD})"), *both]))
        window_refs = [reference(text) for text in group.plain]
        guarded = GuardedOutputs.of(group.outputs, group.plain)
        computed = rows_with_outputs(columns, judged, guarded, window_refs, [ARRIVAL, CLOSES, _FIRST, _LAST])
        table = collect_union([computed, self._failing_rows(rows, refs)])
        finder = FailureFinder(group.sites, self._origin)
        of_rows, of_windows = (table.filter(test(table[CLOSES])) for test in (pc.is_null, pc.is_valid))
        results = []
        for number, (tests, outputs) in enumerate(zip(group.tests, group.outputs, strict=True)):
            names = guarded.names(outputs)
            row_site = group.sites.number(frame, refs, [_risk_text(risks[number])])
            window_site = group.sites.number(windows, window_refs, computed_texts(tests, outputs))
            failures = finder.find(of_rows, number, row_site) + finder.find(of_windows, number, window_site, names)
            results.append(MemberResult(member_rows(of_windows, number, names, group.schemas[number]), failures))
        return results

    def _failing_rows(self, rows: DataFrame, refs: Sequence[Ref]) -> DataFrame:
        """Rows that fail before they come into windows."""
        columns, spark = self.group.catalog.columns, self.group.catalog.spark

        def selected() -> list[Column]:
            no_tags, offset = F.lit(0).cast("long").alias(TAGS), F.col(OFFSET).alias(_FIRST)
            return [F.col(ARRIVAL), F.col(BAD), no_tags, offset, row_as_json(spark, refs).alias(ROW)]

        return select(rows.where(columns.expression(f"{BAD} != 0")), columns.several("bad rows", selected))

    def _risks(self) -> list[tuple[str, ...]]:
        """Each member's predicates on rows, and last what its keys and functions compute of a row, as a struct."""
        group = self.group
        keys = [key.expression for key in group.core.keys]
        functions = {function.name: function.text for function in group.functions}
        risks: list[tuple[str, ...]] = []
        for tests, names in zip(group.predicates, group.own_functions, strict=True):
            texts = [*keys, *(text for name in names for text in arguments(functions[name]))]
            risky = [text for text in dict.fromkeys(texts) if not is_safe(text)]
            risks.append((*tests, f"struct({', '.join(risky)})") if risky else (*tests, "") if tests else ())
        return risks

    def _windows(self, rows: DataFrame) -> DataFrame:
        group, columns = self.group, self.group.catalog.columns
        members = ", ".join(f"CASE WHEN ({TAGS} & {1 << n}L) != 0 THEN {n} END" for n in range(len(group.outputs)))
        own = [SqlColumn(quoted((name,))) for name in (*group.columns, ARRIVAL, OFFSET)]
        exploded = SqlColumn(f"explode(array_compact(array({members})))", MEMBER)
        good = select(rows, columns.listed([*own, exploded, SqlColumn(window_call(group.core), "_window")]))
        keys = [SqlColumn(key.expression, key.name) for key in group.core.keys]
        values = []
        for function in group.functions:
            owners = ", ".join(str(n) for n, names in enumerate(group.own_functions) if function.name in names)
            # On rows of other members it may fail.
            text, test = overflow_safe(only_where(function.text, f"{MEMBER} IN ({owners})"))
            values += [SqlColumn(text, function.name), SqlColumn(test or "FALSE", function.name + _OVER)]
        ends = [
            SqlColumn(f"max({ARRIVAL})", ARRIVAL),
            SqlColumn(f"min({OFFSET})", _FIRST),
            SqlColumn(f"max({OFFSET})", _LAST),
        ]
        windows = group_by(
            good, columns.listed([SqlColumn("_window"), *keys, SqlColumn(MEMBER)]), columns.aggregates([*ends, *values])
        )
        bounds = [SqlColumn("_window.start", *START), SqlColumn("_window.end", *END), SqlColumn("_window.end", CLOSES)]
        return select(windows, columns.listed([SqlColumn("*"), *bounds, SqlColumn(f"shiftleft(1L, {MEMBER})", BIT)]))

    def _overflows(self) -> list[str]:
        """The members for whom a sum of a window overflows, as bits in SQL."""
        texts = {function.name: function.text for function in self.group.functions}
        return [
            f"IF({BIT} = {1 << number}L AND {name}{_OVER}, {1 << number}L, 0L)"
            for number, names in enumerate(self.group.own_functions)
            for name in names
            if overflow_safe(texts[name])[1]
        ]

    def _origin(self, row: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
        ends = (row[_FIRST], row[_FIRST] if row[_LAST] is None else row[_LAST])
        return tuple((self.group.stream, offset) for offset in dict.fromkeys(ends))


def _judge_risk(spark: SparkSession, risk: Sequence[str]) -> Column:
    """The verdict of a member's predicates on a row, and FAILS where what it computes of the row fails."""
    computed = try_eval(spark, f"struct({_risk_text(risk)} AS said)")
    value = computed.getField("said")
    return F.when(computed.isNull(), F.lit(FAILS)).when(value.isNull(), F.lit(NO)).otherwise(F.lit(YES))


def _risk_text(risk: Sequence[str]) -> str:
    """One of `_risks` as one expression; null for a row that the member does not want.

    >>> _risk_text(["v > 1", "struct(1 / v)"]), _risk_text(["v > 1", ""])
    ('CASE WHEN (v > 1) THEN struct(1 / v) END', 'CASE WHEN (v > 1) THEN struct(1) END')
    """
    if not risk:
        return "struct(1)"
    *tests, last = risk
    value = last or "struct(1)"
    return f"CASE WHEN {' AND '.join(f'({text})' for text in tests)} THEN {value} END" if tests else value
