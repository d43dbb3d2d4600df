"""Window joins of equal streams, keys and window, each member with predicates and outputs of its own.

A pair is new for a member if one of its rows is among those that the member takes and the other has been taken before
or is taken now. With rows tagged as new and as old on each side, that is
`(nl & (nr | or)) | (ol & nr)`: one join does for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from headgate.model import Join
from headgate.plan.sharing import Place
from headgate.plan.template import Template
from headgate.spark.compile.event_times import quoted
from headgate.spark.compile.failure_sites import Sites, row_told
from headgate.spark.compile.fragment_stream import Ref
from headgate.spark.compile.frames import Catalog, bound
from headgate.spark.compile.fused.filters import micros_of, read_union, shipped_for
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
from headgate.spark.compile.fused.tags import TAGS, everyones, inside, outputs, pinned, predicates, split
from headgate.spark.compile.leaf_rows import Leaf, Rows, check_kept, read_kept
from headgate.spark.compile.prepared_query import Failure
from headgate.spark.compile.quick_frames import NewColumn, collected, select
from headgate.spark.compile.schemas import ARRIVAL, OFFSET, result_schema
from headgate.spark.compile.time_spans import NEVER, Span, micros

NEW, OLD, ANY = "_new", "_old", "_any"  # for whom a row is new, old, either
MINE, PAIR = "_mine", "_pair"  # whose predicates a row satisfies; for whom a pair is new
_SIDE = "_side"
Tag = Callable[["_Side", DataFrame, str | None], DataFrame]  # leaves a side's rows that some member may want


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
    tests: tuple[tuple[str, ...], ...]  # each member's predicates on pairs
    wanted: tuple[tuple[str, ...], ...]  # what each member computes of a pair
    plain: tuple[str, ...]  # columns of a pair as they are
    sites: Sites

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
            tuple(one.above for one in templates),
            tuple(map(tuple, wanted)),
            tuple(plain),
            Sites(catalog.spark),
        )

    def run(self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows]) -> list[pa.Table]:
        """One job: the pairs that it adds for each member."""
        left, right = self._sides(leaves, logs, self._tagged, ())
        if left is None or right is None:
            return [result_schema(schema).empty_table() for schema in self.schemas]
        columns = self.catalog.columns
        rows = self._pairs(left, right, PAIR if self.above else TAGS)
        if self.above:
            rows = select(rows, columns.listed([NewColumn("*"), NewColumn(pinned(self.above), TAGS)]))
            rows = rows.where(columns.one(f"{TAGS} != 0"))
        arrival = NewColumn(f"greatest(l{ARRIVAL}, r{ARRIVAL})", ARRIVAL)
        frame = select(rows, columns.listed([*map(NewColumn, self.select), arrival, NewColumn(TAGS)]))
        return split(collected(frame), self.names, self.schemas)

    def run_careful(self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows]) -> list[Told]:
        """The same, with what failed for each member."""
        bad: list[tuple[_Side, DataFrame]] = []

        def tagged(side: _Side, frame: DataFrame, within: str | None) -> DataFrame:
            rows = judged(self.catalog.columns, frame, side.predicates, within, conditions(self.catalog.spark))
            bad.append((side, rows))
            mine = rows.where(F.expr(f"{TAGS} != 0"))
            own = [quoted((name,)) for name in side.columns]
            kept = [F.col(name).alias(f"{side.letter}{name}") for name in (ARRIVAL, OFFSET)]
            return mine.select(
                *own, *kept, *(F.expr(f"{name} & {TAGS}").alias(side.letter + name) for name in (NEW, OLD))
            )

        left, right = self._sides(leaves, logs, tagged, [OFFSET])
        return CarefulJoins(self).run(left, right, bad)

    def _pairs(self, left: DataFrame, right: DataFrame, new: str) -> DataFrame:
        """The pairs that are new for some member, with whom in a column."""
        core, columns = self.core, self.catalog.columns
        condition = " AND ".join(f"({text})" for text in (*self.keys, bound(core)))
        pair = f"(l{NEW} & (r{NEW} | r{OLD})) | (l{OLD} & r{NEW})"
        rows = left.alias(core.left).join(right.alias(core.right), columns.one(condition))
        rows = select(rows, columns.listed([NewColumn("*"), NewColumn(pair, new)]))
        return rows.where(columns.one(f"{new} != 0"))

    def write(self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows], aside: Path) -> None:
        """Large trains are for the members one by one."""

    def _sides(
        self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows], tag: Tag, told: Sequence[str]
    ) -> tuple[DataFrame | None, DataFrame | None]:
        """Both sides: what is new, and of what is old as much as the other side's new rows can reach."""
        taken = [[each[place] for each, place in zip(leaves, side.places, strict=True)] for side in self.sides]
        fresh = [
            read_union(logs[side.stream], [leaf.range for leaf in each], late=False)
            for side, each in zip(self.sides, taken, strict=True)
        ]
        spans = [_span(micros_of(rows, side.time)) for rows, side in zip(fresh, self.sides, strict=True)]
        low, high = micros(self.core.lower), micros(self.core.upper)
        reach = spans[1].plus(-high, -low), spans[0].plus(low, high)
        found = [
            self._frame(side, each, logs[side.stream], own.hull(other), tag, told)
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

    def _frame(
        self, side: _Side, leaves: Sequence[Leaf], log: Rows, times: Span, tag: Tag, told: Sequence[str]
    ) -> DataFrame | None:
        if times.empty:
            return None
        begin, last = min(leaf.start for leaf in leaves), max(leaf.range.last for leaf in leaves)
        rows = read_kept(log, begin, lambda first: log.read_window(first, last, times.low, times.high))
        offsets = rows[OFFSET].to_numpy()
        new = inside(offsets, [(leaf.range.first, leaf.range.last) for leaf in leaves])
        old = inside(offsets, [(leaf.start, leaf.range.first) for leaf in leaves])
        if not rows.num_rows:
            return None
        given = rows.select([*side.columns, ARRIVAL, *told])
        given = given.append_column(NEW, pa.array(new)).append_column(OLD, pa.array(old))
        within = None
        if not everyones(new | old, len(leaves)):
            within, given = ANY, given.append_column(ANY, pa.array(new | old))
        return tag(side, shipped_for(self.catalog.spark, given, meets=True), within)

    def _tagged(self, side: _Side, frame: DataFrame, within: str | None) -> DataFrame:
        """A side's rows that some member may want, under names that the join knows."""
        columns = self.catalog.columns
        own = [NewColumn(quoted((name,))) for name in side.columns]
        hidden = [NewColumn(ARRIVAL, f"{side.letter}{ARRIVAL}")]
        if not any(side.predicates):
            tags = [NewColumn(name, f"{side.letter}{name}") for name in (NEW, OLD)]
            return select(frame, columns.listed([*own, *hidden, *tags]))
        mine = NewColumn(pinned(predicates(side.predicates, within)), MINE)
        rows = select(frame, columns.listed([*own, NewColumn(ARRIVAL), NewColumn(NEW), NewColumn(OLD), mine]))
        rows = rows.where(columns.one(f"{MINE} != 0"))
        tags = [NewColumn(f"{name} & {MINE}", f"{side.letter}{name}") for name in (NEW, OLD)]
        return select(rows, columns.listed([*own, *hidden, *tags]))


@dataclass(frozen=True, slots=True)
class CarefulJoins:
    """The job of a group in which expressions fail for a tuple, or a pair, and one member alone."""

    group: FusedJoins

    def run(
        self, left: DataFrame | None, right: DataFrame | None, sides: Sequence[tuple[_Side, DataFrame]]
    ) -> list[Told]:
        """What each member gets of both sides; `sides` are their rows before they meet, judged."""
        group = self.group
        pairs = None if left is None or right is None else group._pairs(left, right, PAIR)
        made = Outputs.of(group.wanted, group.plain)
        frames = [] if pairs is None else [self._told_pairs(pairs, made)]
        frames += [self._bad(side, rows) for side, rows in sides if any(side.predicates)]
        table = united(frames) if frames else None
        return [self._told(number, table, made, pairs, sides) for number in range(len(group.wanted))]

    def _told(
        self,
        number: int,
        table: pa.Table | None,
        made: Outputs,
        pairs: DataFrame | None,
        sides: Sequence[tuple[_Side, DataFrame]],
    ) -> Told:
        group, failing = self.group, Failing(self.group.sites, self._origin)
        found, failures = result_schema(group.schemas[number]).empty_table(), list[Failure]()
        if table is None:
            return found, ()
        if pairs is not None:
            own, names = _of(table, None), made.names(group.wanted[number])
            site = group.sites.number(pairs, self._refs, computed(group.tests[number], group.wanted[number]))
            found = results(own, number, names, group.schemas[number])
            failures += failing.found(own, number, site, names)
        for side, rows in sides:
            if side.predicates[number]:
                site = group.sites.number(rows, [(name,) for name in side.columns], side.predicates[number])
                failures += failing.found(_of(table, side.letter), number, site)
        return found, tuple(failures)

    def _told_pairs(self, pairs: DataFrame, made: Outputs) -> DataFrame:
        spark = self.group.catalog.spark
        pairs = pairs.withColumn(ARRIVAL, F.expr(f"greatest(l{ARRIVAL}, r{ARRIVAL})"))
        pairs = pairs.withColumn(_SIDE, F.lit(None).cast("string"))
        columns = self.group.catalog.columns
        rows = judged(columns, pairs, self.group.tests, PAIR, conditions(spark))
        return told_rows(columns, rows, made, self._refs, [ARRIVAL, f"l{OFFSET}", f"r{OFFSET}", _SIDE])

    @property
    def _refs(self) -> list[Ref]:
        """The columns of a pair."""
        aliases = self.group.core.left, self.group.core.right
        return [(alias, name) for alias, side in zip(aliases, self.group.sides, strict=True) for name in side.columns]

    def _bad(self, side: _Side, rows: DataFrame) -> DataFrame:
        """A side's tuples that fail, for members for whom they are new."""
        spark = self.group.catalog.spark
        rows = rows.withColumn(BAD, F.expr(f"{BAD} & {NEW}")).where(F.expr(f"{BAD} != 0"))
        row = row_told(spark, [(name,) for name in side.columns]).alias(ROW)
        offset = F.col(OFFSET).alias(f"{side.letter}{OFFSET}")
        return rows.select(
            ARRIVAL, BAD, F.lit(0).cast("long").alias(TAGS), offset, row, F.lit(side.letter).alias(_SIDE)
        )

    def _origin(self, row: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
        found = ((side.stream, row.get(f"{side.letter}{OFFSET}")) for side in self.group.sides)
        return tuple((stream, offset) for stream, offset in found if offset is not None)


def _of(table: pa.Table, letter: str | None) -> pa.Table:
    """The pairs of a table, or the tuples of one side."""
    return table.filter(pc.is_null(table[_SIDE]) if letter is None else pc.equal(table[_SIDE], letter))


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
