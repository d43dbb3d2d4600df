"""A query at one moment: where it stands in its streams and in what waits inside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from headgate.model import Query, QueueId, Source
from headgate.plan.sharing import Place, below_window
from headgate.spark.compile import fragment_rows as waiting
from headgate.spark.compile.fragment_stream import Inner
from headgate.spark.compile.fragments import Piece
from headgate.spark.compile.frames import Whole
from headgate.spark.compile.leaf_rows import Leaf, Range
from headgate.spark.compile.read_sets import node_at, sources
from headgate.spark.compile.time_spans import Moment
from headgate.spark.engine.fragments import Standing
from headgate.spark.queries.layout import Shape
from headgate.spark.store.log.stream_log import StreamLog

Logs = Mapping[str, StreamLog]
Taken = Mapping[Place, Range]


@dataclass(frozen=True, slots=True)
class RunningQuery:
    """Where a query stood at one moment, with what it takes to read its logs from there."""

    query: Query
    shape: Shape
    one: Piece  # the query in one piece
    starts: Mapping[Place, int] = field(default_factory=dict)  # the offsets of the streams from which it reads at all
    positions: Mapping[Place, int] = field(default_factory=dict)  # committed: in streams, and in what waits inside
    until: Mapping[Place, int] = field(default_factory=dict)  # of a one-time query: where its streams end for it
    queues: Mapping[Place, QueueId] = field(default_factory=dict)

    @classmethod
    def of(cls, standing: Standing) -> RunningQuery:
        shape, one = cast(Shape, standing.shape), cast(Shape, standing.one)
        return cls(
            standing.query,
            shape,
            one.pieces[0],
            standing.starts,
            standing.positions,
            standing.until,
            standing.queues,
        )

    @property
    def name(self) -> str:
        return self.query.name

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return self.shape.pieces

    @property
    def leaves(self) -> dict[Place, Source]:
        """All that its pieces read: streams, and what waits inside."""
        return self.shape.leaves

    def log(self, stream: str, logs: Logs) -> StreamLog:
        return self.shape.logs[stream] if stream in self.shape.logs else logs[stream]

    def read(self, piece: Piece, taken: Taken, logs: Logs) -> tuple[dict[Place, Leaf], Whole | None]:
        """A run's leaves as its piece knows them and, of a query in pieces, the whole at the cut they stand for."""
        if self.shape.whole:
            return {piece.local(place): self.leaf(place, taken[place], logs) for place in taken}, None
        leaves = {
            piece.local(place): Leaf(source.stream, taken[place], start=self.starts.get(place, 0))
            for place, source in piece.leaves.items()
        }
        reached = self._reached(piece, taken, logs)
        whole = {place: self.leaf(place, offsets, logs) for place, offsets in reached.items()}
        return leaves, Whole(self.query.plan, piece.place, whole)

    def late(self, taken: Taken, logs: Logs) -> int:
        """How many of the tuples that a run takes came too late for the windows above them."""
        windows = (place for place in taken if place in self.starts and below_window(self.query.plan, place))
        found = {self.queues[place]: (self.leaves[place].stream, taken[place]) for place in windows}
        return sum(logs[stream].late(offsets.first, offsets.last) for stream, offsets in found.values())

    def reached(self, logs: Logs) -> dict[Place, int]:
        """How far its results so far reach into its streams, by what waits inside."""
        here = {place: Range(offset, offset) for place, offset in self.positions.items()}
        if self.shape.whole:
            return dict(self.positions)
        found = {place: offset for place, offset in self.positions.items() if place in self.starts}
        for piece in self.pieces:
            for place, offsets in self._reached(piece, here, logs).items():
                found[place] = min(found.get(place, offsets.first), offsets.first)
        return found

    def stands(self) -> dict[Place, int]:
        """Where it stands in its streams: the first tuples that have not gone all the way."""
        if self.shape.whole:
            return dict(self.positions)
        found: dict[Place, int] = {}
        for piece in self.pieces:
            for place, offset in self._reached_by(piece).items():
                found[place] = min(found.get(place, offset), offset)
        return found

    def _reached_by(self, piece: Piece) -> dict[Place, int]:
        """The same for the results of one piece.

        Where it has taken all rows inside, it reaches as far as those who give them: they may have given none lately.
        """
        found: dict[Place, int] = {}
        for place, source in piece.leaves.items():
            inner, position = piece.evaluation.catalog.streams[source.stream], self.positions[place]
            if not isinstance(inner, Inner):
                found[place] = position
                continue
            log = self.shape.logs[inner.name]
            if position >= log.end:
                (feeder,) = (one for one in self.pieces if one.feeds is not None and one.feeds.name == inner.name)
                below = self._reached_by(feeder)
                reach: Sequence[int] = [below[(*feeder.place, *local)] for local in inner.below]
            else:
                reach = waiting.reach(log, inner, position, [self.shape.base[(*place, *each)] for each in inner.below])
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

    def closed(self, frontiers: Mapping[str, Moment | None]) -> tuple[Moment, ...]:
        """The last ends of the windows that have closed when the streams of a query in one piece have come so far."""
        leaves = {
            place: Leaf(source.stream, Range(0, 0), frontier_new=frontiers[source.stream])
            for place, source in self.one.leaves.items()
        }
        return self.one.evaluation.closed(leaves)

    def can_close(self, piece: Piece, ends: Mapping[str, int], logs: Logs) -> bool:
        """Whether a window ends between where a piece stands and the ends of what it reads."""
        upto = {
            place: Range(self.positions[place], ends.get(source.stream, self.log(source.stream, logs).end))
            for place, source in piece.leaves.items()
        }
        leaves, whole = self.read(piece, upto, logs)
        return piece.evaluation.closes(leaves, whole)

    def _reached(self, piece: Piece, taken: Taken, logs: Logs) -> dict[Place, Range]:
        """The offsets of the streams below a piece that its rows stand for, before and after a run."""
        found: dict[Place, Range] = {}
        for place, source in piece.leaves.items():
            inner, offsets = piece.evaluation.catalog.streams[source.stream], taken[place]
            if not isinstance(inner, Inner):
                found[place] = offsets
                continue
            log = self.shape.logs[inner.name]
            base = [self.shape.base[(*place, *local)] for local in inner.below]
            old, new = (waiting.reach(log, inner, offset, base) for offset in (offsets.first, offsets.last))
            for local, before, after in zip(inner.below, old, new, strict=True):
                found[(*place, *local)] = Range(before, after)
        return found


def stream_leaves(query: Query) -> dict[Place, str]:
    """The streams that a query reads, by their places."""
    return {place: source.stream for place, source in sources(query.plan)}
