"""Window joins of equal streams, keys and window, each member with predicates and outputs of its own.

A pair is new for a member if one of its rows is among those that the member takes and the other has been taken before
or is taken now. With rows tagged as new and as old on each side, that is
`(nl & (nr | or)) | (ol & nr)`: one join does for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from headgate.model import Join
from headgate.plan.sharing import Place
from headgate.plan.template import Template
from headgate.spark.jobs.compile import Catalog, bound
from headgate.spark.jobs.direct import Made, collected, select
from headgate.spark.jobs.fused.rows import micros_of, read_union, shipped_for
from headgate.spark.jobs.fused.tags import TAGS, everyones, inside, outputs, pinned, predicates, split
from headgate.spark.jobs.guard import PLAIN
from headgate.spark.jobs.rows import Leaf, Rows, check_kept, read_kept
from headgate.spark.jobs.schemas import ARRIVAL, OFFSET, result_schema
from headgate.spark.jobs.spans import NEVER, Span, micros
from headgate.spark.jobs.times import quoted

NEW, OLD, ANY = "_new", "_old", "_any"  # for whom a row is new, old, either
MINE, PAIR = "_mine", "_pair"  # whose predicates a row satisfies; for whom a pair is new


@dataclass(frozen=True, slots=True)
class _Side:
    stream: str
    columns: tuple[str, ...]
    time: str
    places: tuple[Place, ...]
    predicates: tuple[tuple[str, ...], ...]
    letter: str  # before hidden columns, which would be called alike on both sides


@dataclass(frozen=True, slots=True)
class FusedJoins:
    """Both sides tagged, one join, the pairs told apart by their tags."""

    catalog: Catalog
    core: Join
    sides: tuple[_Side, _Side]
    schemas: tuple[pa.Schema, ...]
    keys: tuple[str, ...]
    above: str  # the tags of a pair by the members' predicates; empty: they have none
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
            catalog,
            core,
            (left, right),
            tuple(schemas),
            templates[0].keys,
            predicates([one.above for one in templates], PAIR) if any(one.above for one in templates) else "",
            tuple(select),
            tuple(map(tuple, names)),
        )

    def run(self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows]) -> list[pa.Table]:
        """One job: the pairs that it adds for each member."""
        taken = [[each[place] for each, place in zip(leaves, side.places, strict=True)] for side in self.sides]
        left, right = self._read(taken, logs)
        if left is None or right is None:
            return [result_schema(schema).empty_table() for schema in self.schemas]
        core, columns = self.core, self.catalog.columns
        condition = " AND ".join(f"({text})" for text in (*self.keys, bound(core)))
        pair = f"(l{NEW} & (r{NEW} | r{OLD})) | (l{OLD} & r{NEW})"
        rows = left.alias(core.left).join(right.alias(core.right), columns.one(PLAIN, condition))
        new = PAIR if self.above else TAGS
        rows = select(rows, columns.listed(PLAIN, [Made("*"), Made(pair, new)]))
        rows = rows.where(columns.one(PLAIN, f"{new} != 0"))
        if self.above:
            rows = select(rows, columns.listed(PLAIN, [Made("*"), Made(pinned(self.above), TAGS)]))
            rows = rows.where(columns.one(PLAIN, f"{TAGS} != 0"))
        arrival = Made(f"greatest(l{ARRIVAL}, r{ARRIVAL})", ARRIVAL)
        frame = select(rows, columns.listed(PLAIN, [*map(Made, self.select), arrival, Made(TAGS)]))
        return split(collected(frame), self.names, self.schemas)

    def write(self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows], aside: Path) -> None:
        """Large trains are for the members one by one."""

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
        self._check(taken, fresh, logs)
        return found[0], found[1]

    def _check(self, taken: Sequence[Sequence[Leaf]], fresh: Sequence[pa.Table], logs: Mapping[str, Rows]) -> None:
        """Refuse old rows that are no longer there, each member's by what its own new rows reach."""
        low, high = micros(self.core.lower), micros(self.core.upper)
        for own, other in ((0, 1), (1, 0)):
            side, log = self.sides[own], logs[self.sides[own].stream]
            offsets, times = fresh[other][OFFSET].to_numpy(), micros_of(fresh[other], self.sides[other].time)
            for leaf, far in zip(taken[own], taken[other], strict=True):
                if leaf.start < log.start:
                    span = _span(times[(offsets >= far.range.first) & (offsets < far.range.last)])
                    reach = span.plus(-high, -low) if own == 0 else span.plus(low, high)
                    check_kept(log, side.stream, leaf.start, {side.time: reach.low})

    def _frame(self, side: _Side, leaves: Sequence[Leaf], log: Rows, times: Span) -> DataFrame | None:
        if times.empty:
            return None
        begin, last = min(leaf.start for leaf in leaves), max(leaf.range.last for leaf in leaves)
        rows = read_kept(log, begin, lambda first: log.read_window(first, last, times.low, times.high))
        offsets = rows[OFFSET].to_numpy()
        new = inside(offsets, [(leaf.range.first, leaf.range.last) for leaf in leaves])
        old = inside(offsets, [(leaf.start, leaf.range.first) for leaf in leaves])
        if not rows.num_rows:
            return None
        given = rows.select([*side.columns, ARRIVAL])
        given = given.append_column(NEW, pa.array(new)).append_column(OLD, pa.array(old))
        within = None
        if not everyones(new | old, len(leaves)):
            within, given = ANY, given.append_column(ANY, pa.array(new | old))
        return self._tagged(side, shipped_for(self.catalog.spark, given, meets=True), within)

    def _tagged(self, side: _Side, frame: DataFrame, within: str | None) -> DataFrame:
        """A side's rows that some member may want, under names that the join knows."""
        columns = self.catalog.columns
        own = [Made(quoted((name,))) for name in side.columns]
        hidden = [Made(ARRIVAL, f"{side.letter}{ARRIVAL}")]
        if not any(side.predicates):
            tags = [Made(name, f"{side.letter}{name}") for name in (NEW, OLD)]
            return select(frame, columns.listed(PLAIN, [*own, *hidden, *tags]))
        mine = Made(pinned(predicates(side.predicates, within)), MINE)
        rows = select(frame, columns.listed(PLAIN, [*own, Made(ARRIVAL), Made(NEW), Made(OLD), mine]))
        rows = rows.where(columns.one(PLAIN, f"{MINE} != 0"))
        tags = [Made(f"{name} & {MINE}", f"{side.letter}{name}") for name in (NEW, OLD)]
        return select(rows, columns.listed(PLAIN, [*own, *hidden, *tags]))


def _side(catalog: Catalog, templates: Sequence[Template], number: int) -> _Side:
    first = templates[0].sides[number]
    stream = catalog.streams[first.source.stream]
    assert stream.event_time is not None
    places = tuple(one.sides[number].place for one in templates)
    own = tuple(one.sides[number].predicates for one in templates)
    return _Side(stream.name, stream.columns, stream.event_time, places, own, "lr"[number])


def _span(times: np.ndarray) -> Span:
    known = times[times > np.iinfo(np.int64).min]
    return Span(int(known.min()), int(known.max())) if len(known) else NEVER
