"""Aggregates of equal window and keys, each member with predicates, functions and outputs of its own.

Each row is multiplied by the members it is for, then one grouping by window, keys and member does for all. It computes
all members' functions, equal ones once; each member takes its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import pyarrow as pa
import sqlglot
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from sqlglot import exp

from headgate.model import Aggregate
from headgate.plan.sharing import Place
from headgate.plan.template import Template
from headgate.spark.jobs.compile import Catalog, survey_of, window_call
from headgate.spark.jobs.evaluate import Evaluation
from headgate.spark.jobs.fused.rows import IN, made, micros_of
from headgate.spark.jobs.fused.tags import TAGS, inside, outputs, predicates, split
from headgate.spark.jobs.reading import Reading
from headgate.spark.jobs.rows import Leaf, Range, Rows
from headgate.spark.jobs.schemas import ARRIVAL, CLOSES, OFFSET
from headgate.spark.jobs.spans import Span
from headgate.spark.jobs.times import END, START, quoted

MEMBER = "_member"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a member reads in a run, and the ends of the windows that it emits."""

    offsets: Range
    times: Span
    ends: Span


@dataclass(frozen=True, slots=True)
class FusedAggregates:
    """Tags, one grouping by window, keys and member, then each member's outputs."""

    spark: SparkSession
    core: Aggregate
    stream: str
    columns: tuple[str, ...]
    time: str
    evaluations: tuple[Evaluation, ...]
    schemas: tuple[pa.Schema, ...]
    tags: str
    functions: tuple[str, ...]  # all members' aggregates, equal ones once
    above: str
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
        own = [one.sides[0].predicates for one in templates]
        choices = [
            f"CASE WHEN ({IN} & {1 << n}L) != 0{''.join(f' AND ({text})' for text in texts)} THEN {n} END"
            for n, texts in enumerate(own)
        ]
        return cls(
            catalog.spark,
            core,
            stream.name,
            stream.columns,
            stream.event_time,
            tuple(evaluations),
            tuple(schemas),
            f"explode(array_compact(array({', '.join(choices)}))) AS {MEMBER}",
            tuple(f"{text} AS {name}" for text, name in functions.items()),
            predicates(above, "_bit"),
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
        given = rows.select([*self.columns, ARRIVAL]).append_column(IN, pa.array(bits))
        table = self._frame(given).toArrow()
        return self._ended(split(table, self.names, self.schemas), wanted)

    def _frame(self, given: pa.Table):  # type: ignore[no-untyped-def]
        core = self.core
        keys = [F.expr(key.expression).alias(key.name) for key in core.keys]
        values = [F.expr(text) for text in self.functions]
        tagged = made(self.spark, given).selectExpr("*", self.tags, f"{window_call(core)} AS _window")
        grouped = tagged.groupBy("_window", *keys, MEMBER).agg(*values, F.max(ARRIVAL).alias(ARRIVAL))
        bounds = [f"_window.start AS {START[0]}", f"_window.end AS {END[0]}"]
        named = grouped.selectExpr("*", *bounds, f"shiftleft(1L, {MEMBER}) AS _bit")
        tagged = named.selectExpr("*", f"{self.above} AS {TAGS}").where(f"{TAGS} != 0")
        return tagged.selectExpr(*self.select, ARRIVAL, f"{END[0]} AS {CLOSES}", TAGS)

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
        first = max(log.start, min(one.offsets.first for one in wanted))
        last = max(one.offsets.last for one in wanted)
        low, high = min(one.times.low for one in wanted), max(one.times.high for one in wanted)
        return log.read_window(first, last, low, high)

    def _ended(self, tables: Sequence[pa.Table], wanted: Sequence[_Wanted | None]) -> list[pa.Table]:
        """Only the windows that close for a member: at the edges of what it reads others are cut off."""
        found = []
        for table, one in zip(tables, wanted, strict=True):
            low, high = (inf, -inf) if one is None else (one.ends.low, one.ends.high)
            ends = table[CLOSES].cast(pa.int64()).to_numpy()
            found.append(table.filter(pa.array((ends >= low) & (ends <= high), pa.bool_())))
        return found


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
