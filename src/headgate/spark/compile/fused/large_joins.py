"""The job of a group of more than 60 joins: one join of rows that some member wants, members found on the driver.

The rows of both sides carry the columns by which the members that want them are found (`membership`), and so do the
pairs. A pair is for the members that want both of its rows and for whom it is new. Here nobody knows in the job which
members these are, so outputs and predicates on pairs are also computed for pairs that only other members want. If that
fails, the caller tries the halves of the group, down to groups with bits, which know it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame

from headgate.spark.compile.event_time_columns import quoted
from headgate.spark.compile.fused.input_rows import ship_rows
from headgate.spark.compile.fused.membership import Membership, Numbers, Pairs, hand_out, numbers_of
from headgate.spark.compile.fused.tags import NEW, OLD, TAGS, WORD, in_any, select_outputs, tag_expression
from headgate.spark.compile.leaf_rows import Leaf, Leaves, Logs
from headgate.spark.compile.quick_frames import SqlColumn, collect, select
from headgate.spark.compile.schemas import ARRIVAL, OFFSET, result_schema

if TYPE_CHECKING:
    from headgate.spark.compile.fused.joins import FusedJoins, JoinSide

_PAIR = "_pair"  # not zero if a pair may be new for a member
_Members = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class LargeJoins:
    """A group of any number of joins as one job."""

    group: FusedJoins
    select: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]  # each member's columns of the selection
    testing: tuple[int, ...]  # the members that have predicates on pairs
    memberships: dict[tuple[str, bool], Membership] = field(default_factory=dict)  # by side, and whether all are alike

    @classmethod
    def of(cls, group: FusedJoins) -> LargeJoins:
        select, names = select_outputs(group.outputs, group.plain, lambda members: "TRUE")
        testing = tuple(number for number, texts in enumerate(group.tests) if texts)
        return cls(group, tuple(select), tuple(map(tuple, names)), testing)

    def run(self, leaves: Sequence[Leaves], logs: Logs) -> list[pa.Table]:
        """One job: the pairs that it adds for each member."""
        taken, read = self.group.read(leaves, logs)
        left, right = read
        if left is None or right is None:
            return [result_schema(schema).empty_table() for schema in self.group.schemas]
        alike = len(set(zip(*taken, strict=True))) == 1
        frames = [
            self._frame(side, own, rows, alike)
            for side, own, rows in zip(self.group.sides, taken, (left, right), strict=True)
        ]
        columns = self.group.catalog.columns
        pairs = self.group.pairs(frames[0], frames[1], _PAIR)
        arrival = SqlColumn(f"greatest(l{ARRIVAL}, r{ARRIVAL})", ARRIVAL)
        hidden = [SqlColumn(side.letter + name) for side in self.group.sides for name in self._hidden(side, alike)]
        table = collect(select(pairs, columns.listed([*map(SqlColumn, self.select), arrival, *hidden, *self._tests()])))
        return hand_out(table, self._pairs(table, taken, alike), self.names, self.group.schemas)

    def _membership(self, side: JoinSide, alike: bool) -> Membership | None:
        """How the members that want a row of a side are found; None: all want all."""
        if not any(side.predicates):
            return None
        if (side.letter, alike) not in self.memberships:
            types = dict(self.group.catalog.streams[side.stream].schema)
            names = {name: quoted((name,)) for name in side.columns}
            self.memberships[side.letter, alike] = Membership.of(side.predicates, types, names, same=alike)
        return self.memberships[side.letter, alike]

    def _hidden(self, side: JoinSide, alike: bool) -> list[str]:
        """The columns of a side that pairs carry."""
        membership = self._membership(side, alike)
        return list(dict.fromkeys([*(membership.hidden if membership else ()), *(() if alike else (OFFSET,))]))

    def _frame(self, side: JoinSide, taken: Sequence[Leaf], rows: pa.Table, alike: bool) -> DataFrame:
        """A side's rows that some member may want, hidden columns with the side's letter before their names."""
        columns, membership, offsets = (
            self.group.catalog.columns,
            self._membership(side, alike),
            numbers_of(rows[OFFSET]),
        )
        table = rows.select([*side.columns, ARRIVAL, *(() if alike else (OFFSET,))])
        new = in_any(offsets, ((leaf.range.first, leaf.range.last) for leaf in taken))
        old = in_any(offsets, ((leaf.start, leaf.range.first) for leaf in taken))
        for name, flags in ((NEW, new), (OLD, old)):
            table = table.append_column(name, pa.array(flags.astype(np.int64)))
        own = [quoted((name,)) for name in side.columns]
        carried = [ARRIVAL, NEW, OLD, *(() if alike else (OFFSET,))]
        if membership is not None:
            for name, bits in membership.takers(offsets, _spans(taken)).items():
                table = table.append_column(name, pa.array(bits))
        frame = ship_rows(self.group.catalog.spark, table, meets=True)
        if membership is not None:
            frame = membership.with_hidden(columns, frame, [*map(SqlColumn, own), *map(SqlColumn, carried)], pin=True)
            frame = frame.where(columns.expression(membership.wanted(range(len(taken)))))
        hidden = dict.fromkeys([ARRIVAL, NEW, OLD, *self._hidden(side, alike)])
        return select(
            frame, columns.listed([*map(SqlColumn, own), *(SqlColumn(name, side.letter + name) for name in hidden)])
        )

    def _tests(self) -> list[SqlColumn]:
        """The members whose predicates on pairs hold, as bits in as many longs as needed."""
        words = [self.testing[first : first + WORD] for first in range(0, len(self.testing), WORD)]
        return [
            SqlColumn(tag_expression([self.group.tests[member] for member in word]), f"{TAGS}{number}")
            for number, word in enumerate(words)
        ]

    def _pairs(self, table: pa.Table, taken: Sequence[Sequence[Leaf]], alike: bool) -> Pairs:
        """The pairs of rows, each with a member that wants both rows and for whom the pair is new."""
        count, members = table.num_rows, len(self.names)
        wanted: npt.NDArray[np.int64] | None = None  # row · members + member, sorted
        for side, own in zip(self.group.sides, taken, strict=True):
            membership = self._membership(side, alike)
            if membership is not None:
                named = {name: table[side.letter + name] for name in membership.hidden}
                found = membership.pairs(pa.table(named), _spans(own))
                keys = np.sort(found.rows * members + found.members)
                wanted = keys if wanted is None else np.intersect1d(wanted, keys, assume_unique=True)
        if wanted is None:
            wanted = np.arange(count * members)
        rows, numbers = np.divmod(wanted, members)
        kept = self._meets_tests(table, rows, numbers)
        if not alike:
            kept &= self._is_new(table, taken, rows, numbers)
        rows, numbers = rows[kept], numbers[kept]
        order = np.argsort(numbers, kind="stable")
        return Pairs(rows[order], numbers[order])

    def _meets_tests(self, table: pa.Table, rows: Numbers, members: Numbers) -> _Members:
        """Which members' predicates on pairs hold for which rows."""
        kept = np.ones(len(rows), bool)
        if self.testing:
            places = np.full(len(self.names), -1)
            places[list(self.testing)] = np.arange(len(self.testing))
            own = places[members]
            words = np.stack([numbers_of(table[column.name]) for column in self._tests() if column.name])
            bits = words[np.maximum(own, 0) // WORD, rows] >> (np.maximum(own, 0) % WORD)
            kept = (own < 0) | (bits & 1 == 1)
        return kept

    def _is_new(self, table: pa.Table, taken: Sequence[Sequence[Leaf]], rows: Numbers, members: Numbers) -> _Members:
        """Which pairs are new for which member: one of the two rows is, and the other too, or it was taken before."""
        sides = []
        for side, own in zip(self.group.sides, taken, strict=True):
            offsets = numbers_of(table[side.letter + OFFSET])[rows]
            starts, firsts, lasts = (
                np.array(bounds)[members]
                for bounds in zip(*((leaf.start, leaf.range.first, leaf.range.last) for leaf in own), strict=True)
            )
            sides.append(((offsets >= firsts) & (offsets < lasts), (offsets >= starts) & (offsets < firsts)))
        (new_left, old_left), (new_right, old_right) = sides
        return (new_left & (new_right | old_right)) | (old_left & new_right)


def _spans(taken: Sequence[Leaf]) -> list[tuple[int, int]]:
    """The offsets of all rows that members take now or took before."""
    return [(leaf.start, leaf.range.last) for leaf in taken]
