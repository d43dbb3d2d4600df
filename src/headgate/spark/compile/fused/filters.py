"""The fused form of filters and projections over one stream: one pass that tags each row with the members it is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from headgate.spark.compile.fused.membership import Membership, hand_out, numbers_of
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
from headgate.spark.compile.fused.tags import IN, WORD, select_outputs, span_bits, with_takers
from headgate.spark.compile.leaf_rows import Leaves, Logs, Range
from headgate.spark.compile.quick_frames import SqlColumn, collect, select
from headgate.spark.compile.repeated_jobs import FEW, RepeatedJob
from headgate.spark.compile.schemas import ARRIVAL, OFFSET
from headgate.spark.jvm.settings import for_many_rows

Span = tuple[int, int]  # offsets [first, last)


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
    outputs: tuple[tuple[str, ...], ...]  # what each member computes
    plain: tuple[str, ...]  # columns as they are
    types: Mapping[str, str]  # of the columns, as declared
    sites: Sites
    jobs: dict[bool, _TaggingJob] = field(default_factory=dict)  # by whether all members take the same rows

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
        return cls(
            catalog,
            stream.name,
            stream.columns,
            tuple(template.sides[0].place for template in templates),
            tuple(member.prepared.schema for member in members),
            tuple(template.sides[0].predicates for template in templates),
            tuple(map(tuple, outputs)),
            tuple(plain),
            dict(stream.schema),
            Sites(catalog.spark),
        )

    def run(self, leaves: Sequence[Leaves], logs: Logs) -> list[pa.Table]:
        """One job: the rows that it adds for each member."""
        ranges = self._ranges(leaves)
        rows = read_union(logs[self.stream], ranges, late=True)
        job, spans = self._job(ranges), _spans(ranges)
        table = job.collect(job.input(rows, spans))
        return hand_out(table, job.membership.pairs(table, spans), job.names, self.schemas)

    def run_isolating(self, leaves: Sequence[Leaves], logs: Logs) -> list[MemberResult]:
        """The same, with what failed for each member: a job for every 60 members, the bits of a long."""
        if len(self.places) <= WORD:
            return self._run_isolating(leaves, logs)
        results: list[MemberResult] = []
        for first in range(0, len(self.places), WORD):
            results += self._part(first, first + WORD)._run_isolating(leaves[first : first + WORD], logs)
        return results

    def _part(self, first: int, last: int) -> FusedFilters:
        """Some of the members as a group of their own."""
        names = ("places", "schemas", "predicates", "outputs")
        return replace(self, **{name: getattr(self, name)[first:last] for name in names}, jobs={})

    def _run_isolating(self, leaves: Sequence[Leaves], logs: Logs) -> list[MemberResult]:
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
        spans = _spans(ranges)
        first, last = min(own[0] for own in spans), max(own[1] for own in spans)
        log = logs[self.stream]
        sealed = sealed_rows(log, first, last, None, late=True)
        if sealed is None:
            return self.run(leaves, logs)
        rest = log.read(sealed.end, last)
        spark = for_many_rows(self.catalog.spark)
        frame = sealed.frame(spark, rest.schema)
        if rest.num_rows:
            frame = frame.unionByName(ship_rows(spark, rest))
        job = self._job(ranges)
        if not job.membership.same:
            takers = [
                f"{takers_by_offset([spans[member] for member in own])} AS {IN}{word}"
                for word, own in enumerate(job.membership.words)
            ]
            frame = frame.selectExpr("*", *takers)
        return write_members(job.frame(frame, filter=True), job.membership, spans, job.names, self.schemas, aside)

    def _job(self, ranges: Sequence[Range]) -> _TaggingJob:
        same = len(set(ranges)) == 1
        if same not in self.jobs:
            self.jobs[same] = _TaggingJob.of(self, same=same)
        return self.jobs[same]


@dataclass(frozen=True, slots=True)
class _TaggingJob:
    """The job of a group: rows with their outputs, and the columns by which the members that want them are found."""

    catalog: Catalog
    columns: tuple[str, ...]
    membership: Membership
    select: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]  # each member's columns of the selection
    repeated: RepeatedJob

    @classmethod
    def of(cls, group: FusedFilters, *, same: bool) -> _TaggingJob:
        quoted_of = dict(zip(group.columns, group.plain, strict=True))
        # Outputs must not be computed for rows that no member wants, on which they may fail.
        computing = [n for n, texts in enumerate(group.outputs) if not set(texts) <= set(group.plain)]
        membership = Membership.of(group.predicates, group.types, quoted_of, exact=computing, same=same)
        select, names = select_outputs(group.outputs, group.plain, membership.wanted)
        repeated = RepeatedJob(group.catalog.spark, lambda frames: job.frame(frames[0], filter=False))
        job = cls(group.catalog, group.columns, membership, tuple(select), tuple(map(tuple, names)), repeated)
        return job

    def input(self, rows: pa.Table, spans: Sequence[Span]) -> pa.Table:
        """The rows that members take, with the columns that say who takes a row, unless everyone takes all."""
        kept = rows.select([*self.columns, ARRIVAL, *([] if self.membership.same else [OFFSET])])
        for name, bits in self.membership.takers(numbers_of(rows[OFFSET]), spans).items():
            kept = kept.append_column(name, pa.array(bits))
        return kept

    def collect(self, rows: pa.Table) -> pa.Table:
        """One Spark job. The rows of a small train come back whether somebody wants them or not: that is quicker."""
        if rows.num_rows <= FEW:
            return self.repeated.collect(rows)
        return collect(self.frame(ship_rows(self.catalog.spark, rows), filter=True))

    def frame(self, frame: DataFrame, *, filter: bool) -> DataFrame:
        """Rows with their outputs and hidden columns; without `filter`, rows that no member wants are among them."""
        columns, membership = self.catalog.columns, self.membership
        own = [quoted((name,)) for name in (*self.columns, ARRIVAL)] + ([] if membership.same else [OFFSET])
        tagged = membership.with_hidden(columns, frame, list(map(SqlColumn, own)), pin=filter)
        if filter:
            tagged = tagged.where(columns.expression(membership.wanted(range(len(self.names)))))
        hidden = map(SqlColumn, (ARRIVAL, *membership.hidden))
        return select(tagged, columns.listed([*map(SqlColumn, self.select), *hidden]))


def _spans(ranges: Sequence[Range]) -> list[Span]:
    return [(offsets.first, offsets.last) for offsets in ranges]
