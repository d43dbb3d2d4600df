"""Filters and projections over one stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.plan.sharing import Place
from headgate.plan.template import Template
from headgate.spark.compile.event_times import quoted
from headgate.spark.compile.executor_reads import sealed
from headgate.spark.compile.executor_writes import Written
from headgate.spark.compile.failure_sites import Sites
from headgate.spark.compile.frames import BATCH, SMALL, Catalog
from headgate.spark.compile.fused.executor_writes import own_bits, written
from headgate.spark.compile.fused.row_isolation import (
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
from headgate.spark.compile.fused.tags import TAGS, Bits, everyones, inside, outputs, pinned, predicates, split
from headgate.spark.compile.leaf_rows import Leaf, Range, Rows
from headgate.spark.compile.quick_frames import NewColumn, collected, select, shipped
from headgate.spark.compile.schemas import ARRIVAL, OFFSET
from headgate.spark.jvm.settings import for_many_rows

IN = "_in"
FEW = 5_000  # rows that come back faster than a filter in the job is prepared


@dataclass(frozen=True, slots=True)
class FusedRows:
    """One pass that tags each row with the members it satisfies."""

    catalog: Catalog
    stream: str
    columns: tuple[str, ...]
    places: tuple[Place, ...]  # of the members' leaves
    schemas: tuple[pa.Schema, ...]
    predicates: tuple[tuple[str, ...], ...]
    select: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]  # each member's columns of the result
    wanted: tuple[tuple[str, ...], ...]  # what each member computes
    plain: tuple[str, ...]  # columns as they are
    sites: Sites

    @classmethod
    def of(cls, catalog: Catalog, templates: Sequence[Template], schemas: Sequence[pa.Schema]) -> FusedRows:
        stream = catalog.streams[templates[0].sides[0].source.stream]
        plain = [quoted((name,)) for name in stream.columns]
        bare = dict(zip(stream.columns, plain, strict=True))
        wanted = [
            plain if one.outputs is None else [bare.get(each.expression, each.expression) for each in one.outputs]
            for one in templates
        ]
        select, names = outputs(wanted, plain)
        return cls(
            catalog,
            stream.name,
            stream.columns,
            tuple(one.sides[0].place for one in templates),
            tuple(schemas),
            tuple(one.sides[0].predicates for one in templates),
            tuple(select),
            tuple(map(tuple, names)),
            tuple(map(tuple, wanted)),
            tuple(plain),
            Sites(catalog.spark),
        )

    def run(self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows]) -> list[pa.Table]:
        """One job: the rows that it adds for each member."""
        given, within = self._given(leaves, logs, [*self.columns, ARRIVAL])
        few = given.num_rows <= FEW
        frame = self._tagged(
            shipped_for(self.catalog.spark, given), predicates(self.predicates, within), filter=not few
        )
        return split(collected(frame), self.names, self.schemas)

    def run_careful(self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows]) -> list[Told]:
        """The same, with what failed for each member."""
        spark, refs = self.catalog.spark, [(name,) for name in self.columns]
        given, within = self._given(leaves, logs, [*self.columns, ARRIVAL, OFFSET])
        frame = shipped_for(spark, given)
        made = Outputs.of(self.wanted, self.plain)
        columns = self.catalog.columns
        rows = judged(columns, frame, self.predicates, within, conditions(spark))
        rows = told_rows(columns, rows, made, refs, [ARRIVAL, OFFSET])
        table, failing = united([rows]), Failing(self.sites, self._origin)
        told = []
        for number, (tests, wanted) in enumerate(zip(self.predicates, self.wanted, strict=True)):
            names, site = made.names(wanted), self.sites.number(frame, refs, computed(tests, wanted))
            found = results(table, number, names, self.schemas[number])
            told.append((found, failing.found(table, number, site, names)))
        return told

    def _origin(self, row: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
        return ((self.stream, row[OFFSET]),)

    def _given(
        self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows], columns: list[str]
    ) -> tuple[pa.Table, str | None]:
        """The rows that members take, and the column that tells whose each is, unless each is everyone's."""
        ranges = [each[place].range for each, place in zip(leaves, self.places, strict=True)]
        rows = read_union(logs[self.stream], ranges, late=True)
        bits = inside(rows[OFFSET].to_numpy(), [(each.first, each.last) for each in ranges])
        given = rows.select(columns)
        if everyones(bits, len(ranges)):
            return given, None
        return given.append_column(IN, pa.array(bits)), IN

    def write(
        self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows], aside: Path
    ) -> Sequence[pa.Table | Written]:
        """One job on a large train, read and written by executors, if enough of it is sealed."""
        ranges = [each[place].range for each, place in zip(leaves, self.places, strict=True)]
        first, last = min(each.first for each in ranges), max(each.last for each in ranges)
        log = logs[self.stream]
        files = sealed(log, first, last, None, late=True)
        if files is None:
            return self.run(leaves, logs)
        rest = log.read(files.end, last)
        spark = for_many_rows(self.catalog.spark)
        frame = files.frame(spark, rest.schema)
        if rest.num_rows:
            frame = frame.unionByName(shipped_for(spark, rest))
        within = None
        if len(set(ranges)) > 1:
            within, frame = IN, frame.selectExpr("*", f"{own_bits([(one.first, one.last) for one in ranges])} AS {IN}")
        tagged = self._tagged(frame, predicates(self.predicates, within), filter=True)
        return written(tagged, self.names, self.schemas, aside)

    def _tagged(self, frame: DataFrame, tags: str, *, filter: bool) -> DataFrame:
        """Rows with their outputs and tags; unless told to filter, those that no member wants are among them."""
        columns = self.catalog.columns
        own = [NewColumn(quoted((name,))) for name in (*self.columns, ARRIVAL)]
        tagged = select(frame, columns.listed([*own, NewColumn(pinned(tags) if filter else tags, TAGS)]))
        if filter:
            tagged = tagged.where(columns.one(f"{TAGS} != 0"))
        return select(tagged, columns.listed([*map(NewColumn, self.select), NewColumn(ARRIVAL), NewColumn(TAGS)]))


def read_union(log: Rows, ranges: Iterable[Range], *, late: bool) -> pa.Table:
    """The rows of several ranges, each once; late ones are not for windows."""

    def read(first: int, last: int) -> pa.Table:
        return log.read(first, last) if late else log.read_window(first, last, -inf, inf)

    merged: list[tuple[int, int]] = []
    for first, last in sorted((each.first, each.last) for each in ranges if each.first < each.last):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    if len(merged) == 1:
        return read(*merged[0])
    return pa.concat_tables([read(first, last) for first, last in merged] or [read(log.start, log.start)])


def shipped_for(spark: SparkSession, table: pa.Table, *, meets: bool = False) -> DataFrame:
    """A frame of a driver's rows, in one task where that is quicker; so too if they meet each other above."""
    few = table.num_rows <= SMALL
    frame = shipped(spark, table, SMALL if few else BATCH)
    return frame.coalesce(1) if few and meets else frame


def micros_of(table: pa.Table, column: str) -> Bits:
    """A column of times in microseconds; one that is null lies before all others."""
    found: Bits = table[column].cast(pa.int64()).fill_null(np.iinfo(np.int64).min).to_numpy()
    return found
