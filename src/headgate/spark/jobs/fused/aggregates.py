"""Aggregates of equal window and keys, each member with predicates, functions and outputs of its own.

Each row is multiplied by the members it is for, then one grouping by window, keys and member does for all. It computes
all members' functions, equal ones once; each member takes its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

import pyarrow as pa
import sqlglot
from pyspark.sql import DataFrame
from sqlglot import exp

from headgate.model import Aggregate
from headgate.plan.sharing import Place
from headgate.plan.template import Template
from headgate.spark.jobs.compile import Catalog, survey_of, window_call
from headgate.spark.jobs.direct import Made, collected, grouped, select
from headgate.spark.jobs.evaluate import Evaluation
from headgate.spark.jobs.fused.rows import IN, micros_of, shipped_for
from headgate.spark.jobs.fused.tags import TAGS, everyones, inside, outputs, predicates, split
from headgate.spark.jobs.guard import PLAIN
from headgate.spark.jobs.reading import Reading
from headgate.spark.jobs.rows import Leaf, Range, Rows, check_kept, read_kept
from headgate.spark.jobs.schemas import ARRIVAL, CLOSES, OFFSET
from headgate.spark.jobs.spans import Span
from headgate.spark.jobs.times import END, START, quoted

MEMBER = "_member"
_BIT = "_bit"


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
    evaluations: tuple[Evaluation, ...]
    schemas: tuple[pa.Schema, ...]
    predicates: tuple[tuple[str, ...], ...]
    functions: tuple[Made, ...]  # all members' aggregates, equal ones once
    above: str  # the tags of a window by the members' predicates on it; empty: they have none
    select: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]

    @classmethod
    def of(
        cls,
        catalog: Catalog,
        templates: Sequence[Template],
        schemas: Sequence[pa.Schema],
        evaluations: Sequence[Evaluation],
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
        select, found = outputs([[_quoted(text, plain) for text in one] for one in wanted], plain)
        return cls(
            catalog,
            core,
            stream.name,
            stream.columns,
            stream.event_time,
            tuple(evaluations),
            tuple(schemas),
            tuple(one.sides[0].predicates for one in templates),
            tuple(Made(text, name) for text, name in functions.items()),
            predicates(above, _BIT) if any(above) else "",
            tuple(select),
            tuple(map(tuple, found)),
        )

    def run(self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows]) -> list[pa.Table]:
        """One job: the windows that close for each member."""
        wanted = [self._wanted(one, each) for one, each in zip(self.evaluations, leaves, strict=True)]
        rows = self._read(logs[self.stream], [one for one in wanted if one is not None])
        if rows is None or not rows.num_rows:
            return [one.hidden_schema.empty_table() for one in self.evaluations]
        offsets, times = rows[OFFSET].to_numpy(), micros_of(rows, self.time)
        bits = inside(offsets, [(0, 0) if one is None else (one.offsets.first, one.offsets.last) for one in wanted])
        bits &= inside(times, [(0, 0) if one is None else (one.times.low, one.times.high + 1) for one in wanted])
        given, within = rows.select([*self.columns, ARRIVAL]), None
        if not everyones(bits, len(wanted)):
            within, given = IN, given.append_column(IN, pa.array(bits))
        table = collected(self._frame(shipped_for(self.catalog.spark, given, meets=True), within))
        return self._ended(split(table, self.names, self.schemas), wanted)

    def write(self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows], aside: Path) -> None:
        """Large trains are for the members one by one."""

    def _frame(self, frame: DataFrame, within: str | None) -> DataFrame:
        """The windows; those whose tags say that no member wants them are among them."""
        core, listed = self.core, self.catalog.columns.listed
        own = [Made(quoted((name,))) for name in (*self.columns, ARRIVAL)]
        members = Made(_members(self.predicates, within), MEMBER)
        rows = select(frame, listed(PLAIN, [*own, members, Made(window_call(core), "_window")]))
        keys = [Made(key.expression, key.name) for key in core.keys]
        values = self.catalog.columns.aggregates(PLAIN, [Made(f"max({ARRIVAL})", ARRIVAL), *self.functions])
        rows = grouped(rows, listed(PLAIN, [Made("_window"), *keys, Made(MEMBER)]), values)
        bit = _BIT if self.above else TAGS
        bounds = [Made("_window.start", *START), Made("_window.end", *END)]
        rows = select(rows, listed(PLAIN, [Made("*"), *bounds, Made(f"shiftleft(1L, {MEMBER})", bit)]))
        if self.above:
            rows = select(rows, listed(PLAIN, [Made("*"), Made(self.above, TAGS)]))
        return select(rows, listed(PLAIN, [*map(Made, self.select), Made(ARRIVAL), Made(END[0], CLOSES), Made(TAGS)]))

    def _wanted(self, evaluation: Evaluation, leaves: Mapping[Place, Leaf]) -> _Wanted | None:
        """What the run in a job of its own would read; None: no window closes."""
        readings = survey_of(evaluation.catalog, evaluation.plan, leaves).readings()
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
