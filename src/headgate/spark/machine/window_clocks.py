"""When windows close: asked once for all queries whose windows close alike, not once for each of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from math import inf

from headgate.model import EventTime
from headgate.spark.machine.fragments import StreamFacts
from headgate.spark.machine.lifecycle import Life

AHEAD = 100_000  # microseconds of event time that a look at windows looks ahead


@dataclass(slots=True)
class _Clock:
    """Queries that wait for the same windows."""

    closed: tuple[EventTime, ...]  # the last ends of windows that have closed
    quiet: dict[str, EventTime] = field(default_factory=dict)  # how far each stream can come and no other window closes
    lives: dict[str, Life] = field(default_factory=dict)


class Windows:
    """The queries that wait for windows, by the streams that they read.

    Which windows have closed depends on how far streams have come and on nothing else of a query than its windows. So
    it is computed once for each form of query, and not after every append: a look says how long none will close.
    """

    def __init__(self, facts: StreamFacts) -> None:
        self._facts = facts
        self._clocks: dict[Hashable, _Clock] = {}
        self._streams: dict[str, dict[Hashable, None]] = {}  # whose tuples may let a clock go on
        self._keys: dict[str, Hashable] = {}

    def enter(self, life: Life, ends: Mapping[str, int]) -> None:
        """From now on a query wants to know of its windows; it knows of those that are closed."""
        assert life.layout is not None
        key = life.name if not life.layout.whole else self._facts.window_key(life.resume_point())
        self._keys[life.name] = key
        if key not in self._clocks:
            self._clocks[key] = _Clock(self._closed(life, ends))
            for stream in streams_of(life):
                self._streams.setdefault(stream, {})[key] = None
        self._clocks[key].lives[life.name] = life

    def leave(self, life: Life) -> None:
        key = self._keys.pop(life.name, None)
        if key is None:
            return
        del self._clocks[key].lives[life.name]
        if not self._clocks[key].lives:
            del self._clocks[key]
            for keys in self._streams.values():
                keys.pop(key, None)

    def due(self, stream: str, ends: Mapping[str, int]) -> list[Life]:
        """The queries for which windows may have closed by what has come to a stream."""
        found: list[Life] = []
        keys = self._streams.get(stream)
        if not keys:
            return found
        frontier = self._facts.frontier(stream, ends[stream])
        for clock in map(self._clocks.__getitem__, keys):
            if frontier < clock.quiet.get(stream, -inf):
                continue
            one = next(iter(clock.lives.values()))
            assert one.layout is not None
            if not one.layout.whole:
                found += clock.lives.values()
                continue
            closed = self._closed(one, ends)
            if closed != clock.closed or frontier == inf:
                clock.closed = closed  # behind a stream's end all is late, and no window will let it go
                found += clock.lives.values()
            # However far other streams come meanwhile: they can only hold windows back.
            ahead = {**dict.fromkeys(streams_of(one), inf), stream: frontier + AHEAD}
            quiet = self._facts.closed(one.resume_point(), ahead) == closed
            clock.quiet[stream] = frontier + AHEAD if quiet else -inf
        return found

    def _closed(self, life: Life, ends: Mapping[str, int]) -> tuple[EventTime, ...]:
        assert life.layout is not None
        if not life.layout.whole:
            return ()
        frontiers = {stream: self._facts.frontier(stream, ends[stream]) for stream in streams_of(life)}
        return self._facts.closed(life.resume_point(), frontiers)


def streams_of(life: Life) -> set[str]:
    """The streams that a query reads."""
    assert life.unfragmented is not None
    return {source.stream for source in life.unfragmented.leaves.values()}
