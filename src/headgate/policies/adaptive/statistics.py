"""What candidates are judged by: numbers of a stretch of time, the package's and yours.

A statistic is a function of an `Interval`. It is known under its name once its module is imported:

>>> @statistic("busy")
... def busy(interval):
...     return interval.busy / interval.seconds
>>> statistic_named("busy")(Interval(seconds=2.0, busy=0.5))
0.25
>>> del _STATISTICS["busy"]
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from headgate.model import Outcome, unknown


@dataclass(frozen=True, slots=True)
class Interval:
    """What happened between two samples."""

    seconds: float
    waiting: int = 0  # tuples in all queues at its end
    results: int = 0  # that left the system
    delay: float = 0.0  # seconds from arrival to emission, summed over these results
    runs: int = 0  # that ended
    busy: float = 0.0  # seconds of these runs
    taken: int = 0  # tuples that they took


Statistic = Callable[[Interval], float | None]  # None: nothing to be said of this interval

_STATISTICS: dict[str, Statistic] = {}


def statistic(name: str) -> Callable[[Statistic], Statistic]:
    """Make a statistic known under a name, for requirements to refer to."""

    def enter(function: Statistic) -> Statistic:
        if name in _STATISTICS:
            raise ValueError(f"there is a statistic '{name}' already: {_STATISTICS[name].__qualname__}")
        _STATISTICS[name] = function
        return function

    return enter


def statistic_named(name: str) -> Statistic:
    """The statistic of that name."""
    if name not in _STATISTICS:
        raise unknown("statistic", name, _STATISTICS)
    return _STATISTICS[name]


def statistic_names() -> Collection[str]:
    """The names of all statistics that are known now."""
    return _STATISTICS.keys()


@statistic("queue")
def queue(interval: Interval) -> float:
    """Tuples that wait in all queues."""
    return float(interval.waiting)


@statistic("delay")
def delay(interval: Interval) -> float | None:
    """Mean seconds from arrival to emission.

    >>> delay(Interval(1.0, results=4, delay=0.5)), delay(Interval(1.0))
    (0.125, None)
    """
    return interval.delay / interval.results if interval.results else None


@statistic("output")
def output(interval: Interval) -> float:
    """Results per second."""
    return interval.results / interval.seconds


@dataclass(slots=True)
class Gathering:
    """Adds up what runs did, until it is closed as an interval."""

    since: float = 0.0
    results: int = 0
    delay: float = 0.0
    runs: int = 0
    busy: float = 0.0
    taken: int = 0

    def add(self, outcome: Outcome) -> None:
        self.runs += 1
        self.busy += outcome.seconds
        self.taken += outcome.run.tuples
        for answered in outcome.answered:
            self.results += len(answered.response_times)
            self.delay += sum(answered.response_times)

    def close(self, now: float, waiting: int) -> Interval:
        return Interval(now - self.since, waiting, self.results, self.delay, self.runs, self.busy, self.taken)
