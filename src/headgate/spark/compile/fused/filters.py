"""The fused form of filters and projections over one stream: one pass that tags each row with the members it is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from headgate.model import Source
from headgate.plan.places import Place
from headgate.spark.compile.event_time_columns import quoted
from headgate.spark.compile.executor_reads import sealed_rows
from headgate.spark.compile.executor_writes import Written
from headgate.spark.compile.failure_sites import Sites
from headgate.spark.compile.frames import Catalog
from headgate.spark.compile.fused.executor_writes import takers_by_offset, write_members
from headgate.spark.compile.fused.input_rows import read_union, ship_rows
from headgate.spark.compile.fused.registry import Member, MemberResult, register
from headgate.spark.compile.fused.row_isolation import (
    FailureFinder,
    GuardedOutputs,
    collect_union,
    computed_texts,
    judge_rows,
    member_rows,
    predicate_judge,
    rows_with_outputs,
)
from headgate.spark.compile.fused.tags import (
    IN,
    TAGS,
    pinned,
    select_outputs,
    span_bits,
    split_by_member,
    tag_expression,
    with_takers,
)
from headgate.spark.compile.leaf_rows import Leaves, Logs, Range
from headgate.spark.compile.quick_frames import SqlColumn, collect, select
from headgate.spark.compile.schemas import ARRIVAL, OFFSET
from headgate.spark.jvm.settings import for_many_rows

FEW = 5_000  # rows that come back faster than a filter in the job is prepared


@register(Source)
@dataclass(frozen=True, slots=True)
class FusedFilters:
    """Filters and projections of several members over one stream."""

    catalog: Catalog
    stream: str
    columns: tuple[str, ...]
    places: tuple[Place, ...]  # of the members' leaves
    schemas: tuple[pa.Schema, ...]
    predicates: tuple[tuple[str, ...], ...]
    select: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]  # each member's columns of the selection
    outputs: tuple[tuple[str, ...], ...]  # what each member computes
    plain: tuple[str, ...]  # columns as they are
    sites: Sites

    @classmethod
    def of(cls, catalog: Catalog, members: Sequence[Member]) -> FusedFilters:
        templates = [member.template for member in members]
        stream = catalog.streams[templates[0].sides[0].source.stream]
        plain = [quoted((name,)) for name in stream.columns]
        quoted_of = dict(zip(stream.columns, plain, strict=True))
        outputs = [
            plain
            if template.outputs is None
            else [quoted_of.get(column.expression, column.expression) for column in template.outputs]
            for template in templates
        ]
        select, names = select_outputs(outputs, plain)
        return cls(
            catalog,
            stream.name,
            stream.columns,
            tuple(template.sides[0].place for template in templates),
            tuple(member.prepared.schema for member in members),
            tuple(template.sides[0].predicates for template in templates),
            tuple(select),
            tuple(map(tuple, names)),
            tuple(map(tuple, outputs)),
            tuple(plain),
            Sites(catalog.spark),
        )

    def run(self, leaves: Sequence[Leaves], logs: Logs) -> list[pa.Table]:
        """One job: the rows that it adds for each member."""
        rows, within = self._input(leaves, logs, [*self.columns, ARRIVAL])
        few = rows.num_rows <= FEW
        frame = self._tagged(
            ship_rows(self.catalog.spark, rows), tag_expression(self.predicates, within), filter=not few
        )
        return split_by_member(collect(frame), self.names, self.schemas)

    def run_isolating(self, leaves: Sequence[Leaves], logs: Logs) -> list[MemberResult]:
        """The same, with what failed for each member."""
        spark, refs = self.catalog.spark, [(name,) for name in self.columns]
        rows, within = self._input(leaves, logs, [*self.columns, ARRIVAL, OFFSET])
        frame = ship_rows(spark, rows)
        guarded = GuardedOutputs.of(self.outputs, self.plain)
        columns = self.catalog.columns
        judged = judge_rows(columns, frame, self.predicates, within, predicate_judge(spark))
        table = collect_union([rows_with_outputs(columns, judged, guarded, refs, [ARRIVAL, OFFSET])])
        finder = FailureFinder(self.sites, self._origin)
        results = []
        for number, (tests, outputs) in enumerate(zip(self.predicates, self.outputs, strict=True)):
            names, site = guarded.names(outputs), self.sites.number(frame, refs, computed_texts(tests, outputs))
            own = member_rows(table, number, names, self.schemas[number])
            results.append(MemberResult(own, finder.find(table, number, site, names)))
        return results

    def _origin(self, row: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
        return ((self.stream, row[OFFSET]),)

    def _ranges(self, leaves: Sequence[Leaves]) -> list[Range]:
        return [own[place].range for own, place in zip(leaves, self.places, strict=True)]

    def _input(self, leaves: Sequence[Leaves], logs: Logs, columns: list[str]) -> tuple[pa.Table, str | None]:
        """The rows that members take, and the column that says who takes a row, unless everyone takes all."""
        ranges = self._ranges(leaves)
        rows = read_union(logs[self.stream], ranges, late=True)
        bits = span_bits(rows[OFFSET].to_numpy(), [(offsets.first, offsets.last) for offsets in ranges])
        return with_takers(rows.select(columns), bits, len(ranges))

    def write(self, leaves: Sequence[Leaves], logs: Logs, aside: Path) -> Sequence[pa.Table | Written]:
        """One job on a large train, read and written by executors, if enough of it is sealed."""
        ranges = self._ranges(leaves)
        first, last = min(offsets.first for offsets in ranges), max(offsets.last for offsets in ranges)
        log = logs[self.stream]
        sealed = sealed_rows(log, first, last, None, late=True)
        if sealed is None:
            return self.run(leaves, logs)
        rest = log.read(sealed.end, last)
        spark = for_many_rows(self.catalog.spark)
        frame = sealed.frame(spark, rest.schema)
        if rest.num_rows:
            frame = frame.unionByName(ship_rows(spark, rest))
        within = None
        if len(set(ranges)) > 1:
            takers = takers_by_offset([(offsets.first, offsets.last) for offsets in ranges])
            within, frame = IN, frame.selectExpr("*", f"{takers} AS {IN}")
        tagged = self._tagged(frame, tag_expression(self.predicates, within), filter=True)
        return write_members(tagged, self.names, self.schemas, aside)

    def _tagged(self, frame: DataFrame, tags: str, *, filter: bool) -> DataFrame:
        """Rows with their outputs and tags; without `filter`, rows that no member wants are among them."""
        columns = self.catalog.columns
        own = [SqlColumn(quoted((name,))) for name in (*self.columns, ARRIVAL)]
        tagged = select(frame, columns.listed([*own, SqlColumn(pinned(tags) if filter else tags, TAGS)]))
        if filter:
            tagged = tagged.where(columns.expression(f"{TAGS} != 0"))
        return select(tagged, columns.listed([*map(SqlColumn, self.select), SqlColumn(ARRIVAL), SqlColumn(TAGS)]))
