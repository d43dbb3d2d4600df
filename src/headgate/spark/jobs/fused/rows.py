"""Filters and projections over one stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.plan.sharing import Place
from headgate.plan.template import Template
from headgate.spark.jobs.compile import BATCH, SMALL, Catalog
from headgate.spark.jobs.direct import Made, collected, select, shipped
from headgate.spark.jobs.fused.large import own_bits, written
from headgate.spark.jobs.fused.tags import TAGS, Bits, everyones, inside, outputs, pinned, predicates, split
from headgate.spark.jobs.guard import PLAIN
from headgate.spark.jobs.rows import Leaf, Range, Rows
from headgate.spark.jobs.schemas import ARRIVAL, OFFSET
from headgate.spark.jobs.sealed import sealed
from headgate.spark.jobs.times import quoted
from headgate.spark.jobs.tuning import for_many_rows
from headgate.spark.jobs.writing import Written

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
        )

    def run(self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows]) -> list[pa.Table]:
        """One job: the rows that it adds for each member."""
        ranges = [each[place].range for each, place in zip(leaves, self.places, strict=True)]
        rows = read_union(logs[self.stream], ranges, late=True)
        bits = inside(rows[OFFSET].to_numpy(), [(each.first, each.last) for each in ranges])
        given = rows.select([*self.columns, ARRIVAL])
        within = None
        if not everyones(bits, len(ranges)):
            within, given = IN, given.append_column(IN, pa.array(bits))
        few = given.num_rows <= FEW
        frame = self._tagged(
            shipped_for(self.catalog.spark, given), predicates(self.predicates, within), filter=not few
        )
        return split(collected(frame), self.names, self.schemas)

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
        own = [Made(quoted((name,))) for name in (*self.columns, ARRIVAL)]
        tagged = select(frame, columns.listed(PLAIN, [*own, Made(pinned(tags) if filter else tags, TAGS)]))
        if filter:
            tagged = tagged.where(columns.one(PLAIN, f"{TAGS} != 0"))
        return select(tagged, columns.listed(PLAIN, [*map(Made, self.select), Made(ARRIVAL), Made(TAGS)]))


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
