"""Followers read a query's results while they are committed (`results()` of a query's handle).

Each follower has an inbox of bounded size. A follower that reads too slowly neither stops the engine nor fills its
memory: a full inbox takes no more, and after its contents have been read, an error says how many rows were missed.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from headgate.model import HeadgateError

BUFFER = 64 << 20  # bytes of results that wait for one follower


class Inbox:
    """Results that wait for one follower, up to `buffer` bytes; an empty inbox takes a result of any size.

    >>> inbox = Inbox("q", buffer=100)
    >>> for start in (0, 10, 20):
    ...     inbox.put(pa.table({"x": list(range(start, start + 10))}))
    >>> inbox.nbytes, inbox.missed
    (80, 20)
    """

    def __init__(self, query: str, buffer: int = BUFFER) -> None:
        self.query, self.buffer = query, buffer
        self.nbytes = 0
        self.missed = 0  # rows
        self._tables: deque[pa.Table] = deque()
        self._over = False
        self._changed = threading.Condition()

    def put(self, table: pa.Table) -> None:
        with self._changed:
            if self.missed or (self._tables and self.nbytes + table.nbytes > self.buffer):
                self.missed += table.num_rows
                return
            self._tables.append(_own(table))
            self.nbytes += table.nbytes
            self._changed.notify()

    def end(self) -> None:
        """No more results will come."""
        with self._changed:
            self._over = True
            self._changed.notify()

    def get(self, timeout: float | None = None) -> pa.Table | None:
        """The oldest result that waits; None if no more will come, or none has come for `timeout` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._tables or self._over or self.missed, timeout)
            if self._tables:
                table = self._tables.popleft()
                self.nbytes -= table.nbytes
                return table
            if self.missed:
                raise HeadgateError(
                    f"results of query '{self.query}' were read too slowly: {self.missed:,} rows were missed",
                    hint="read() has all that went to files; call results() again, perhaps with a larger buffer",
                )
            return None


class Followers:
    """The inboxes of all followers, by query. An inbox is dropped when nobody holds its iterator any more.

    >>> followers = Followers()
    >>> tables = followers.follow("q")
    >>> followers.give("q", pa.table({"x": [1, 2]}))
    >>> followers.end("q")
    >>> [table["x"].to_pylist() for table in tables]
    [[1, 2]]
    """

    def __init__(self) -> None:
        self._inboxes: dict[str, weakref.WeakSet[Inbox]] = {}
        self._lock = threading.Lock()
        self._closed = False

    def follow(self, query: str, timeout: float | None = None, buffer: int = BUFFER) -> Iterator[pa.Table]:
        """The results that are committed from now on, until the query ends or none has come for `timeout` seconds."""
        inbox = Inbox(query, buffer)
        with self._lock:
            if self._closed:
                inbox.end()
            self._inboxes.setdefault(query, weakref.WeakSet()).add(inbox)
        return _read(inbox, timeout)

    def has(self, query: str) -> bool:
        """Whether anybody follows a query."""
        return bool(self.inboxes(query))

    def inboxes(self, query: str) -> list[Inbox]:
        """The inboxes of those who follow a query."""
        with self._lock:
            inboxes = list(self._inboxes.get(query, ()))
            if not inboxes:
                self._inboxes.pop(query, None)
            return inboxes

    def give(self, query: str, table: pa.Table) -> None:
        if table.num_rows:
            for inbox in self.inboxes(query):
                inbox.put(table)

    def end(self, query: str) -> None:
        """No more results of a query will come."""
        for inbox in self.inboxes(query):
            inbox.end()

    def close(self) -> None:
        """No more results of any query will come."""
        with self._lock:
            self._closed = True
            queries = list(self._inboxes)
        for query in queries:
            self.end(query)


def _read(inbox: Inbox, timeout: float | None) -> Iterator[pa.Table]:
    while (table := inbox.get(timeout)) is not None:
        yield table


def _own(table: pa.Table) -> pa.Table:
    """A copy of the rows if they are a small slice of a larger table, which would stay in memory with them."""
    if table.get_total_buffer_size() <= 2 * table.nbytes:
        return table
    return table.take(np.arange(table.num_rows))
