"""Window joins of equal streams, keys and window, each member with predicates and outputs of its own.

A pair is new for a member if one of its rows is among those that the member takes and the other has been taken before
or is taken now. With rows tagged as new and as old on each side, that is
`(nl & (nr | or)) | (ol & nr)`: one join does for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from headgate.model import Join
from headgate.plan.sharing import Place
from headgate.plan.template import Template
from headgate.spark.jobs.compile import Catalog, bound
from headgate.spark.jobs.fused.rows import made, micros_of, read_union
from headgate.spark.jobs.fused.tags import TAGS, inside, outputs, predicates, split
from headgate.spark.jobs.rows import Leaf, Rows
from headgate.spark.jobs.schemas import ARRIVAL, CLOSES, OFFSET
from headgate.spark.jobs.spans import NEVER, Span, micros
from headgate.spark.jobs.times import quoted

NEW, OLD = "_new", "_old"


@dataclass(frozen=True, slots=True)
class _Side:
    stream: str
    columns: tuple[str, ...]
    time: str
    places: tuple[Place, ...]
    select: tuple[str, ...]  # the columns, the arrival and the tags, under names that the join knows


@dataclass(frozen=True, slots=True)
class FusedJoins:
    """Both sides tagged, one join, the pairs told apart by their tags."""

    spark: SparkSession
    core: Join
    sides: tuple[_Side, _Side]
    schemas: tuple[pa.Schema, ...]
    keys: tuple[str, ...]
    above: str
    select: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, catalog: Catalog, templates: Sequence[Template], schemas: Sequence[pa.Schema]) -> FusedJoins:
        core = templates[0].core
        assert isinstance(core, Join)
        left, right = (_side(catalog, templates, number) for number in (0, 1))
        plain = [f"{core.left}.{name}" for name in left.columns] + [f"{core.right}.{name}" for name in right.columns]
        wanted = [plain if one.outputs is None else [each.expression for each in one.outputs] for one in templates]
        select, names = outputs(wanted, plain)
        return cls(
            catalog.spark,
            core,
            (left, right),
            tuple(schemas),
            templates[0].keys,
            predicates([one.above for one in templates], "_pair"),
            tuple(select),
            tuple(map(tuple, names)),
        )

    def run(self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows]) -> list[pa.Table]:
        """One job: the pairs that it adds for each member."""
        taken = [[each[place] for each, place in zip(leaves, side.places, strict=True)] for side in self.sides]
        left, right = self._read(taken, logs)
        if left is None or right is None:
            return [self._none(schema) for schema in self.schemas]
        core = self.core
        condition = " AND ".join(f"({text})" for text in (*self.keys, bound(core)))
        pair = f"(l{NEW} & (r{NEW} | r{OLD})) | (l{OLD} & r{NEW}) AS _pair"
        arrival = f"greatest(l{ARRIVAL}, r{ARRIVAL}) AS {ARRIVAL}"
        joined = left.alias(core.left).join(right.alias(core.right), F.expr(condition))
        tagged = joined.selectExpr("*", pair).selectExpr("*", f"{self.above} AS {TAGS}").where(f"{TAGS} != 0")
        frame = tagged.selectExpr(*self.select, arrival, f"CAST(NULL AS TIMESTAMP) AS {CLOSES}", TAGS)
        return split(frame.toArrow(), self.names, self.schemas)

    def _read(
        self, taken: Sequence[Sequence[Leaf]], logs: Mapping[str, Rows]
    ) -> tuple[DataFrame | None, DataFrame | None]:
        """Both sides: what is new, and of what is old as much as the other side's new rows can reach."""
        fresh = [
            read_union(logs[side.stream], [leaf.range for leaf in each])
            for side, each in zip(self.sides, taken, strict=True)
        ]
        spans = [_span(micros_of(rows, side.time)) for rows, side in zip(fresh, self.sides, strict=True)]
        low, high = micros(self.core.lower), micros(self.core.upper)
        reach = spans[1].plus(-high, -low), spans[0].plus(low, high)
        found = [
            self._frame(side, each, logs[side.stream], own.hull(other))
            for side, each, own, other in zip(self.sides, taken, spans, reach, strict=True)
        ]
        return found[0], found[1]

    def _frame(self, side: _Side, leaves: Sequence[Leaf], log: Rows, times: Span) -> DataFrame | None:
        if times.empty:
            return None
        first = max(log.start, min(leaf.start for leaf in leaves))
        rows = log.read_window(first, max(leaf.range.last for leaf in leaves), times.low, times.high)
        offsets = rows[OFFSET].to_numpy()
        new = inside(offsets, [(leaf.range.first, leaf.range.last) for leaf in leaves])
        old = inside(offsets, [(leaf.start, leaf.range.first) for leaf in leaves])
        if not rows.num_rows:
            return None
        given = rows.select([*side.columns, ARRIVAL])
        given = given.append_column(NEW, pa.array(new)).append_column(OLD, pa.array(old))
        return made(self.spark, given).selectExpr(*side.select)

    def _none(self, schema: pa.Schema) -> pa.Table:
        hidden = [pa.field(ARRIVAL, pa.float64()), pa.field(CLOSES, pa.timestamp("us", "UTC"))]
        return pa.schema([*schema, *hidden]).empty_table()


def _side(catalog: Catalog, templates: Sequence[Template], number: int) -> _Side:
    first = templates[0].sides[number]
    stream = catalog.streams[first.source.stream]
    assert stream.event_time is not None
    letter = "lr"[number]
    own = [one.sides[number].predicates for one in templates]
    tags = [f"{predicates(own, each)} AS {letter}{each}" for each in (NEW, OLD)]
    columns = [quoted((name,)) for name in stream.columns]
    places = tuple(one.sides[number].place for one in templates)
    return _Side(
        stream.name, stream.columns, stream.event_time, places, (*columns, f"{ARRIVAL} AS {letter}{ARRIVAL}", *tags)
    )


def _span(times: np.ndarray) -> Span:
    known = times[times > np.iinfo(np.int64).min]
    return Span(int(known.min()), int(known.max())) if len(known) else NEVER
