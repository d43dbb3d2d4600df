"""A query at its resume point: its positions in streams and fragment logs, and what a run from there reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from headgate.model import EventTime, Query, QueueId, Source
from headgate.plan.places import Place, below_window
from headgate.spark.compile import fragment_rows
from headgate.spark.compile.fragment_stream import FragmentStream
from headgate.spark.compile.fragments import Fragment
from headgate.spark.compile.frames import WholeQuery
from headgate.spark.compile.leaf_rows import Leaf, Range
from headgate.spark.compile.read_sets import node_at, sources
from headgate.spark.machine.interfaces import ResumePoint
from headgate.spark.queries.layout import Layout
from headgate.spark.store.log.stream_log import StreamLog

Logs = Mapping[str, StreamLog]
Ranges = Mapping[Place, Range]


@dataclass(frozen=True, slots=True)
class RunningQuery:
    """A resume point with the Spark layout that is needed to read the logs from there."""

    query: Query
    layout: Layout
    unfragmented: Fragment  # the query as one fragment
    starts: Mapping[Place, int] = field(default_factory=dict)  # the stream offsets from which it reads at all
    positions: Mapping[Place, int] = field(default_factory=dict)  # committed, in streams and in fragment logs
    until: Mapping[Place, int] = field(default_factory=dict)  # of a one-time query: the offsets at which it ends
    queues: Mapping[Place, QueueId] = field(default_factory=dict)

    @classmethod
    def of(cls, resume_point: ResumePoint) -> RunningQuery:
        layout, unfragmented = cast(Layout, resume_point.layout), cast(Layout, resume_point.unfragmented)
        return cls(
            resume_point.query,
            layout,
            unfragmented.fragments[0],
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
        """All streams and fragment logs that its fragments read."""
        return self.layout.leaves

    def log(self, stream: str, logs: Logs) -> StreamLog:
        return self.layout.logs[stream] if stream in self.layout.logs else logs[stream]

    def read(self, fragment: Fragment, ranges: Ranges, logs: Logs) -> tuple[dict[Place, Leaf], WholeQuery | None]:
        """The leaves of a run by their places in the fragment, and for a fragmented query the whole plan around it."""
        if self.layout.whole:
            return {fragment.local(place): self.leaf(place, ranges[place], logs) for place in ranges}, None
        leaves = {
            fragment.local(place): Leaf(source.stream, ranges[place], start=self.starts.get(place, 0))
            for place, source in fragment.leaves.items()
        }
        reached = self._reached(fragment, ranges, logs)
        whole = {place: self.leaf(place, offsets, logs) for place, offsets in reached.items()}
        return leaves, WholeQuery(self.query.plan, fragment.place, whole)

    def late(self, ranges: Ranges, logs: Logs) -> int:
        """How many of the tuples that a run takes came too late for the windows above them."""
        windows = (place for place in ranges if place in self.starts and below_window(self.query.plan, place))
        by_queue = {self.queues[place]: (self.leaves[place].stream, ranges[place]) for place in windows}
        return sum(logs[stream].late(offsets.first, offsets.last) for stream, offsets in by_queue.values())

    def end_markers(self, ranges: Ranges, logs: Logs) -> int:
        """How many of the offsets that a run takes are the ends of streams."""
        by_queue = {
            self.queues[place]: (logs[self.leaves[place].stream].finished_at, offsets)
            for place, offsets in ranges.items()
            if place in self.starts
        }
        return sum(end is not None and offsets.first <= end < offsets.last for end, offsets in by_queue.values())

    def reached(self, logs: Logs) -> dict[Place, int]:
        """The stream offsets that its results so far cover, judged by the rows in its fragment logs."""
        here = {place: Range(offset, offset) for place, offset in self.positions.items()}
        if self.layout.whole:
            return dict(self.positions)
        reached = {place: offset for place, offset in self.positions.items() if place in self.starts}
        for fragment in self.fragments:
            for place, offsets in self._reached(fragment, here, logs).items():
                reached[place] = min(reached.get(place, offsets.first), offsets.first)
        return reached

    def stream_positions(self) -> dict[Place, int]:
        """Its position in each stream: the offset of the first tuple that has not passed all fragments."""
        if self.layout.whole:
            return dict(self.positions)
        positions: dict[Place, int] = {}
        for fragment in self.fragments:
            for place, offset in self._reached_by(fragment).items():
                positions[place] = min(positions.get(place, offset), offset)
        return positions

    def _reached_by(self, fragment: Fragment) -> dict[Place, int]:
        """The same for the results of one fragment.

        If it has taken all rows of a fragment log, it has reached as far as the fragment that feeds the log, which may
        have read further without giving rows.
        """
        reached: dict[Place, int] = {}
        for place, source in fragment.leaves.items():
            inner, position = fragment.prepared.catalog.streams[source.stream], self.positions[place]
            if not isinstance(inner, FragmentStream):
                reached[place] = position
                continue
            log = self.layout.logs[inner.name]
            if position >= log.end:
                (feeder,) = (
                    other for other in self.fragments if other.feeds is not None and other.feeds.name == inner.name
                )
                below = self._reached_by(feeder)
                reach: Sequence[int] = [below[(*feeder.place, *local)] for local in inner.below]
            else:
                base = [self.layout.base[(*place, *local)] for local in inner.below]
                reach = fragment_rows.reach(log, inner, position, base)
            reached |= {(*place, *local): offset for local, offset in zip(inner.below, reach, strict=True)}
        return reached

    def leaf(self, place: Place, offsets: Range, logs: Logs) -> Leaf:
        """A range of a stream as a leaf of the whole plan, with the event-time frontiers before and after it."""
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
        """The ends of the last closed windows of a whole query when its streams have reached these frontiers."""
        leaves = {
            place: Leaf(source.stream, Range(0, 0), frontier_new=frontiers[source.stream])
            for place, source in self.unfragmented.leaves.items()
        }
        return self.unfragmented.prepared.closed(leaves)

    def can_close(self, fragment: Fragment, ends: Mapping[str, int], logs: Logs) -> bool:
        """Whether a window ends between a fragment's positions and the ends of what it reads."""
        upto = {
            place: Range(self.positions[place], ends.get(source.stream, self.log(source.stream, logs).end))
            for place, source in fragment.leaves.items()
        }
        leaves, whole = self.read(fragment, upto, logs)
        return fragment.prepared.closes(leaves, whole)

    def _reached(self, fragment: Fragment, ranges: Ranges, logs: Logs) -> dict[Place, Range]:
        """The stream offsets below a fragment that its rows cover, before and after a run."""
        reached: dict[Place, Range] = {}
        for place, source in fragment.leaves.items():
            inner, offsets = fragment.prepared.catalog.streams[source.stream], ranges[place]
            if not isinstance(inner, FragmentStream):
                reached[place] = offsets
                continue
            log = self.layout.logs[inner.name]
            base = [self.layout.base[(*place, *local)] for local in inner.below]
            old, new = (fragment_rows.reach(log, inner, offset, base) for offset in (offsets.first, offsets.last))
            for local, before, after in zip(inner.below, old, new, strict=True):
                reached[(*place, *local)] = Range(before, after)
        return reached


def stream_leaves(query: Query) -> dict[Place, str]:
    """The streams that a query reads, by their places."""
    return {place: source.stream for place, source in sources(query.plan)}
