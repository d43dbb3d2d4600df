"""When windows close: asked once for all queries whose windows close alike, not once for each of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from math import inf

from headgate.plan.template import template
from headgate.spark.jobs.spans import Moment
from headgate.spark.running import Logs, RunningQuery

AHEAD = 100_000  # microseconds of event time that a look at windows looks ahead


@dataclass(slots=True)
class _Clock:
    """Queries that wait for the same windows."""

    closed: tuple[Moment, ...]  # the last ends of windows that have closed
    quiet: dict[str, Moment] = field(default_factory=dict)  # how far each stream can come and no other window closes
    queries: dict[str, RunningQuery] = field(default_factory=dict)


class Closing:
    """The queries that wait for windows, by the streams that they read.

    Which windows have closed depends on how far streams have come and on nothing else of a query than its windows. So
    it is computed once for each form of query, and not after every append: a look says how long none will close.
    """

    def __init__(self, logs: Logs) -> None:
        self._logs = logs
        self._clocks: dict[Hashable, _Clock] = {}
        self._streams: dict[str, dict[Hashable, None]] = {}  # whose tuples may let a clock go on
        self._keys: dict[str, Hashable] = {}

    def enter(self, running: RunningQuery, ends: Mapping[str, int]) -> None:
        """From now on a query wants to know of its windows; it knows of those that are closed."""
        key = self._keys[running.name] = _key(running)
        if key not in self._clocks:
            self._clocks[key] = _Clock(self._closed(running, ends))
            for stream in running.streams:
                self._streams.setdefault(stream, {})[key] = None
        self._clocks[key].queries[running.name] = running

    def leave(self, running: RunningQuery) -> None:
        key = self._keys.pop(running.name, None)
        if key is None:
            return
        del self._clocks[key].queries[running.name]
        if not self._clocks[key].queries:
            del self._clocks[key]
            for keys in self._streams.values():
                keys.pop(key, None)

    def due(self, stream: str, ends: Mapping[str, int]) -> list[RunningQuery]:
        """The queries for which windows may have closed by what has come to a stream."""
        found: list[RunningQuery] = []
        keys = self._streams.get(stream)
        if not keys:
            return found
        frontier = self._frontier(stream, ends)
        for clock in map(self._clocks.__getitem__, keys):
            if frontier < clock.quiet.get(stream, -inf):
                continue
            one = next(iter(clock.queries.values()))
            if not one.shape.whole:
                found += clock.queries.values()
                continue
            if (closed := self._closed(one, ends)) != clock.closed or frontier == inf:
                clock.closed = closed  # behind a stream's end all is late, and no window will let it go
                found += clock.queries.values()
            # However far other streams come meanwhile: they can only hold windows back.
            ahead = {**dict.fromkeys(one.streams, inf), stream: frontier + AHEAD}
            clock.quiet[stream] = frontier + AHEAD if one.closed(ahead) == closed else -inf
        return found

    def _closed(self, running: RunningQuery, ends: Mapping[str, int]) -> tuple[Moment, ...]:
        if not running.shape.whole:
            return ()
        return running.closed({stream: self._frontier(stream, ends) for stream in running.streams})

    def _frontier(self, stream: str, ends: Mapping[str, int]) -> Moment:
        found = self._logs[stream].frontier_at(ends[stream])
        return -inf if found is None else found


def _key(running: RunningQuery) -> Hashable:
    """What queries have in common whose windows close together; a query in pieces is alone."""
    found = template(running.query.plan) if running.shape.whole else None
    return running.name if found is None else found.form
