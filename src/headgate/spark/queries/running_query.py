"""A query at one moment: where it stands in its streams and in what waits inside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from headgate.model import EventTime, Query, QueueId, Source
from headgate.plan.sharing import Place, below_window
from headgate.spark.compile import fragment_rows
from headgate.spark.compile.fragment_stream import FragmentStream
from headgate.spark.compile.fragments import Fragment
from headgate.spark.compile.frames import WholeQuery
from headgate.spark.compile.leaf_rows import Leaf, Range
from headgate.spark.compile.read_sets import node_at, sources
from headgate.spark.machine.fragments import ResumePoint
from headgate.spark.queries.layout import Layout
from headgate.spark.store.log.stream_log import StreamLog

Logs = Mapping[str, StreamLog]
Taken = Mapping[Place, Range]


@dataclass(frozen=True, slots=True)
class RunningQuery:
    """Where a query stood at one moment, with what it takes to read its logs from there."""

    query: Query
    layout: Layout
    one: Fragment  # the query in one piece
    starts: Mapping[Place, int] = field(default_factory=dict)  # the offsets of the streams from which it reads at all
    positions: Mapping[Place, int] = field(default_factory=dict)  # committed: in streams, and in what waits inside
    until: Mapping[Place, int] = field(default_factory=dict)  # of a one-time query: where its streams end for it
    queues: Mapping[Place, QueueId] = field(default_factory=dict)

    @classmethod
    def of(cls, resume_point: ResumePoint) -> RunningQuery:
        layout, one = cast(Layout, resume_point.layout), cast(Layout, resume_point.one)
        return cls(
            resume_point.query,
            layout,
            one.fragments[0],
            resume_point.starts,
            resume_point.positions,
            resume_point.until,
            resume_point.queues,
        )

    @property
    def name(self) -> str:
        return self.query.name

    @property
    def fragments(self) -> tuple[Fragment, ...]:
        return self.layout.fragments

    @property
    def leaves(self) -> dict[Place, Source]:
        """All that its pieces read: streams, and what waits inside."""
        return self.layout.leaves

    def log(self, stream: str, logs: Logs) -> StreamLog:
        return self.layout.logs[stream] if stream in self.layout.logs else logs[stream]

    def read(self, fragment: Fragment, taken: Taken, logs: Logs) -> tuple[dict[Place, Leaf], WholeQuery | None]:
        """A run's leaves as its piece knows them and, of a query in pieces, the whole at the cut they stand for."""
        if self.layout.whole:
            return {fragment.local(place): self.leaf(place, taken[place], logs) for place in taken}, None
        leaves = {
            fragment.local(place): Leaf(source.stream, taken[place], start=self.starts.get(place, 0))
            for place, source in fragment.leaves.items()
        }
        reached = self._reached(fragment, taken, logs)
        whole = {place: self.leaf(place, offsets, logs) for place, offsets in reached.items()}
        return leaves, WholeQuery(self.query.plan, fragment.place, whole)

    def late(self, taken: Taken, logs: Logs) -> int:
        """How many of the tuples that a run takes came too late for the windows above them."""
        windows = (place for place in taken if place in self.starts and below_window(self.query.plan, place))
        found = {self.queues[place]: (self.leaves[place].stream, taken[place]) for place in windows}
        return sum(logs[stream].late(offsets.first, offsets.last) for stream, offsets in found.values())

    def reached(self, logs: Logs) -> dict[Place, int]:
        """How far its results so far reach into its streams, by what waits inside."""
        here = {place: Range(offset, offset) for place, offset in self.positions.items()}
        if self.layout.whole:
            return dict(self.positions)
        found = {place: offset for place, offset in self.positions.items() if place in self.starts}
        for fragment in self.fragments:
            for place, offsets in self._reached(fragment, here, logs).items():
                found[place] = min(found.get(place, offsets.first), offsets.first)
        return found

    def stands(self) -> dict[Place, int]:
        """Where it stands in its streams: the first tuples that have not gone all the way."""
        if self.layout.whole:
            return dict(self.positions)
        found: dict[Place, int] = {}
        for fragment in self.fragments:
            for place, offset in self._reached_by(fragment).items():
                found[place] = min(found.get(place, offset), offset)
        return found

    def _reached_by(self, fragment: Fragment) -> dict[Place, int]:
        """The same for the results of one piece.

        Where it has taken all rows inside, it reaches as far as those who give them: they may have given none lately.
        """
        found: dict[Place, int] = {}
        for place, source in fragment.leaves.items():
            inner, position = fragment.prepared.catalog.streams[source.stream], self.positions[place]
            if not isinstance(inner, FragmentStream):
                found[place] = position
                continue
            log = self.layout.logs[inner.name]
            if position >= log.end:
                (feeder,) = (one for one in self.fragments if one.feeds is not None and one.feeds.name == inner.name)
                below = self._reached_by(feeder)
                reach: Sequence[int] = [below[(*feeder.place, *local)] for local in inner.below]
            else:
                reach = fragment_rows.reach(
                    log, inner, position, [self.layout.base[(*place, *each)] for each in inner.below]
                )
            found |= {(*place, *local): offset for local, offset in zip(inner.below, reach, strict=True)}
        return found

    def leaf(self, place: Place, offsets: Range, logs: Logs) -> Leaf:
        """A stream as one leaf of the whole plan."""
        source = node_at(self.query.plan, place)
        assert isinstance(source, Source)
        log, until = logs[source.stream], self.until.get(place, math.inf)
        old, new = (math.inf if at >= until else log.frontier_at(at) for at in (offsets.first, offsets.last))
        return Leaf(source.stream, offsets, old, new, self.starts[place])

    @property
    def streams(self) -> set[str]:
        """The streams that it reads."""
        return set(stream_leaves(self.query).values())

    def closed(self, frontiers: Mapping[str, EventTime | None]) -> tuple[EventTime, ...]:
        """The last ends of the windows that have closed when the streams of a query in one piece have come so far."""
        leaves = {
            place: Leaf(source.stream, Range(0, 0), frontier_new=frontiers[source.stream])
            for place, source in self.one.leaves.items()
        }
        return self.one.prepared.closed(leaves)

    def can_close(self, fragment: Fragment, ends: Mapping[str, int], logs: Logs) -> bool:
        """Whether a window ends between where a piece stands and the ends of what it reads."""
        upto = {
            place: Range(self.positions[place], ends.get(source.stream, self.log(source.stream, logs).end))
            for place, source in fragment.leaves.items()
        }
        leaves, whole = self.read(fragment, upto, logs)
        return fragment.prepared.closes(leaves, whole)

    def _reached(self, fragment: Fragment, taken: Taken, logs: Logs) -> dict[Place, Range]:
        """The offsets of the streams below a piece that its rows stand for, before and after a run."""
        found: dict[Place, Range] = {}
        for place, source in fragment.leaves.items():
            inner, offsets = fragment.prepared.catalog.streams[source.stream], taken[place]
            if not isinstance(inner, FragmentStream):
                found[place] = offsets
                continue
            log = self.layout.logs[inner.name]
            base = [self.layout.base[(*place, *local)] for local in inner.below]
            old, new = (fragment_rows.reach(log, inner, offset, base) for offset in (offsets.first, offsets.last))
            for local, before, after in zip(inner.below, old, new, strict=True):
                found[(*place, *local)] = Range(before, after)
        return found


def stream_leaves(query: Query) -> dict[Place, str]:
    """The streams that a query reads, by their places."""
    return {place: source.stream for place, source in sources(query.plan)}
