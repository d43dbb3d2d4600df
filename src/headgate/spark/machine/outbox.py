"""An outbox: committed results that one sink has not taken yet, limited in bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import Any

FULL = 64 << 20  # bytes that may wait for one sink before its query stops running
FILE = 4 << 20  # bytes that are delivered at once, since they fill a file of their own


@dataclass(slots=True, eq=False)
class Outbox:
    """Results on their way to one sink. They may wait up to `behind` seconds, so that several commits share a file, and
    longer if there are so many outboxes that writing a file for each of them takes longer.

    >>> outbox = Outbox(1, "fire", "parquet", behind=1.0)
    >>> outbox.put(7, "rows", 100, now=20.0)
    >>> outbox.due(20.5), outbox.due(21.0)
    (False, True)
    >>> outbox.take(21.0)
    ((7, 'rows'),)
    >>> outbox.delivered(); (outbox.size, outbox.oldest_commit)
    (0, inf)
    """

    id: int
    query: str
    sink: str
    behind: float = 0.0
    lane: str = "files"
    call: Any = None  # the function that the sink calls, if any
    full: int = FULL
    waiting: deque[tuple[int, Any, int, float]] = field(default_factory=deque)  # (commit, results, bytes, since when)
    size: int = 0
    in_delivery: int = 0  # how many of them the sink is taking at the moment
    taken_at: float = 0.0  # when it began to
    at_once: bool = False  # deliver without waiting for more
    error: str = ""  # why the sink refused the last delivery; nothing is delivered while it is set
    awaits_spark: bool = False  # it refused only because Spark died: delivery is repeated when Spark is back
    query_gone: bool = False  # the query was stopped: this outbox is removed once it is empty
    columns: Any = None  # of the results, once the query is gone
    when_closed: Callable[[], None] | None = None  # called once nothing is delivered from here any more
    turn: float = 0.0  # seconds until every outbox has had its turn: results that may wait wait as long
    timer: float = 0.0  # when a timer looks again whether it is due

    def put(self, commit: int, results: Any, size: int, now: float) -> None:
        self.waiting.append((commit, results, size, now))
        self.size += size

    def due(self, now: float) -> bool:
        """Whether it is time to deliver."""
        if not self.waiting or self.in_delivery or self.error:
            return False
        return self.at_once or self.query_gone or self.size >= FILE or now >= self.due_at

    def take(self, now: float) -> tuple[tuple[int, Any], ...]:
        """Start a delivery of all that waits; it stays here until `delivered`."""
        self.in_delivery, self.taken_at = len(self.waiting), now
        return tuple((commit, results) for commit, results, _, _ in self.waiting)

    def delivered(self) -> None:
        for _ in range(self.in_delivery):
            self.size -= self.waiting.popleft()[2]
        self.in_delivery = 0

    def closed(self) -> None:
        """Tell whoever waits for it, once, that nothing is delivered any more, or that waiting is over."""
        if self.when_closed is not None:
            tell, self.when_closed = self.when_closed, None
            tell()

    @property
    def newest_in_delivery(self) -> int:
        """The newest commit whose results the sink is taking."""
        return self.waiting[self.in_delivery - 1][0]

    @property
    def size_in_delivery(self) -> int:
        """The bytes that the sink is taking."""
        return sum(entry[2] for entry in islice(self.waiting, self.in_delivery))

    def refused(self, error: str) -> None:
        self.in_delivery = 0
        self.error = error

    def drop(self) -> int:
        """Drop everything that waits, and return the number of commits dropped."""
        count = len(self.waiting)
        self.waiting.clear()
        self.size = 0
        return count

    def drop_rest(self) -> None:
        """Drop what is not in delivery."""
        while len(self.waiting) > self.in_delivery:
            self.size -= self.waiting.pop()[2]

    @property
    def due_at(self) -> float:
        """When the oldest result should be delivered; infinity if nothing waits."""
        return self.waiting[0][3] + (max(self.behind, self.turn) if self.behind else 0.0) if self.waiting else inf

    @property
    def oldest_commit(self) -> float:
        """The number of the oldest commit that waits; infinity if none."""
        return self.waiting[0][0] if self.waiting else inf

    @property
    def is_full(self) -> bool:
        return self.size > self.full

    @property
    def has_room(self) -> bool:
        """Whether a query that waits for its sink can run again."""
        return self.size <= self.full // 2
