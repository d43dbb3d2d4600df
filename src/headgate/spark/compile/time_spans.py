"""Spans of event time in microseconds, and the ends of windows.

Both ends of a span are included, and both may be infinite: `ALWAYS` is all of time, `NEVER` is empty. Windows are
named by their ends: of windows of 10 s that slide by 5 s, those that end at 5, 10, 15, … seconds, and the first one
that ends after 10 s ends at 15 s.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from headgate.model import EventTime, Window


@dataclass(frozen=True, slots=True)
class Span:
    """All event times from `low` to `high`, both included."""

    low: EventTime = -inf
    high: EventTime = inf

    @property
    def empty(self) -> bool:
        return self.low > self.high

    @property
    def bounded(self) -> bool:
        return self.low > -inf or self.high < inf

    def meet(self, other: Span) -> Span:
        """The event times that both spans hold.

        >>> Span(0, 10).meet(Span(5, 20))
        Span(low=5, high=10)
        """
        return Span(max(self.low, other.low), min(self.high, other.high))

    def hull(self, other: Span) -> Span:
        """The smallest span that holds both spans."""
        if self.empty or other.empty:
            return other if self.empty else self
        return Span(min(self.low, other.low), max(self.high, other.high))

    def plus(self, low: EventTime, high: EventTime) -> Span:
        """The event times that lie `low` to `high` after one of these."""
        return self if self.empty else Span(self.low + low, self.high + high)


ALWAYS = Span()
NEVER = Span(inf, -inf)


def in_long(moment: EventTime) -> int:
    """A moment in microseconds as a long, with very large ones instead of infinity.

    >>> in_long(-inf) < 0 < in_long(inf), in_long(5)
    (True, 5)
    """
    return int(max(min(moment, 1 << 62), -(1 << 62)))


def micros(seconds: float) -> int:
    """Seconds as microseconds.

    >>> micros(-0.5)
    -500000
    """
    return round(seconds * 1_000_000)


def floor(moment: EventTime, step: int) -> EventTime:
    """The last multiple of `step` at or before an event time.

    >>> floor(-1, 10), floor(10, 10), floor(inf, 10)
    (-10, 10, inf)
    """
    return moment if moment in (inf, -inf) else int(moment) // step * step


def ceiling(moment: EventTime, step: int) -> EventTime:
    """The first multiple of `step` at or after an event time."""
    return -floor(-moment, step)


def first_end(window: Window, after: EventTime) -> EventTime:
    """The first window end later than an event time.

    >>> first_end(Window(10.0, 5.0), 10_000_000), first_end(Window(10.0), 9_999_999)
    (15000000, 10000000)
    """
    size, slide = micros(window.size), micros(window.slide)
    return floor(after - size, slide) + slide + size


def last_end(window: Window, until: EventTime) -> EventTime:
    """The last window end at or before an event time."""
    size, slide = micros(window.size), micros(window.slide)
    return floor(until - size, slide) + size


def snapped(window: Window, ends: Span) -> Span:
    """From the first to the last window end in a span; empty if there is none."""
    return Span(first_end(window, ends.low - 1), last_end(window, ends.high))
