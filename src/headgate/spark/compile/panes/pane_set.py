"""The panes of one log: the rows of its trains are folded in by a Spark job, each row once.

What a closed window holds are all rows with its event times that are not late, from the offset on at which the query
began. Such a row comes before the offset at which the window closes. So panes are indexed by event time alone: to have
folded in rows beyond the offset of a query does no harm, and queries at different offsets use the same panes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import inf
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.model import EventTime
from headgate.spark.compile.event_time_columns import quoted
from headgate.spark.compile.executor_reads import SealedRows, sealed_rows
from headgate.spark.compile.fused.aggregates import member_copies
from headgate.spark.compile.fused.input_rows import micros_of, ship_rows
from headgate.spark.compile.fused.membership import Membership, Pairs
from headgate.spark.compile.fused.tags import MEMBER
from headgate.spark.compile.leaf_rows import ReadableLog, read_kept
from headgate.spark.compile.panes.functions import Merge, Partial, UnfitError
from headgate.spark.compile.panes.merging import column_names, merge
from headgate.spark.compile.panes.pane_tree import PaneTree
from headgate.spark.compile.quick_frames import Columns, SqlColumn, collect, group_by, select
from headgate.spark.compile.repeated_jobs import FEW, RepeatedJob
from headgate.spark.compile.schemas import ARRIVAL, OFFSET
from headgate.spark.compile.time_spans import Span, in_long

LATEST = Partial(Merge.MAX, (f"max({ARRIVAL})",))  # the first of the partial aggregates of every set
MOST_MERGED = 5_000_000  # rows of partial aggregates that are merged at a time
REMEMBERED = 256  # runs after which a query that has not run is taken for gone
WINDOW_END = "_end"
_PANE = "_pane"


@dataclass(frozen=True, slots=True)
class Contents:
    """What a set of panes is made of."""

    stream: str
    time: str
    columns: Mapping[str, str]  # of the stream, which the job reads, with their types
    keys: tuple[str, ...]  # as SQL
    filters: tuple[tuple[str, ...], ...]  # a row is aggregated for each of these whose predicates all hold
    partials: tuple[Partial, ...]
    width: int  # microseconds

    @property
    def key_names(self) -> tuple[str, ...]:
        return tuple(f"_k{number}" for number in range(len(self.keys)))

    @property
    def computed(self) -> dict[str, str]:
        """The arguments that aggregates use several times, which are computed once for a row, and their names."""
        uses = Counter(text for partial in self.partials for text in partial.repeated)
        return {text: f"_a{number}" for number, (text, count) in enumerate(uses.items()) if count > 1}

    def serves(self, other: Contents) -> bool:
        """Whether a set of these contents does for queries that ask for others."""
        same = (self.stream, self.time, self.keys) == (other.stream, other.time, other.keys)
        more = {*self.filters} >= {*other.filters} and {*self.partials} >= {*other.partials}
        return same and more and other.width % self.width == 0


class Need(NamedTuple):
    """What a query wants of a set in a run: rows at offsets [start, last) with event times from `low` on.

    `next_low` is from which event time on its later runs want rows.
    """

    query: int
    start: int
    last: int
    low: EventTime
    next_low: EventTime


class _User(NamedTuple):
    start: int
    low: EventTime
    run: int


@dataclass(slots=True)
class PaneSet:
    """The panes of a log's rows at offsets [since, upto) with event times from `low` on."""

    spark: SparkSession
    columns: Columns
    log: ReadableLog
    contents: Contents
    since: int = 0
    upto: int = 0
    low: EventTime = inf
    tree: PaneTree = field(init=False)
    _membership: Membership | None = field(init=False, default=None)  # how filters that want a row are found
    _job: RepeatedJob = field(init=False)
    _users: dict[int, _User] = field(default_factory=dict)
    _runs: int = 0

    def __post_init__(self) -> None:
        contents = self.contents
        if len(contents.filters) > 1:
            names = {name: quoted((name,)) for name in contents.columns}
            self._membership = Membership.of(contents.filters, contents.columns, names, same=True)
        self._job = RepeatedJob(self.spark, lambda frames: self._few(frames[0].coalesce(1)))
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self.tree = PaneTree(lambda table: merge(table, (MEMBER, *self.contents.key_names), self.contents.partials))
        self.since = self.upto = 0
        self.low = inf

    def provide(self, needs: Sequence[Need]) -> None:
        """Fold in what queries need and the set lacks; no rows are added if the job fails."""
        self._runs += 1
        self._remember({need.query: _User(need.start, need.low, self._runs) for need in needs})
        since = min(user.start for user in self._users.values())
        low = min(user.low for user in self._users.values())
        if since < self.since or low < self.low:
            self.clear()
            self.since = self.upto = since
            self.low = low
        self._drop_before(low)
        self._fold(max(need.last for need in needs))

    def release(self, needs: Iterable[Need]) -> None:
        """Forget the panes that none of the queries that use the set will ask for again."""
        self._remember({need.query: _User(need.start, need.next_low, self._runs) for need in needs})
        self._drop_before(min(user.low for user in self._users.values()))

    @property
    def lows(self) -> dict[int, EventTime]:
        """The queries that use the set, and from which event time on each wants rows."""
        return {query: user.low for query, user in self._users.items()}

    def keep_users(self, lows: Mapping[int, EventTime]) -> None:
        """Forget all other queries, and the panes that nobody wants if these want rows from such event times on."""
        self._users = {query: user._replace(low=lows[query]) for query, user in self._users.items() if query in lows}
        self._drop_before(min((user.low for user in self._users.values()), default=inf))

    def _remember(self, users: Mapping[int, _User]) -> None:
        everyone = {**self._users, **users}
        self._users = {query: user for query, user in everyone.items() if self._runs - user.run <= REMEMBERED}

    def _drop_before(self, low: EventTime) -> None:
        if low > self.low:
            self.low = low
            self.tree.drop_before(self._pane(low))

    def usable(self, start: int, times: Span) -> bool:
        """Whether the panes with these event times hold no row from before an offset."""
        return self.since >= start or self.tree.first_offset(*self._panes(times)) >= start

    def windows(self, spans: Sequence[tuple[int, int]]) -> pa.Table:
        """Partial aggregates of windows [start, end) in microseconds, whose ends are in the column `_end`."""
        tables: list[pa.Table] = []
        ends: list[int] = []
        rows: list[int] = []
        for start, end in spans:
            for table in self.tree.cover(start // self.contents.width, end // self.contents.width):
                tables.append(table)
                ends.append(end)
                rows.append(table.num_rows)
        if sum(rows) > MOST_MERGED:
            raise UnfitError(f"{len(spans)} windows close that have {sum(rows)} rows to merge")
        whole = pa.concat_tables(tables).append_column(WINDOW_END, pa.array(np.repeat(ends, rows)))
        return merge(whole, (WINDOW_END, MEMBER, *self.contents.key_names), self.contents.partials)

    def ends(self, span: Span, size: int, slide: int) -> list[int]:
        """The ends within a span of those windows that hold a pane with rows."""
        panes = np.sort(np.array(self.tree.panes, np.int64)) * self.contents.width
        panes = panes[(panes < span.high) & (panes >= span.low - size)]
        first = (panes - size) // slide * slide + slide + size  # the first end after each pane
        last = first + (panes + size - first) // slide * slide  # that of the last window which holds it
        first[1:] = np.maximum(first[1:], last[:-1] + slide)  # those before it hold an earlier pane, too
        ends = (end for low, high in zip(first, last, strict=True) for end in range(low, high + 1, slide))
        return [end for end in ends if span.low <= end <= span.high]

    def _pane(self, moment: EventTime) -> int:
        return in_long(moment) // self.contents.width

    def _panes(self, times: Span) -> tuple[int, int]:
        return self._pane(times.low), self._pane(times.high) + 1

    def _fold(self, last: int) -> None:
        """Fold in the rows before an offset that are not in the set yet."""
        if last <= self.upto:
            return
        rows, sealed, first = read_kept(self.log, self.upto, lambda first: self._read(first, last))
        if rows.num_rows or sealed is not None:
            aggregated = self._aggregated(rows, sealed)
            try:
                self._add(aggregated, rows, None if sealed is None else first)
            except BaseException:
                self.clear()  # otherwise some rows would be folded in twice
                raise
        self.upto = last

    def _read(self, first: int, last: int) -> tuple[pa.Table, SealedRows | None, int]:
        sealed = sealed_rows(self.log, first, last, self.contents.time, Span(self.low), late=False)
        rest = first if sealed is None else sealed.end
        return self.log.read_window(rest, last, self.low, inf), sealed, first

    def _aggregated(self, rows: pa.Table, sealed: SealedRows | None) -> pa.Table:
        """One Spark job: the partial aggregates of rows by pane, filter and keys."""
        names = [*self.contents.columns, ARRIVAL]
        if sealed is None and rows.num_rows <= FEW:
            return self._by_filter(self._job.collect(rows.select(names)))
        frames = []
        if sealed is not None:
            frames.append(sealed.frame(self.spark, rows.schema).select(*(quoted((name,)) for name in names)))
        if rows.num_rows:
            frames.append(ship_rows(self.spark, rows.select(names), meets=True))
        return collect(self._many(reduce(DataFrame.union, frames)))

    def _few(self, frame: DataFrame) -> DataFrame:
        """Few rows, by pane, keys and the columns by which their filters are found: there are no more of these.

        So a row is aggregated once, however many filters want it; `_by_filter` does the rest on the driver.
        """
        if self._membership is None:
            return self._many(frame)
        kept = [SqlColumn(quoted((name,))) for name in (*self.contents.columns, ARRIVAL)]
        frame = self._membership.with_hidden(self.columns, frame, kept, pin=False)
        return self._grouped(frame, [SqlColumn(name) for name in self._membership.hidden])

    def _by_filter(self, aggregated: pa.Table) -> pa.Table:
        """The rows of `_few` by filter: those of a filter that have equal keys become one."""
        if self._membership is None:
            return aggregated
        pairs = self._membership.pairs(aggregated, ())
        named = aggregated.drop_columns(self._membership.hidden)
        keys = (_PANE, MEMBER, *self.contents.key_names)
        merged = [
            merge(_with_member(named, part), keys, self.contents.partials) for part in _in_parts(pairs, MOST_MERGED)
        ]
        return pa.concat_tables(merged)

    def _many(self, frame: DataFrame) -> DataFrame:
        """Rows by pane, filter and keys, a copy of each for every filter that wants it: the least for the driver."""
        filters = self.contents.filters
        if len(filters) > 1:
            copies = SqlColumn(member_copies(filters, None), MEMBER)
            return self._grouped(select(frame, self.columns.listed([SqlColumn("*"), copies])), [SqlColumn(MEMBER)])
        if filters[0]:
            frame = frame.where(self.columns.expression(" AND ".join(f"({text})" for text in filters[0])))
        return self._grouped(frame, [SqlColumn("0", MEMBER)])

    def _grouped(self, frame: DataFrame, by: Sequence[SqlColumn]) -> DataFrame:
        """The partial aggregates of rows by pane, keys and further columns."""
        contents, listed = self.contents, self.columns.listed
        time = f"unix_micros({quoted((contents.time,))})"
        pane = SqlColumn(f"({time} - pmod({time}, {contents.width}L)) div {contents.width}L", _PANE)
        keys = [SqlColumn(text, name) for text, name in zip(contents.keys, contents.key_names, strict=True)]
        computed = contents.computed
        if computed:
            arguments = [SqlColumn(text, name) for text, name in computed.items()]
            frame = select(frame, listed([SqlColumn("*"), *arguments]))
        values = [
            SqlColumn(text, name)
            for position, partial in enumerate(contents.partials)
            for text, name in zip(partial.columns(computed), column_names(position, partial), strict=True)
        ]
        return group_by(frame, listed([pane, *by, *keys]), self.columns.aggregates(values))

    def _add(self, aggregated: pa.Table, rows: pa.Table, sealed_first: int | None) -> None:
        aggregated = aggregated.filter(aggregated[_PANE].is_valid()).sort_by(_PANE).combine_chunks()
        panes, starts, counts = np.unique(aggregated[_PANE].to_numpy(), return_index=True, return_counts=True)
        offsets = self._first_offsets(rows) if sealed_first is None else {}
        tables = aggregated.drop_columns([_PANE])
        tables = pa.table(tables.columns, names=tables.column_names)  # whether a column may be null depends on the job
        for pane, start, count in zip(panes.tolist(), starts.tolist(), counts.tolist(), strict=True):
            self.tree.add(pane, tables.slice(start, count), offsets.get(pane, sealed_first or 0))

    def _first_offsets(self, rows: pa.Table) -> dict[int, int]:
        """The first offset of each pane among rows, which are in the order of their offsets."""
        panes, first = np.unique(micros_of(rows, self.contents.time) // self.contents.width, return_index=True)
        offsets = rows[OFFSET].to_numpy()[first]
        return dict(zip(panes.tolist(), offsets.tolist(), strict=True))


def _with_member(aggregated: pa.Table, pairs: Pairs) -> pa.Table:
    """Rows, a copy for each filter that wants them, with its number behind their pane."""
    copies = aggregated.take(pa.array(pairs.rows))
    return copies.add_column(1, MEMBER, pa.array(pairs.members.astype(np.int32)))


def _in_parts(pairs: Pairs, most: int) -> Iterator[Pairs]:
    """Pairs in parts of about `most`, all of a member in one of them; at least one part.

    >>> [part.members.tolist() for part in _in_parts(Pairs(np.arange(5), np.array([0, 0, 1, 1, 2])), 3)]
    [[0, 0], [1, 1, 2]]
    """
    begin = last = 0
    for end in [*(np.nonzero(np.diff(pairs.members))[0] + 1).tolist(), len(pairs.members)]:
        if end - begin > most and last > begin:
            yield Pairs(pairs.rows[begin:last], pairs.members[begin:last])
            begin = last
        last = end
    yield Pairs(pairs.rows[begin:], pairs.members[begin:])
