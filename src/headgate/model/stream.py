"""Streams and stored tables."""

from __future__ import annotations

from dataclasses import dataclass

EventTime = int | float  # microseconds since 1970; floats are only the infinities: before all and after all time

AHEAD = 3600.0  # seconds that clocks elsewhere may be wrong by, unless a stream says otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A named, append-only sequence of tuples.

    `arrivals` says how the simulator makes them; `schema` and `event_time` are what SQL may refer to.
    """

    name: str
    schema: tuple[tuple[str, str], ...] = ()  # (column, type)
    event_time: str | None = None
    watermark: float = 0.0  # seconds that an event time may be behind the largest so far
    ahead: float = AHEAD  # seconds that it may be ahead of its arrival; infinity: no bound
    arrivals: str | None = None  # "poisson, rate=1200"
    source: str | None = None  # where the engine reads it
    within: str | None = None  # the folder in which the source's files must lie, links followed; None: anywhere
    source_cost: float = 0.0  # seconds that reading one tuple takes
    source_overhead: float = 0.0  # seconds that reading takes before the first tuple
    bytes: int = 1  # size of a tuple

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column for column, _ in self.schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A stored table that queries may join with."""

    name: str
    schema: tuple[tuple[str, str], ...] = ()
    path: str | None = None
    within: str | None = None  # the folder in which its files must lie, links followed; None: anywhere

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column for column, _ in self.schema)
