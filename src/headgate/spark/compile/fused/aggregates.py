"""Aggregates of equal window and keys, each member with predicates, functions and outputs of its own.

Each row is multiplied by the members it is for, then one grouping by window, keys and member does for all. It computes
all members' functions, equal ones once; each member takes its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from sqlglot import exp

from headgate.model import Aggregate
from headgate.plan.sharing import Place
from headgate.plan.template import Template
from headgate.spark.compile.event_times import END, START, quoted, reference
from headgate.spark.compile.failure_sites import Sites, row_told
from headgate.spark.compile.fragment_stream import Ref
from headgate.spark.compile.frames import Catalog, survey_of, window_call
from headgate.spark.compile.fused.filters import IN, micros_of, shipped_for
from headgate.spark.compile.fused.row_isolation import (
    BAD,
    ROW,
    Failing,
    Outputs,
    Told,
    computed,
    conditions,
    judged,
    results,
    told_rows,
    united,
)
from headgate.spark.compile.fused.tags import TAGS, everyones, inside, outputs, predicates, split
from headgate.spark.compile.leaf_rows import Leaf, Range, Rows, check_kept, read_kept
from headgate.spark.compile.prepared_query import PreparedQuery
from headgate.spark.compile.quick_frames import NewColumn, collected, grouped, select
from headgate.spark.compile.read_sets import Reading
from headgate.spark.compile.safe_expressions import FAILS, NO, YES, arguments, only_where, safe, total, tried
from headgate.spark.compile.schemas import ARRIVAL, CLOSES, OFFSET
from headgate.spark.compile.time_spans import Span

MEMBER = "_member"
_BIT = "_bit"
_FIRST, _LAST = "_first_offset", "_last_offset"  # of a window's tuples
_OVER = "_over"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a member reads in a run, and the ends of the windows that it emits."""

    offsets: Range
    times: Span
    ends: Span


@dataclass(frozen=True, slots=True)
class FusedAggregates:
    """Tags, one grouping by window, keys and member, then each member's outputs."""

    catalog: Catalog
    core: Aggregate
    stream: str
    columns: tuple[str, ...]
    time: str
    prepared_queries: tuple[PreparedQuery, ...]
    schemas: tuple[pa.Schema, ...]
    predicates: tuple[tuple[str, ...], ...]
    functions: tuple[NewColumn, ...]  # all members' aggregates, equal ones once
    above: str  # the tags of a window by the members' predicates on it; empty: they have none
    select: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    tests: tuple[tuple[str, ...], ...]  # each member's predicates on windows
    wanted: tuple[tuple[str, ...], ...]  # what each member computes of a window
    plain: tuple[str, ...]  # columns of a window as they are
    own: tuple[tuple[str, ...], ...]  # names of each member's functions
    sites: Sites

    @classmethod
    def of(
        cls,
        catalog: Catalog,
        templates: Sequence[Template],
        schemas: Sequence[pa.Schema],
        prepared_queries: Sequence[PreparedQuery],
    ) -> FusedAggregates:
        core = templates[0].core
        assert isinstance(core, Aggregate)
        stream = catalog.streams[templates[0].sides[0].source.stream]
        assert stream.event_time is not None
        functions: dict[str, str] = {}
        for one in _cores(templates):
            for column in one.aggregates:
                functions.setdefault(column.expression, f"_a{len(functions)}")
        renamed = [
            {column.name: functions[column.expression] for column in one.aggregates} for one in _cores(templates)
        ]
        given = [(*START, *END, *(key.name for key in core.keys))] * len(templates)
        wanted = [
            [_with(text, names) for text in _outputs(one, [*shared, *names])]
            for one, shared, names in zip(templates, given, renamed, strict=True)
        ]
        above = [[_with(text, names) for text in one.above] for one, names in zip(templates, renamed, strict=True)]
        plain = [quoted((name,)) for name in (*given[0], *functions.values())]
        asked = [[_quoted(text, plain) for text in one] for one in wanted]
        select, found = outputs(asked, plain)
        return cls(
            catalog,
            core,
            stream.name,
            stream.columns,
            stream.event_time,
            tuple(prepared_queries),
            tuple(schemas),
            tuple(one.sides[0].predicates for one in templates),
            tuple(NewColumn(text, name) for text, name in functions.items()),
            predicates(above, _BIT) if any(above) else "",
            tuple(select),
            tuple(map(tuple, found)),
            tuple(map(tuple, above)),
            tuple(map(tuple, asked)),
            tuple(plain),
            tuple(tuple(names.values()) for names in renamed),
            Sites(catalog.spark),
        )

    def run(self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows]) -> list[pa.Table]:
        """One job: the windows that close for each member."""
        wanted = [self._wanted(one, each) for one, each in zip(self.prepared_queries, leaves, strict=True)]
        rows = self._read(logs[self.stream], [one for one in wanted if one is not None])
        if rows is None or not rows.num_rows:
            return [one.hidden_schema.empty_table() for one in self.prepared_queries]
        given, within = self._given(rows, wanted, [*self.columns, ARRIVAL])
        table = collected(self._frame(shipped_for(self.catalog.spark, given, meets=True), within))
        return self._ended(split(table, self.names, self.schemas), wanted)

    def run_careful(self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows]) -> list[Told]:
        """The same, with what failed for each member."""
        wanted = [self._wanted(one, each) for one, each in zip(self.prepared_queries, leaves, strict=True)]
        rows = self._read(logs[self.stream], [one for one in wanted if one is not None])
        if rows is None or not rows.num_rows:
            return [(one.hidden_schema.empty_table(), ()) for one in self.prepared_queries]
        given, within = self._given(rows, wanted, [*self.columns, ARRIVAL, OFFSET])
        found = CarefulAggregates(self).run(shipped_for(self.catalog.spark, given, meets=True), within)
        tables = self._ended([table for table, _ in found], wanted)
        ends = [(inf, -inf) if one is None else (one.ends.low, one.ends.high) for one in wanted]
        return [
            (table, tuple(one for one in failures if one.closes is None or low <= one.closes <= high))
            for table, (_, failures), (low, high) in zip(tables, found, ends, strict=True)
        ]

    def _given(
        self, rows: pa.Table, wanted: Sequence[_Wanted | None], columns: list[str]
    ) -> tuple[pa.Table, str | None]:
        """The rows that members take, and the column that tells whose each is, unless each is everyone's."""
        offsets, times = rows[OFFSET].to_numpy(), micros_of(rows, self.time)
        bits = inside(offsets, [(0, 0) if one is None else (one.offsets.first, one.offsets.last) for one in wanted])
        bits &= inside(times, [(0, 0) if one is None else (one.times.low, one.times.high + 1) for one in wanted])
        given = rows.select(columns)
        if everyones(bits, len(wanted)):
            return given, None
        return given.append_column(IN, pa.array(bits)), IN

    def write(self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows], aside: Path) -> None:
        """Large trains are for the members one by one."""

    def _frame(self, frame: DataFrame, within: str | None) -> DataFrame:
        """The windows; those whose tags say that no member wants them are among them."""
        core, listed = self.core, self.catalog.columns.listed
        own = [NewColumn(quoted((name,))) for name in (*self.columns, ARRIVAL)]
        members = NewColumn(_members(self.predicates, within), MEMBER)
        rows = select(frame, listed([*own, members, NewColumn(window_call(core), "_window")]))
        keys = [NewColumn(key.expression, key.name) for key in core.keys]
        values = self.catalog.columns.aggregates([NewColumn(f"max({ARRIVAL})", ARRIVAL), *self.functions])
        rows = grouped(rows, listed([NewColumn("_window"), *keys, NewColumn(MEMBER)]), values)
        bit = _BIT if self.above else TAGS
        bounds = [NewColumn("_window.start", *START), NewColumn("_window.end", *END)]
        rows = select(rows, listed([NewColumn("*"), *bounds, NewColumn(f"shiftleft(1L, {MEMBER})", bit)]))
        if self.above:
            rows = select(rows, listed([NewColumn("*"), NewColumn(self.above, TAGS)]))
        return select(
            rows, listed([*map(NewColumn, self.select), NewColumn(ARRIVAL), NewColumn(END[0], CLOSES), NewColumn(TAGS)])
        )

    def _wanted(self, prepared: PreparedQuery, leaves: Mapping[Place, Leaf]) -> _Wanted | None:
        """What the run in a job of its own would read; None: no window closes."""
        readings = survey_of(prepared.catalog, prepared.plan, leaves).readings()
        if not readings:
            return None
        ends, source = _found(readings[0])
        (times,) = source.times.values()
        return _Wanted(source.offsets, times, ends)

    def _read(self, log: Rows, wanted: Sequence[_Wanted]) -> pa.Table | None:
        if not wanted:
            return None
        last = max(one.offsets.last for one in wanted)
        low, high = min(one.times.low for one in wanted), max(one.times.high for one in wanted)
        begin = min(one.offsets.first for one in wanted)
        rows = read_kept(log, begin, lambda first: log.read_window(first, last, low, high))
        for one in wanted:
            check_kept(log, self.stream, one.offsets.first, {self.time: one.times.low})
        return rows

    def _ended(self, tables: Sequence[pa.Table], wanted: Sequence[_Wanted | None]) -> list[pa.Table]:
        """Only the windows that close for a member: at the edges of what it reads others are cut off."""
        found = []
        for table, one in zip(tables, wanted, strict=True):
            low, high = (inf, -inf) if one is None else (one.ends.low, one.ends.high)
            ends = table[CLOSES].cast(pa.int64()).to_numpy()
            found.append(table.filter(pa.array((ends >= low) & (ends <= high), pa.bool_())))
        return found


@dataclass(frozen=True, slots=True)
class CarefulAggregates:
    """The job of a group in which expressions fail for a row, or a window, and one member alone."""

    group: FusedAggregates

    def run(self, frame: DataFrame, within: str | None) -> list[Told]:
        """What each member gets, of windows that close and others."""
        group, spark = self.group, self.group.catalog.spark
        refs = [(name,) for name in group.columns]
        columns = group.catalog.columns
        rows = judged(columns, frame, self._risks(), within, lambda risk: _judged(spark, risk))
        windows = self._windows(rows)
        above = judged(columns, windows, group.tests, _BIT, conditions(spark))
        bad = " | ".join([BAD, *self._overflows()])
        both = [NewColumn(bad, BAD), NewColumn(f"{TAGS} & ~({bad})", TAGS)]
        above = select(above, columns.listed([NewColumn(f"* EXCEPT ({TAGS}, {BAD})"), *both]))
        own = [reference(text) for text in group.plain]
        made = Outputs.of(group.wanted, group.plain)
        found = told_rows(columns, above, made, own, [ARRIVAL, CLOSES, _FIRST, _LAST])
        table, failing = united([found, self._bad(rows, refs)]), Failing(group.sites, self._origin)
        of_rows, of_windows = (table.filter(test(table[CLOSES])) for test in (pc.is_null, pc.is_valid))
        told = []
        for number, (tests, wanted) in enumerate(zip(group.tests, group.wanted, strict=True)):
            names = made.names(wanted)
            row = group.sites.number(frame, refs, [_text(self._risks()[number])])
            window = group.sites.number(windows, own, computed(tests, wanted))
            failures = (*failing.found(of_rows, number, row), *failing.found(of_windows, number, window, names))
            told.append((results(of_windows, number, names, group.schemas[number]), failures))
        return told

    def _bad(self, rows: DataFrame, refs: Sequence[Ref]) -> DataFrame:
        """Rows that fail before they come into windows."""
        columns, spark = self.group.catalog.columns, self.group.catalog.spark

        def told() -> list[Column]:
            none, offset = F.lit(0).cast("long").alias(TAGS), F.col(OFFSET).alias(_FIRST)
            return [F.col(ARRIVAL), F.col(BAD), none, offset, row_told(spark, refs).alias(ROW)]

        return select(rows.where(columns.one(f"{BAD} != 0")), columns.several("bad rows", told))

    def _risks(self) -> list[tuple[str, ...]]:
        """Each member's predicates on rows, and last what its keys and functions compute of a row, as a struct."""
        group = self.group
        keys = [key.expression for key in group.core.keys]
        functions = {made.name: made.text for made in group.functions}
        found = []
        for tests, names in zip(group.predicates, group.own, strict=True):
            texts = [*keys, *(text for name in names for text in arguments(functions[name]))]
            risky = [text for text in dict.fromkeys(texts) if not safe(text)]
            found.append((*tests, f"struct({', '.join(risky)})") if risky else (*tests, "") if tests else ())
        return found

    def _windows(self, rows: DataFrame) -> DataFrame:
        group, columns = self.group, self.group.catalog.columns
        members = ", ".join(f"CASE WHEN ({TAGS} & {1 << n}L) != 0 THEN {n} END" for n in range(len(group.wanted)))
        own = [NewColumn(quoted((name,))) for name in (*group.columns, ARRIVAL, OFFSET)]
        exploded = NewColumn(f"explode(array_compact(array({members})))", MEMBER)
        good = select(rows, columns.listed([*own, exploded, NewColumn(window_call(group.core), "_window")]))
        keys = [NewColumn(key.expression, key.name) for key in group.core.keys]
        values = []
        for made in group.functions:
            owners = ", ".join(str(n) for n, names in enumerate(group.own) if made.name in names)
            text, test = total(only_where(made.text, f"{MEMBER} IN ({owners})"))  # on others' rows it may fail
            values += [NewColumn(text, made.name), NewColumn(test or "FALSE", made.name + _OVER)]
        ends = [
            NewColumn(f"max({ARRIVAL})", ARRIVAL),
            NewColumn(f"min({OFFSET})", _FIRST),
            NewColumn(f"max({OFFSET})", _LAST),
        ]
        windows = grouped(
            good, columns.listed([NewColumn("_window"), *keys, NewColumn(MEMBER)]), columns.aggregates([*ends, *values])
        )
        bounds = [NewColumn("_window.start", *START), NewColumn("_window.end", *END), NewColumn("_window.end", CLOSES)]
        return select(windows, columns.listed([NewColumn("*"), *bounds, NewColumn(f"shiftleft(1L, {MEMBER})", _BIT)]))

    def _overflows(self) -> list[str]:
        """The members for whom a sum of a window is too large."""
        texts = {made.name: made.text for made in self.group.functions}
        return [
            f"IF({_BIT} = {1 << number}L AND {name}{_OVER}, {1 << number}L, 0L)"
            for number, names in enumerate(self.group.own)
            for name in names
            if total(texts[name])[1]
        ]

    def _origin(self, row: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
        ends = (row[_FIRST], row[_FIRST] if row[_LAST] is None else row[_LAST])
        return tuple((self.group.stream, offset) for offset in dict.fromkeys(ends))


def _judged(spark: SparkSession, risk: Sequence[str]) -> Column:
    """What a member's predicates say of a row, and whether what it computes fails."""
    computed = tried(spark, f"struct({_text(risk)} AS said)")
    said = computed.getField("said")
    return F.when(computed.isNull(), F.lit(FAILS)).when(said.isNull(), F.lit(NO)).otherwise(F.lit(YES))


def _text(risk: Sequence[str]) -> str:
    """Null for a row that a member does not want.

    >>> _text(["v > 1", "struct(1 / v)"]), _text(["v > 1", ""])
    ('CASE WHEN (v > 1) THEN struct(1 / v) END', 'CASE WHEN (v > 1) THEN struct(1) END')
    """
    if not risk:
        return "struct(1)"
    *tests, last = risk
    value = last or "struct(1)"
    return f"CASE WHEN {' AND '.join(f'({text})' for text in tests)} THEN {value} END" if tests else value


def _members(texts: Sequence[Sequence[str]], within: str | None) -> str:
    """A row for each member that wants it.

    >>> _members([["v > 1"], []], None)
    'explode(array_compact(array(CASE WHEN (v > 1) THEN 0 END, 1)))'
    """

    def choice(number: int, found: Sequence[str]) -> str:
        own = () if within is None else (f"({within} & {1 << number}L) != 0",)
        tests = (*own, *(f"({text})" for text in found))
        return f"CASE WHEN {' AND '.join(tests)} THEN {number} END" if tests else str(number)

    return f"explode(array_compact(array({', '.join(choice(n, found) for n, found in enumerate(texts))})))"


def _cores(templates: Sequence[Template]) -> list[Aggregate]:
    return [one.core for one in templates if isinstance(one.core, Aggregate)]


def _outputs(one: Template, everything: Sequence[str]) -> list[str]:
    if one.outputs is None:
        return [quoted((name,)) for name in everything]
    return [column.expression for column in one.outputs]


def _with(text: str, names: Mapping[str, str]) -> str:
    """An expression with some columns called otherwise.

    >>> _with("count > 1 AND id = 2", {"count": "_a0"})
    '_a0 > 1 AND id = 2'
    """

    def rename(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not node.table and node.name in names:
            return exp.column(names[node.name])
        return node

    return sqlglot.parse_one(text, dialect="spark").transform(rename).sql(dialect="spark")


def _quoted(text: str, plain: Sequence[str]) -> str:
    return f"`{text}`" if f"`{text}`" in plain else text


def _found(reading: Reading) -> tuple[Span, Reading]:
    """The ends of an aggregate's windows, and what is read of its stream."""
    ends = Span()
    while reading.inputs:
        if isinstance(reading.node, Aggregate):
            ends = reading.span
        (reading,) = reading.inputs
    return ends, reading
