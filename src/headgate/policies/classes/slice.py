"""A time slice that adapts to what it is used for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Slice:
    """Seconds that a turn lasts: more where a queue did not fit, less after a round without need for more.

    (Al Moakar 2013, section 5.2.1.)

    >>> slice = Slice(50.0)
    >>> slice.used = 53.0
    >>> slice.grow(needed=7.0)  # 3 too long, and 7 more to finish what waited
    >>> slice.seconds
    60.0
    >>> slice.end_round(); slice.seconds
    60.0
    >>> slice.end_round(); slice.seconds
    50.0
    """

    seconds: float
    used: float = 0.0  # in the turn under way
    _increase: float = 0.0  # the last one
    _grown: bool = False  # in this round

    @property
    def left(self) -> float:
        return self.seconds - self.used

    def grow(self, needed: float) -> None:
        """A turn has ended before all was done; the rest would have taken so many seconds."""
        self._increase = max(0.0, -self.left) + needed
        self.seconds += self._increase
        self._grown = True

    def end_round(self) -> None:
        if not self._grown and self.seconds > self._increase:
            self.seconds -= self._increase
        self._grown = False
