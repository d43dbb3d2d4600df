"""A calendar queue: keys by the time at which they are due."""

from __future__ import annotations

_FEWEST = 8


class Calendar:
    """Keys by the time at which they are due, at most a span ahead, in days that hold about one each.

    A calendar queue (Brown 1988): entering, removing and finding what is due take a constant time on average. The
    days are those of one span; they come round again and again.

    >>> calendar = Calendar(span=10.0)
    >>> for key, time in enumerate([3.0, 1.0, 9.0]):
    ...     calendar.enter(key, time)
    >>> calendar.enter(1, 8.0)  # instead of 1.0
    >>> calendar.due(3.5), calendar.due(8.5), calendar.due(20.0)
    ([0], [1], [2])
    """

    def __init__(self, span: float) -> None:
        self._span = span
        self._now = 0.0
        self._times: dict[int, float] = {}
        self._lay_out(_FEWEST)

    def __len__(self) -> int:
        return len(self._times)

    def enter(self, key: int, time: float) -> None:
        self.remove(key)
        self._times[key] = time
        if len(self._times) > 2 * len(self._days):
            self._lay_out(2 * len(self._days))
        else:
            self._place(key, time)

    def remove(self, key: int) -> None:
        if key in self._times:
            del self._times[key]
            del self._day_of.pop(key)[key]

    def due(self, now: float) -> list[int]:
        """The keys whose time has come, by time; they are no longer in the calendar."""
        passed = range(self._number(self._now), self._number(now) + 1)[-len(self._days) :]
        self._now = now
        days = (self._days[number % len(self._days)] for number in passed)
        due = [(time, key) for day in days for key, time in day.items() if time <= now]
        for _, key in due:
            self.remove(key)
        return [key for _, key in sorted(due)]

    def _lay_out(self, days: int) -> None:
        self._width = self._span / days
        self._days: list[dict[int, float]] = [{} for _ in range(days)]
        self._day_of: dict[int, dict[int, float]] = {}
        for key, time in self._times.items():
            self._place(key, time)

    def _place(self, key: int, time: float) -> None:
        number = self._number(max(time, self._now))  # what is overdue is found today
        day = self._day_of[key] = self._days[number % len(self._days)]
        day[key] = time

    def _number(self, time: float) -> int:
        return int(time / self._width)
