"""What the workers' time went to lately, and how often the policy was asked."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

from headgate.spark.machine.recent_results import RECENT

BIN = 0.5  # seconds whose work is summed up
Payer = tuple[str, str]  # namespace and class for which a worker works


@dataclass(frozen=True, slots=True)
class Load:
    """Shares of the workers' time in the last 10 s: 1.0 is all workers all the time."""

    running: float = 0.0
    decisions_per_second: float = 0.0
    queued: int = 0  # units that wait for a worker now
    shares: Mapping[Payer, float] = field(default_factory=dict)
    workers: int = 1

    def of_class(self, query_class: str, space: str | None = None) -> float:
        """The share of a class, of all namespaces or of one."""
        return sum(
            share for (owner, name), share in self.shares.items() if name == query_class and space in (None, owner)
        )

    def of_space(self, space: str) -> float:
        """The share of a namespace."""
        return sum(share for (owner, _), share in self.shares.items() if owner == space)

    def to_json(self) -> dict[str, float]:
        """As plain values."""
        running = round(self.running, 2)
        return {
            "workers": self.workers,
            "running": running,
            "idle": round(1.0 - running, 2),
            "queued": self.queued,
            "decisions_per_second": round(self.decisions_per_second, 1),
        }


@dataclass(slots=True)
class _Bin:
    """What was done in half a second."""

    number: int
    seconds: dict[Payer | None, float] = field(default_factory=dict)  # None: cutting and joining of queries
    decisions: int = 0


class WorkerLoad:
    """Sums up how long workers were busy, in steps of half a second.

    >>> load = WorkerLoad(workers=2)
    >>> load.decided(100.0, 1)
    >>> work = load.began(100.0, ("", "critical"))
    >>> load.ended(work, 104.0)
    >>> now = load.now(105.0)
    >>> now.running, now.decisions_per_second, now.shares
    (0.4, 0.2, {('', 'critical'): 0.4})
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._numbers = count()
        self._busy: dict[int, tuple[float, Payer | None]] = {}  # work under way: since when, for whom
        self._bins: deque[_Bin] = deque()
        self._first: float | None = None  # when there was anything to count

    def began(self, now: float, payer: Payer | None) -> int:
        """A worker begins something; the number is for `ended`."""
        self._bin(now)
        number = next(self._numbers)
        self._busy[number] = now, payer
        return number

    def ended(self, number: int, now: float) -> None:
        """A worker is free again."""
        began, payer = self._busy.pop(number)
        self._bin(now)
        for part in self._bins:
            start = part.number * BIN
            if (seconds := min(now, start + BIN) - max(began, start)) > 0:
                part.seconds[payer] = part.seconds.get(payer, 0.0) + seconds

    def decided(self, now: float, decisions: int) -> None:
        """The policy was asked so many times."""
        self._bin(now).decisions += decisions

    def now(self, now: float, queued: int = 0) -> Load:
        """The load at this moment."""
        self._bin(now)
        begin = max(self._bins[0].number * BIN, self._first or 0.0)
        span = now - begin
        if span <= 0:
            return Load(queued=queued, workers=self._workers)
        seconds: dict[Payer | None, float] = defaultdict(float)
        for part in self._bins:
            for payer, taken in part.seconds.items():
                seconds[payer] += taken
        for began, payer in self._busy.values():
            seconds[payer] += now - max(began, begin)
        whole = span * self._workers
        shares = {payer: min(1.0, taken / whole) for payer, taken in seconds.items() if payer is not None}
        decisions = sum(part.decisions for part in self._bins)
        return Load(min(1.0, sum(seconds.values()) / whole), decisions / span, queued, shares, self._workers)

    def _bin(self, now: float) -> _Bin:
        """The present bin; those before it follow one another without a gap, and old ones are forgotten."""
        newest, oldest = int(now // BIN), int((now - RECENT) // BIN)
        if self._first is None:
            self._first = now
        if not self._bins or self._bins[-1].number < newest:
            following = self._bins[-1].number + 1 if self._bins else newest
            self._bins.extend(_Bin(number) for number in range(max(following, oldest), newest + 1))
            while self._bins[0].number < oldest:
                self._bins.popleft()
        return self._bins[-1]
