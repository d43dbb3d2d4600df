"""What waits for a sink: committed results that it has not taken yet, bounded in bytes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import inf
from typing import Any

FULL = 64 << 20  # bytes that may wait for one sink before its query waits too
FILE = 4 << 20  # bytes that are worth a file of their own


@dataclass(slots=True, eq=False)
class Outbox:
    """The way to one sink. `behind` is how many seconds results may wait to share a file; 0: none.

    >>> outbox = Outbox(1, "fire", "parquet", behind=1.0)
    >>> outbox.put(7, "rows", 100, now=20.0)
    >>> outbox.due(20.5), outbox.due(21.0)
    (False, True)
    >>> outbox.take()
    ((7, 'rows'),)
    >>> outbox.delivered(); (outbox.size, outbox.oldest_commit)
    (0, inf)
    """

    id: int
    query: str
    sink: str
    behind: float = 0.0
    lane: str = "files"
    call: Any = None  # what the sink calls, if it calls something
    full: int = FULL
    waiting: deque[tuple[int, Any, int, float]] = field(default_factory=deque)  # (commit, results, bytes, since when)
    size: int = 0
    in_delivery: int = 0  # how many of them the sink is being given
    at_once: bool = False  # somebody wants all of it to be delivered now
    error: str = ""  # why the sink takes nothing
    awaits_spark: bool = False  # that is only because Spark died: it is offered again when Spark is back
    query_gone: bool = False  # its query is gone: once all is delivered, so is this

    def put(self, commit: int, results: Any, size: int, now: float) -> None:
        self.waiting.append((commit, results, size, now))
        self.size += size

    def due(self, now: float) -> bool:
        """Whether it is time to give the sink what waits."""
        if not self.waiting or self.in_delivery or self.error:
            return False
        return self.at_once or self.query_gone or self.size >= FILE or now >= self.due_at

    def take(self) -> tuple[tuple[int, Any], ...]:
        """All that waits, for the sink; it stays here until the sink has it."""
        self.in_delivery = len(self.waiting)
        return tuple((commit, results) for commit, results, _, _ in self.waiting)

    def delivered(self) -> None:
        for _ in range(self.in_delivery):
            self.size -= self.waiting.popleft()[2]
        self.in_delivery = 0

    def refused(self, error: str) -> None:
        self.in_delivery = 0
        self.error = error

    def drop(self) -> int:
        """Let go of what waits; of how many commits that was."""
        count = len(self.waiting)
        self.waiting.clear()
        self.size = 0
        return count

    @property
    def due_at(self) -> float:
        """When the oldest of what waits should be with the sink; infinity if nothing waits."""
        return self.waiting[0][3] + self.behind if self.waiting else inf

    @property
    def oldest_commit(self) -> float:
        """The oldest commit that it needs still; infinity if none."""
        return self.waiting[0][0] if self.waiting else inf

    @property
    def is_full(self) -> bool:
        return self.size > self.full

    @property
    def has_room(self) -> bool:
        """Whether a query that waits for it can go on."""
        return self.size <= self.full // 2
