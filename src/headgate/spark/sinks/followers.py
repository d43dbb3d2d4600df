"""Followers read a query's results while they are committed (`results()` of a query's handle).

Each follower has an inbox of bounded size. A follower that reads too slowly neither stops the engine nor fills its
memory: a full inbox takes no more, and after its contents have been read, an error says how many rows were missed.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count

import numpy as np
import pyarrow as pa

from headgate import logs
from headgate.model import HeadgateError

_log = logs.logger("sinks")

Told = Callable[[int | None], object]  # gets the number of a commit, or None at the end

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
        self._tables: deque[tuple[int, pa.Table]] = deque()  # with their commits
        self._over = False
        self._changed = threading.Condition()

    def put(self, table: pa.Table, commit: int = 0) -> None:
        with self._changed:
            if self.missed or (self._tables and self.nbytes + table.nbytes > self.buffer):
                self.missed += table.num_rows
                return
            self._tables.append((commit, _own(table)))
            self.nbytes += table.nbytes
            self._changed.notify()

    def end(self) -> None:
        """No more results will come."""
        with self._changed:
            self._over = True
            self._changed.notify()

    def get(self, timeout: float | None = None) -> pa.Table | None:
        """The oldest result that waits; None if no more will come, or none has come for `timeout` seconds."""
        result = self.get_with_commit(timeout)
        return None if result is None else result[1]

    def get_with_commit(self, timeout: float | None = None) -> tuple[int, pa.Table] | None:
        """The same with the number of its commit."""
        with self._changed:
            self._changed.wait_for(lambda: self._tables or self._over or self.missed, timeout)
            if self._tables:
                commit, table = self._tables.popleft()
                self.nbytes -= table.nbytes
                return commit, table
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
        self._told: dict[str, dict[int, Told]] = {}
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._closed = False

    def follow(self, query: str, timeout: float | None = None, buffer: int = BUFFER) -> Iterator[pa.Table]:
        """The results that are committed from now on, until the query ends or none has come for `timeout` seconds."""
        return _read(self.inbox(query, buffer), timeout)

    def follow_commits(
        self, query: str, timeout: float | None = None, buffer: int = BUFFER
    ) -> Iterator[tuple[int, pa.Table]]:
        """The same with the number of the commit that each table belongs to; a commit may have several tables.

        `result_ranges` says how to read everything before and go on with this, without a gap and without a double.
        """
        return _read_commits(self.inbox(query, buffer), timeout)

    def inbox(self, query: str, buffer: int = BUFFER) -> Inbox:
        """A new inbox, which gets what is committed from now on as long as somebody holds it."""
        inbox = Inbox(query, buffer)
        with self._lock:
            if self._closed:
                inbox.end()
            self._inboxes.setdefault(query, weakref.WeakSet()).add(inbox)
        return inbox

    def tell(self, query: str, told: Told) -> Callable[[], None]:
        """Call a function after each commit with results of a query; gives a function that ends that.

        It gets the commit's number, when that is durable, and None when no more will come. It is called in the thread
        that commits, so it must not block: it may set an event, or wake the loop of another thread.
        """
        with self._lock:
            number, closed = next(self._numbers), self._closed
            self._told.setdefault(query, {})[number] = told
        if closed:
            _call(told, query, None)
        return lambda: self._untell(query, number)

    def _untell(self, query: str, number: int) -> None:
        with self._lock:
            there = self._told.get(query, {})
            there.pop(number, None)
            if not there:
                self._told.pop(query, None)

    def committed(self, query: str, commit: int | None) -> None:
        """Tell those who want to know that results of a query are durable, or with None that no more will come."""
        with self._lock:
            told = list(self._told.get(query, {}).values())
        for call in told:
            _call(call, query, commit)

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

    def give(self, query: str, table: pa.Table, commit: int = 0) -> None:
        if table.num_rows:
            for inbox in self.inboxes(query):
                inbox.put(table, commit)

    def end(self, query: str) -> None:
        """No more results of a query will come."""
        for inbox in self.inboxes(query):
            inbox.end()
        self.committed(query, None)

    def close(self) -> None:
        """No more results of any query will come."""
        with self._lock:
            self._closed = True
            queries = list(self._inboxes.keys() | self._told.keys())
        for query in queries:
            self.end(query)


def _read(inbox: Inbox, timeout: float | None) -> Iterator[pa.Table]:
    while (table := inbox.get(timeout)) is not None:
        yield table


def _read_commits(inbox: Inbox, timeout: float | None) -> Iterator[tuple[int, pa.Table]]:
    while (result := inbox.get_with_commit(timeout)) is not None:
        yield result


def _call(told: Told, query: str, commit: int | None) -> None:
    try:
        told(commit)
    except Exception as error:  # it must not harm the commit, which counts already
        _log.warning("a function that was to be told of results failed", query=query, error=error)


def _own(table: pa.Table) -> pa.Table:
    """A copy of the rows if they are a small slice of a larger table, which would stay in memory with them."""
    if table.get_total_buffer_size() <= 2 * table.nbytes:
        return table
    return table.take(np.arange(table.num_rows))
