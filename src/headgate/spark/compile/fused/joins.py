"""The fused form of window joins with equal streams, keys and bounds; each member has its own predicates and outputs.

A pair is new for a member if one of its rows is among those that the member takes now, and the other is too or was
taken before. So each row carries two sets of bits: the members for whom it is new (n) and for whom it is old (o). With
l and r for the left and the right row, a pair is new for the members in

    (nl & (nr | or)) | (ol & nr)

and one join serves them all. Example: member 0 takes both rows now, member 1 has taken the left one before and takes
the right one now. So nl = 0b01, ol = 0b10, nr = 0b11, and the pair is new for 0b01 | 0b10: for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from headgate.model import Join
from headgate.plan.fusion_template import Template
from headgate.plan.places import Place
from headgate.spark.compile.event_time_columns import quoted
from headgate.spark.compile.failure_sites import Sites, row_as_json
from headgate.spark.compile.fragment_stream import Ref
from headgate.spark.compile.frames import Catalog
from headgate.spark.compile.fused.input_rows import micros_of, read_union, ship_rows
from headgate.spark.compile.fused.large_joins import LargeJoins
from headgate.spark.compile.fused.membership import split_by_member
from headgate.spark.compile.fused.registry import Member, MemberResult, register
from headgate.spark.compile.fused.row_isolation import (
    BAD,
    ROW,
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
    NEW,
    OLD,
    TAGS,
    WORD,
    in_any,
    pinned,
    select_outputs,
    span_bits,
    tag_expression,
    with_takers,
)
from headgate.spark.compile.join_keys import KeyColumns, comparable, have_partner, key_columns
from headgate.spark.compile.leaf_rows import Leaf, Leaves, Logs, check_kept, read_kept
from headgate.spark.compile.prepared_query import Failure
from headgate.spark.compile.quick_frames import SqlColumn, collect, select
from headgate.spark.compile.schemas import ARRIVAL, OFFSET, result_schema
from headgate.spark.compile.sql_text import time_bound
from headgate.spark.compile.time_spans import NEVER, Span, micros

ANY = "_any"  # the members for whom a row is new or old
WANTED = "_mine"  # the members whose predicates a row satisfies
PAIR = "_pair"  # the members for whom a pair is new
_SIDE = "_side"  # of a failing tuple, the side that it is on; null for a pair
Tag = Callable[["JoinSide", DataFrame, str | None], DataFrame]  # keeps a side's rows that some member may want


@dataclass(frozen=True, slots=True)
class JoinSide:
    """One of the two streams, and what the members ask of it."""

    stream: str
    columns: tuple[str, ...]
    time: str
    places: tuple[Place, ...]  # of the members' leaves
    predicates: tuple[tuple[str, ...], ...]
    letter: str  # prefix of hidden columns, which would have equal names on both sides


@register(Join)
@dataclass(frozen=True, slots=True)
class FusedJoins:
    """Both sides tagged, one join, the pairs split by their tags: up to 60 members, the bits of a long.

    Larger groups are one job, too (`large_joins`); where that fails on a row, every 60 members have a job.
    """

    catalog: Catalog
    members: tuple[Member, ...]
    core: Join
    sides: tuple[JoinSide, JoinSide]
    schemas: tuple[pa.Schema, ...]
    keys: tuple[str, ...]
    key_columns: KeyColumns
    above: str  # the tags of a pair by the members' predicates on pairs; empty: they have none
    select: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]  # each member's columns of the selection
    tests: tuple[tuple[str, ...], ...]  # each member's predicates on pairs
    outputs: tuple[tuple[str, ...], ...]  # what each member computes of a pair
    plain: tuple[str, ...]  # columns of a pair as they are
    sites: Sites
    large: list[LargeJoins] = field(default_factory=list)  # the job of a large group, made when first needed

    @classmethod
    def of(cls, catalog: Catalog, members: Sequence[Member]) -> FusedJoins:
        templates = [member.template for member in members]
        core = templates[0].core
        assert isinstance(core, Join)
        left, right = (_side(catalog, templates, number) for number in (0, 1))
        plain = [f"{core.left}.{name}" for name in left.columns] + [f"{core.right}.{name}" for name in right.columns]
        outputs = [
            plain if template.outputs is None else [column.expression for column in template.outputs]
            for template in templates
        ]
        tests = [template.above for template in templates]
        few = len(members) <= WORD
        select, names = select_outputs(outputs, plain) if few else ([], [])
        return cls(
            catalog,
            tuple(members),
            core,
            (left, right),
            tuple(member.prepared.schema for member in members),
            templates[0].keys,
            key_columns(templates[0].keys, core.left, core.right),
            tag_expression(tests, PAIR) if few and any(tests) else "",
            tuple(select),
            tuple(map(tuple, names)),
            tuple(tests),
            tuple(map(tuple, outputs)),
            tuple(plain),
            Sites(catalog.spark),
        )

    def run(self, leaves: Sequence[Leaves], logs: Logs) -> list[pa.Table]:
        """One job: the pairs that it adds for each member."""
        if len(self.members) > WORD:
            if not self.large:
                self.large.append(LargeJoins.of(self))
            return self.large[0].run(leaves, logs)
        left, right = self._frames(leaves, logs, self._tagged, ())
        if left is None or right is None:
            return [result_schema(schema).empty_table() for schema in self.schemas]
        columns = self.catalog.columns
        rows = self.pairs(left, right, PAIR if self.above else TAGS)
        if self.above:
            rows = select(rows, columns.listed([SqlColumn("*"), SqlColumn(pinned(self.above), TAGS)]))
            rows = rows.where(columns.expression(f"{TAGS} != 0"))
        arrival = SqlColumn(f"greatest(l{ARRIVAL}, r{ARRIVAL})", ARRIVAL)
        frame = select(rows, columns.listed([*map(SqlColumn, self.select), arrival, SqlColumn(TAGS)]))
        return split_by_member(collect(frame), self.names, self.schemas)

    def run_isolating(self, leaves: Sequence[Leaves], logs: Logs) -> list[MemberResult]:
        """The same, with what failed for each member: a job for every 60 members."""
        if len(self.members) > WORD:
            parts = [slice(first, first + WORD) for first in range(0, len(self.members), WORD)]
            groups = [FusedJoins.of(self.catalog, self.members[part]) for part in parts]
            runs = (group.run_isolating(leaves[part], logs) for group, part in zip(groups, parts, strict=True))
            return [result for results in runs for result in results]
        judged_sides: list[tuple[JoinSide, DataFrame]] = []

        def tagged(side: JoinSide, frame: DataFrame, within: str | None) -> DataFrame:
            judge = predicate_judge(self.catalog.spark)
            judged = judge_rows(self.catalog.columns, frame, side.predicates, within, judge)
            judged_sides.append((side, judged))
            wanted = judged.where(F.expr(f"{TAGS} != 0"))
            own = [quoted((name,)) for name in side.columns]
            hidden = [F.col(name).alias(f"{side.letter}{name}") for name in (ARRIVAL, OFFSET)]
            tags = [F.expr(f"{name} & {TAGS}").alias(side.letter + name) for name in (NEW, OLD)]
            return wanted.select(*own, *hidden, *tags)

        left, right = self._frames(leaves, logs, tagged, [OFFSET])
        return IsolatingJoins(self).run(left, right, judged_sides)

    def pairs(self, left: DataFrame, right: DataFrame, tags: str) -> DataFrame:
        """The pairs that are new for some member, with these members in the column `tags`."""
        core, columns = self.core, self.catalog.columns
        condition = " AND ".join(f"({text})" for text in (*self.keys, time_bound(core)))
        new_for = f"(l{NEW} & (r{NEW} | r{OLD})) | (l{OLD} & r{NEW})"
        rows = left.alias(core.left).join(right.alias(core.right), columns.expression(condition))
        rows = select(rows, columns.listed([SqlColumn("*"), SqlColumn(new_for, tags)]))
        return rows.where(columns.expression(f"{tags} != 0"))

    def write(self, leaves: Sequence[Leaves], logs: Logs, aside: Path) -> None:
        """Large trains run member by member."""

    def _frames(
        self, leaves: Sequence[Leaves], logs: Logs, tag: Tag, extra: Sequence[str]
    ) -> tuple[DataFrame | None, DataFrame | None]:
        """Both sides: the new rows, and of the old ones as many as the other side's new rows can reach."""
        taken, read = self.read(leaves, logs)
        left, right = (
            self._frame(side, side_leaves, rows, tag, extra)
            for side, side_leaves, rows in zip(self.sides, taken, read, strict=True)
        )
        return left, right

    def read(self, leaves: Sequence[Leaves], logs: Logs) -> tuple[list[list[Leaf]], list[pa.Table | None]]:
        """For each side, what the members take of it, and its rows, or None if there are none."""
        taken = [[own[place] for own, place in zip(leaves, side.places, strict=True)] for side in self.sides]
        fresh = [
            read_union(logs[side.stream], {leaf.range for leaf in side_leaves}, late=False)
            for side, side_leaves in zip(self.sides, taken, strict=True)
        ]
        spans = [_span(micros_of(rows, side.time)) for rows, side in zip(fresh, self.sides, strict=True)]
        low, high = micros(self.core.lower), micros(self.core.upper)
        reach = spans[1].plus(-high, -low), spans[0].plus(low, high)
        read = [
            self._read(number, side_leaves, logs, own.hull(reached), fresh[1 - number])
            for number, (side_leaves, own, reached) in enumerate(zip(taken, spans, reach, strict=True))
        ]
        self._check_kept(taken, fresh, logs)
        return taken, [None if rows is None or not rows.num_rows else rows for rows in read]

    def _check_kept(self, taken: Sequence[Sequence[Leaf]], fresh: Sequence[pa.Table], logs: Logs) -> None:
        """Raise an error if old rows were dropped that a member's own new rows can reach."""
        low, high = micros(self.core.lower), micros(self.core.upper)
        for own, other in ((0, 1), (1, 0)):
            side, log = self.sides[own], logs[self.sides[own].stream]
            offsets, times = fresh[other][OFFSET].to_numpy(), micros_of(fresh[other], self.sides[other].time)
            for leaf, other_leaf in dict.fromkeys(zip(taken[own], taken[other], strict=True)):
                if leaf.start < log.start:
                    span = _span(times[(offsets >= other_leaf.range.first) & (offsets < other_leaf.range.last)])
                    reach = span.plus(-high, -low) if own == 0 else span.plus(low, high)
                    check_kept(log, side.stream, leaf.start, {side.time: reach.low})

    def _read(
        self, number: int, leaves: Sequence[Leaf], logs: Logs, times: Span, partners: pa.Table
    ) -> pa.Table | None:
        """A side's new rows, and its old rows that have a key of the other side's new rows, the `partners`."""
        if times.empty:
            return None
        log = logs[self.sides[number].stream]
        begin, last = min(leaf.start for leaf in leaves), max(leaf.range.last for leaf in leaves)
        rows = read_kept(log, begin, lambda first: log.read_window(first, last, times.low, times.high))
        keys = [(pair[number], pair[1 - number]) for pair in self.key_columns]
        if not comparable(keys, rows.schema, partners.schema):
            return rows
        new = pa.array(in_any(rows[OFFSET].to_numpy(), [(leaf.range.first, leaf.range.last) for leaf in leaves]))
        own, other = zip(*keys, strict=True)
        return rows.filter(pc.or_(new, have_partner(rows, own, partners, other)))

    def _frame(
        self, side: JoinSide, leaves: Sequence[Leaf], rows: pa.Table | None, tag: Tag, extra: Sequence[str]
    ) -> DataFrame | None:
        if rows is None:
            return None
        offsets = rows[OFFSET].to_numpy()
        new = span_bits(offsets, [(leaf.range.first, leaf.range.last) for leaf in leaves])
        old = span_bits(offsets, [(leaf.start, leaf.range.first) for leaf in leaves])
        tagged = rows.select([*side.columns, ARRIVAL, *extra])
        tagged = tagged.append_column(NEW, pa.array(new)).append_column(OLD, pa.array(old))
        tagged, within = with_takers(tagged, new | old, len(leaves), ANY)
        return tag(side, ship_rows(self.catalog.spark, tagged, meets=True), within)

    def _tagged(self, side: JoinSide, frame: DataFrame, within: str | None) -> DataFrame:
        """A side's rows that some member may want, hidden columns with the side's letter before their names."""
        columns = self.catalog.columns
        own = [SqlColumn(quoted((name,))) for name in side.columns]
        hidden = [SqlColumn(ARRIVAL, f"{side.letter}{ARRIVAL}")]
        if not any(side.predicates):
            tags = [SqlColumn(name, f"{side.letter}{name}") for name in (NEW, OLD)]
            return select(frame, columns.listed([*own, *hidden, *tags]))
        wanted = SqlColumn(pinned(tag_expression(side.predicates, within)), WANTED)
        rows = select(frame, columns.listed([*own, SqlColumn(ARRIVAL), SqlColumn(NEW), SqlColumn(OLD), wanted]))
        rows = rows.where(columns.expression(f"{WANTED} != 0"))
        tags = [SqlColumn(f"{name} & {WANTED}", f"{side.letter}{name}") for name in (NEW, OLD)]
        return select(rows, columns.listed([*own, *hidden, *tags]))


@dataclass(frozen=True, slots=True)
class IsolatingJoins:
    """The job of a group in which an expression fails for a tuple, or a pair, and one member alone."""

    group: FusedJoins

    def run(
        self, left: DataFrame | None, right: DataFrame | None, judged_sides: Sequence[tuple[JoinSide, DataFrame]]
    ) -> list[MemberResult]:
        """What each member gets of both sides; `judged_sides` are their rows before they are joined."""
        group = self.group
        pairs = None if left is None or right is None else group.pairs(left, right, PAIR)
        guarded = GuardedOutputs.of(group.outputs, group.plain)
        frames = [] if pairs is None else [self._pairs_with_outputs(pairs, guarded)]
        frames += [self._failing_tuples(side, judged) for side, judged in judged_sides if any(side.predicates)]
        table = collect_union(frames) if frames else None
        return [self._result(number, table, guarded, pairs, judged_sides) for number in range(len(group.outputs))]

    def _result(
        self,
        number: int,
        table: pa.Table | None,
        guarded: GuardedOutputs,
        pairs: DataFrame | None,
        judged_sides: Sequence[tuple[JoinSide, DataFrame]],
    ) -> MemberResult:
        group, finder = self.group, FailureFinder(self.group.sites, self._origin)
        rows, failures = result_schema(group.schemas[number]).empty_table(), list[Failure]()
        if table is None:
            return MemberResult(rows, ())
        if pairs is not None:
            pair_rows, names = _rows_of(table, None), guarded.names(group.outputs[number])
            site = group.sites.number(pairs, self._refs, computed_texts(group.tests[number], group.outputs[number]))
            rows = member_rows(pair_rows, number, names, group.schemas[number])
            failures += finder.find(pair_rows, number, site, names)
        for side, judged in judged_sides:
            if side.predicates[number]:
                site = group.sites.number(judged, [(name,) for name in side.columns], side.predicates[number])
                failures += finder.find(_rows_of(table, side.letter), number, site)
        return MemberResult(rows, tuple(failures))

    def _pairs_with_outputs(self, pairs: DataFrame, guarded: GuardedOutputs) -> DataFrame:
        spark = self.group.catalog.spark
        pairs = pairs.withColumn(ARRIVAL, F.expr(f"greatest(l{ARRIVAL}, r{ARRIVAL})"))
        pairs = pairs.withColumn(_SIDE, F.lit(None).cast("string"))
        columns = self.group.catalog.columns
        judged = judge_rows(columns, pairs, self.group.tests, PAIR, predicate_judge(spark))
        return rows_with_outputs(columns, judged, guarded, self._refs, [ARRIVAL, f"l{OFFSET}", f"r{OFFSET}", _SIDE])

    @property
    def _refs(self) -> list[Ref]:
        """The columns of a pair."""
        aliases = self.group.core.left, self.group.core.right
        return [(alias, name) for alias, side in zip(aliases, self.group.sides, strict=True) for name in side.columns]

    def _failing_tuples(self, side: JoinSide, judged: DataFrame) -> DataFrame:
        """A side's tuples that fail, for members for whom they are new."""
        spark = self.group.catalog.spark
        rows = judged.withColumn(BAD, F.expr(f"{BAD} & {NEW}")).where(F.expr(f"{BAD} != 0"))
        row = row_as_json(spark, [(name,) for name in side.columns]).alias(ROW)
        offset = F.col(OFFSET).alias(f"{side.letter}{OFFSET}")
        no_tags, letter = F.lit(0).cast("long").alias(TAGS), F.lit(side.letter).alias(_SIDE)
        return rows.select(ARRIVAL, BAD, no_tags, offset, row, letter)

    def _origin(self, row: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
        offsets = ((side.stream, row.get(f"{side.letter}{OFFSET}")) for side in self.group.sides)
        return tuple((stream, offset) for stream, offset in offsets if offset is not None)


def _rows_of(table: pa.Table, letter: str | None) -> pa.Table:
    """The tuples of one side, or the pairs."""
    return table.filter(pc.is_null(table[_SIDE]) if letter is None else pc.equal(table[_SIDE], letter))


def _side(catalog: Catalog, templates: Sequence[Template], number: int) -> JoinSide:
    sides = [template.sides[number] for template in templates]
    stream = catalog.streams[sides[0].source.stream]
    assert stream.event_time is not None
    places, predicates = tuple(side.place for side in sides), tuple(side.predicates for side in sides)
    return JoinSide(stream.name, stream.columns, stream.event_time, places, predicates, "lr"[number])


def _span(times: np.ndarray) -> Span:
    """The span of some event times in microseconds, leaving out nulls, which are the smallest number."""
    present = times[times > np.iinfo(np.int64).min]
    return Span(int(present.min()), int(present.max())) if len(present) else NEVER
