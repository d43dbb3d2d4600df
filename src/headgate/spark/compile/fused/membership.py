"""Which members of a group want a row: found by a look-up, by tests, or always.

A member whose predicates only compare columns with constants is *looked up* (`grouped_predicates`): the job gives each
row its cell in every such column, and the driver knows the members of a cell. The other members are *tested*: the job
computes their predicates, and a row carries the answers as bits in as many longs as needed (`tags`). Members without
predicates want every row.

What the driver gets is a table of rows with these hidden columns; `Membership.pairs` makes of it pairs of a row and a
member that wants it, and `hand_out` gives each member its rows, after one sort by member.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from headgate.plan.sql.rewriting import conjuncts_of
from headgate.spark.compile.fused.grouped_predicates import (
    MOST,
    Boundaries,
    Comparison,
    boundaries,
    comparison,
    kind_of,
)
from headgate.spark.compile.fused.tags import IN, TAGS, WORD, pinned, tag_expression
from headgate.spark.compile.quick_frames import Columns, SqlColumn, select
from headgate.spark.compile.schemas import ARRIVAL, CLOSES, OFFSET, result_schema

Numbers = npt.NDArray[np.int64]
_PART, _PLACE, _CELL = "_part", "_place", "_cell"


class Pairs(NamedTuple):
    """Rows of a table and members that want them, a pair at each position, sorted by member."""

    rows: Numbers
    members: Numbers


@dataclass(frozen=True, eq=False)
class LookedUp:
    """A column by which members are looked up, with the truth of their comparisons of it for each cell."""

    boundaries: Boundaries
    members: Numbers  # that compare the column
    first: npt.NDArray[np.bool_]  # of those, the ones that are found by this column; the others are found by another
    truth: npt.NDArray[np.bool_]  # [member, cell]

    @cached_property
    def found(self) -> tuple[Numbers, Numbers]:
        """The members that are found in each cell, one cell after the other, and where each cell's begin."""
        cells, own = np.nonzero(self.truth[self.first].T)
        begins = np.searchsorted(cells, np.arange(self.boundaries.cells + 1))
        return self.members[self.first][own], begins

    def pairs(self, cells: Numbers) -> tuple[Numbers, Numbers]:
        """Rows, given by their cells, and the members that are found for them."""
        members, begins = self.found
        counts = begins[cells + 1] - begins[cells]
        rows = np.repeat(np.arange(len(cells)), counts)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows, members[np.repeat(begins[cells], counts) + within]


@dataclass(frozen=True, eq=False)
class Membership:
    """The members of a group and how each of them is found. `same` says that all take the same rows."""

    predicates: tuple[tuple[str, ...], ...]
    looked_up: tuple[LookedUp, ...]
    tested: tuple[int, ...]
    always: tuple[int, ...]
    same: bool

    @classmethod
    def of(
        cls,
        predicates: Sequence[Sequence[str]],
        types: Mapping[str, str],
        quoted: Mapping[str, str],
        *,
        exact: Iterable[int] = (),
        same: bool,
    ) -> Membership:
        """Members by their predicates; of those in `exact`, `wanted` must say exactly which rows they want."""
        inexact = set(range(len(predicates))) - set(exact)
        always = [number for number, texts in enumerate(predicates) if not texts and (same or number in inexact)]
        comparing = {
            number: found
            for number, texts in enumerate(predicates)
            if texts
            and (found := _comparisons(tuple(texts), types)) is not None
            and (number in inexact or (same and len({own.column for own in found}) == 1))
        }
        columns = sorted({own.column for found in comparing.values() for own in found})
        looked_up = [_looked_up(column, quoted[column], types[column], comparing) for column in columns]
        if any(len(own.boundaries.values) > MOST for own in looked_up):
            comparing, looked_up = {}, []
        tested = [number for number in range(len(predicates)) if number not in comparing and number not in always]
        return cls(tuple(map(tuple, predicates)), tuple(looked_up), tuple(tested), tuple(always), same)

    @property
    def words(self) -> list[tuple[int, ...]]:
        """The tested members by the long that has their bits."""
        return [self.tested[first : first + WORD] for first in range(0, len(self.tested), WORD)]

    @property
    def hidden(self) -> list[str]:
        """The columns by which members are found."""
        cells = [f"{_CELL}{number}" for number in range(len(self.looked_up))]
        words = [f"{TAGS}{number}" for number in range(len(self.words))]
        return [*cells, *words, *([] if self.same else [OFFSET])]

    def takers(self, offsets: Numbers, spans: Sequence[tuple[int, int]]) -> dict[str, Numbers]:
        """Columns of input that say which tested members take a row, by its offset."""
        columns: dict[str, Numbers] = {}
        for word, members in enumerate(() if self.same else self.words):
            bits = np.zeros(len(offsets), np.int64)
            for bit, member in enumerate(members):
                first, last = spans[member]
                bits |= ((offsets >= first) & (offsets < last)).astype(np.int64) << bit
            columns[f"{IN}{word}"] = bits
        return columns

    def with_hidden(self, columns: Columns, frame: DataFrame, kept: Sequence[SqlColumn], *, pin: bool) -> DataFrame:
        """A frame's rows with the columns by which members are found; with `pin` these are computed once for a row."""
        spark = frame.sparkSession
        own = [column.text for column in kept]
        lookups = list(enumerate(self.looked_up))
        if lookups:
            passed = own if self.same else [*own, *(f"{IN}{word}" for word in range(len(self.words)))]
            cut = [f"{_PART}{n}" for n, up in lookups if up.boundaries.parts]
            if cut:
                frame = select(frame, columns.several(("parts", self, *passed), lambda: self._parts(spark, passed)))
            places = columns.several(("places", self, *passed), lambda: self._places(spark, [*passed, *cut]))
            frame = select(frame, places)
        found = [
            SqlColumn(_pinned(up.boundaries.cell(f"{_PLACE}{n}", f"{_PART}{n}"), pin), f"{_CELL}{n}")
            for n, up in lookups
        ]
        words = [
            SqlColumn(_pinned(self._tags(word, members), pin), f"{TAGS}{word}")
            for word, members in enumerate(self.words)
        ]
        return select(frame, columns.listed([*map(SqlColumn, own), *found, *words]))

    def wanted(self, members: Iterable[int]) -> str:
        """Whether one of these members wants a row, as SQL over the hidden columns.

        A member that is looked up in two columns counts as wanting all that it is found for in the first, so for such
        members it may say so too often, and also if members take different rows.
        """
        chosen = set(members)
        if chosen & set(self.always):
            return "TRUE"
        tests = [
            f"({TAGS}{word} & {sum(1 << bit for bit, member in enumerate(own) if member in chosen)}L) != 0"
            for word, own in enumerate(self.words)
            if chosen & set(own)
        ]
        for number, up in enumerate(self.looked_up):
            concerned = up.first & np.isin(up.members, list(chosen))
            if concerned.any():
                tests.append(_holds(np.logical_or.reduce(up.truth[concerned]), f"{_CELL}{number}"))
        return " OR ".join(tests) or "FALSE"

    def pairs(self, table: pa.Table, spans: Sequence[tuple[int, int]]) -> Pairs:
        """The rows of a result and the members that want them and take them."""
        count = table.num_rows
        cells = [
            table[f"{_CELL}{number}"].fill_null(up.boundaries.cells - 1).to_numpy().astype(np.int64)
            for number, up in enumerate(self.looked_up)
        ]
        found = [up.pairs(own) for up, own in zip(self.looked_up, cells, strict=True)]
        found += [(np.arange(count), np.full(count, member)) for member in self.always]
        found += [_set_bits(table[f"{TAGS}{word}"], own) for word, own in enumerate(self.words)]
        rows, members = (np.concatenate([pair[side] for pair in found] or [np.empty(0, np.int64)]) for side in (0, 1))
        rows, members = self._meeting_all(rows, members, cells)
        if not self.same:
            firsts, lasts = np.array(spans, np.int64).reshape(-1, 2).T
            offsets = table[OFFSET].to_numpy()[rows]
            taken = (offsets >= firsts[members]) & (offsets < lasts[members])
            rows, members = rows[taken], members[taken]
        order = np.argsort(members, kind="stable")
        return Pairs(rows[order], members[order])

    def _meeting_all(self, rows: Numbers, members: Numbers, cells: Sequence[Numbers]) -> tuple[Numbers, Numbers]:
        """Only pairs whose member's comparisons of other columns hold, too."""
        for up, own_cells in zip(self.looked_up, cells, strict=True):
            if up.first.all():
                continue
            position = np.full(len(self.predicates), -1)
            position[up.members[~up.first]] = np.nonzero(~up.first)[0]
            places = position[members]
            meets = (places < 0) | up.truth[places, own_cells[rows]]
            rows, members = rows[meets], members[meets]
        return rows, members

    def _parts(self, spark: SparkSession, passed: Sequence[str]) -> list[Column]:
        cut = [(n, up.boundaries) for n, up in enumerate(self.looked_up) if up.boundaries.parts]
        return [*map(F.expr, passed), *(own.part(spark).alias(f"{_PART}{n}") for n, own in cut)]

    def _places(self, spark: SparkSession, passed: Sequence[str]) -> list[Column]:
        places = [
            up.boundaries.place(spark, f"{_PART}{n}").alias(f"{_PLACE}{n}") for n, up in enumerate(self.looked_up)
        ]
        return [*map(F.expr, passed), *places]

    def _tags(self, word: int, members: Sequence[int]) -> str:
        within = None if self.same else f"{IN}{word}"
        return tag_expression([self.predicates[member] for member in members], within)


def numbers_of(column: pa.ChunkedArray) -> Numbers:
    """A column of whole numbers as an array."""
    numbers: Numbers = column.to_numpy()
    return numbers


def split_by_member(table: pa.Table, names: Sequence[Sequence[str]], schemas: Sequence[pa.Schema]) -> list[pa.Table]:
    """Each member's rows of a result whose rows have the bits of the members that they are for in `_tags`."""
    rows, members = _set_bits(table[TAGS], range(len(schemas)))
    order = np.argsort(members, kind="stable")
    return hand_out(table, Pairs(rows[order], members[order]), names, schemas)


def pairs_by_number(numbers: pa.ChunkedArray) -> Pairs:
    """Pairs of rows that are each for one member, whose number they have, or for nobody: -1.

    >>> pairs_by_number(pa.chunked_array([[1, -1, 0, 1]]))
    Pairs(rows=array([2, 0, 3]), members=array([0, 1, 1]))
    """
    members = numbers.to_numpy().astype(np.int64)
    order = np.argsort(members, kind="stable")
    order = order[np.searchsorted(members[order], 0) :]
    return Pairs(order, members[order])


def hand_out(
    table: pa.Table, pairs: Pairs, names: Sequence[Sequence[str]], schemas: Sequence[pa.Schema]
) -> list[pa.Table]:
    """Each member's rows in its own columns, with `_arrival` and `_closes` (null if missing).

    Members with equal columns share one table, of which each has a slice.
    """
    if CLOSES not in table.schema.names:
        table = table.append_column(CLOSES, pa.nulls(table.num_rows, pa.timestamp("us", "UTC")))
    layouts: dict[tuple[tuple[str, ...], int], list[int]] = {}
    for member, (own, schema) in enumerate(zip(names, schemas, strict=True)):
        layouts.setdefault((tuple(own), id(schema)), []).append(member)  # equal ones are one object: see `interned`
    begins = np.searchsorted(pairs.members, np.arange(len(names) + 1))
    tables: list[pa.Table] = [None] * len(names)
    for (own, _), members in layouts.items():
        rows = (
            pairs.rows
            if len(layouts) == 1
            else np.concatenate([pairs.rows[begins[member] : begins[member + 1]] for member in members])
        )
        shared = _in_columns(table, rows, own, result_schema(schemas[members[0]]))
        begin = 0
        for member in members:
            count = int(begins[member + 1] - begins[member])
            tables[member] = shared.slice(begin, count)
            begin += count
    return tables


def _in_columns(table: pa.Table, rows: Numbers, names: Sequence[str], schema: pa.Schema) -> pa.Table:
    """Some rows of a table: some columns under the names and types of a schema."""
    taken = table.select(list(dict.fromkeys((*names, ARRIVAL, CLOSES)))).take(pa.array(rows)).combine_chunks()
    arrays = [taken[name].cast(column.type) for name, column in zip((*names, ARRIVAL, CLOSES), schema, strict=True)]
    return pa.table(arrays, schema=schema)


def _comparisons(texts: tuple[str, ...], types: Mapping[str, str]) -> list[Comparison] | None:
    """A member's predicates as comparisons, if all of them are."""
    found = [comparison(text, types) for text in conjuncts_of(texts)]
    return None if any(own is None for own in found) else [own for own in found if own is not None]


def _looked_up(column: str, quoted: str, declared: str, comparing: Mapping[int, Sequence[Comparison]]) -> LookedUp:
    own = {
        member: [comparison for comparison in found if comparison.column == column]
        for member, found in comparing.items()
        if any(comparison.column == column for comparison in found)
    }
    cut = boundaries(column, quoted, kind_of(declared), [comparison for found in own.values() for comparison in found])
    truth = np.array([np.all([cut.truth(comparison) for comparison in found], axis=0) for found in own.values()])
    first = [min(comparison.column for comparison in comparing[member]) == column for member in own]
    return LookedUp(cut, np.array(list(own), np.int64), np.array(first, bool), truth)


def _set_bits(tags: pa.ChunkedArray, members: Sequence[int]) -> tuple[Numbers, Numbers]:
    """Rows and members whose bits are set."""
    words = np.ascontiguousarray(tags.to_numpy().astype("<i8"))
    bits = np.unpackbits(words.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")[:, : len(members)]
    rows, places = np.nonzero(bits)
    return rows, np.array(members, np.int64)[places]


def _holds(truth: npt.NDArray[np.bool_], cell: str) -> str:
    """Whether something holds for the values of a cell, as SQL: its bit in an array of longs.

    >>> _holds(np.array([False, True, True]), "_cell0")
    'getbit(get(array(6L), CAST(shiftright(coalesce(_cell0, 2), 6) AS INT)), CAST(coalesce(_cell0, 2) & 63 AS INT)) = 1'
    """
    padded = np.zeros(-len(truth) % 64 + len(truth), bool)
    padded[: len(truth)] = truth
    longs = np.packbits(padded, bitorder="little").view("<i8").tolist()
    texts = ", ".join(f"{value}L" if value != -(1 << 63) else f"({value + 1}L - 1L)" for value in longs)
    known = f"coalesce({cell}, {len(truth) - 1})"
    return f"getbit(get(array({texts}), CAST(shiftright({known}, 6) AS INT)), CAST({known} & 63 AS INT)) = 1"


def _pinned(text: str, pin: bool) -> str:
    return pinned(text) if pin else text
