"""When windows can close, computed once for all queries with the same windows instead of once for each query.

Queries whose windows are made of panes hear also when many tuples are held: to fold them in before the window closes is
work that need not be done then, while its results are waited for.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from math import inf

from headgate.model import EventTime
from headgate.spark.machine.interfaces import StreamFacts
from headgate.spark.machine.lifecycle import Life

FOLDED_AT = 20_000  # held tuples of a stream that are worth a run of their own
LOOK_AHEAD = 100_000  # microseconds of event time for which a check may find that no window will close


@dataclass(slots=True)
class _Clock:
    """Queries that wait for the same windows."""

    closed: tuple[EventTime, ...]  # the ends of the last closed windows
    quiet: dict[str, EventTime] = field(default_factory=dict)  # by stream: no window closes before this frontier
    lives: dict[str, Life] = field(default_factory=dict)
    folding: dict[str, Life] = field(default_factory=dict)  # those of them whose windows are made of panes
    released: dict[str, int] = field(default_factory=dict)  # by stream: up to here its tuples are not held


class WindowClocks:
    """The queries that wait for windows, by the streams that they read.

    Which windows have closed depends only on the windows and the frontiers of the streams. So it is computed once for
    each form of query, and not after every append: a check also finds up to which frontier no window will close.
    """

    def __init__(self, facts: StreamFacts) -> None:
        self._facts = facts
        self._clocks: dict[Hashable, _Clock] = {}
        self._streams: dict[str, dict[Hashable, None]] = {}  # the clocks of each stream
        self._keys: dict[str, Hashable] = {}

    def enter(self, life: Life, ends: Mapping[str, int]) -> None:
        """Add a query; windows that are closed already do not make it due."""
        assert life.layout is not None
        key = life.name if not life.layout.whole else self._facts.window_key(life.resume_point())
        self._keys[life.name] = key
        if key not in self._clocks:
            self._clocks[key] = _Clock(self._closed(life, ends))
            for stream in streams_of(life):
                self._streams.setdefault(stream, {})[key] = None
                self._clocks[key].released[stream] = ends[stream]
        self._clocks[key].lives[life.name] = life
        if life.layout.whole and self._facts.folds(life.resume_point()):
            self._clocks[key].folding[life.name] = life

    def leave(self, life: Life) -> None:
        key = self._keys.pop(life.name, None)
        if key is None:
            return
        del self._clocks[key].lives[life.name]
        self._clocks[key].folding.pop(life.name, None)
        if not self._clocks[key].lives:
            del self._clocks[key]
            for keys in self._streams.values():
                keys.pop(key, None)

    def due(self, stream: str, ends: Mapping[str, int]) -> list[Life]:
        """The queries with windows that may have closed because of new tuples of a stream, or with many tuples held."""
        due: list[Life] = []
        keys = self._streams.get(stream)
        if not keys:
            return due
        frontier = self._facts.frontier(stream, ends[stream])
        for clock in map(self._clocks.__getitem__, keys):
            if clock.folding and ends[stream] - clock.released[stream] >= FOLDED_AT:
                clock.released[stream] = ends[stream]
                due += clock.folding.values()
            if frontier < clock.quiet.get(stream, -inf):
                continue
            life = next(iter(clock.lives.values()))  # stands for all, since their windows are the same
            assert life.layout is not None
            if not life.layout.whole:
                due += clock.lives.values()
                continue
            closed = self._closed(life, ends)
            if closed != clock.closed or frontier == inf:  # after its end a stream has only late tuples, to be released
                clock.closed = closed
                clock.released[stream] = ends[stream]
                due += clock.lives.values()
            # The frontiers of other streams are taken as infinite, since they can only hold windows back.
            ahead = {**dict.fromkeys(streams_of(life), inf), stream: frontier + LOOK_AHEAD}
            quiet = self._facts.closed(life.resume_point(), ahead) == closed
            clock.quiet[stream] = frontier + LOOK_AHEAD if quiet else -inf
        return due

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
