"""Those who want to see a query's results as they are committed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import Empty, SimpleQueue

import pyarrow as pa


class Followers:
    """Inboxes by query.

    >>> followers = Followers()
    >>> tables = followers.follow("q")
    >>> followers.give("q", pa.table({"x": [1, 2]}))
    >>> followers.end("q")
    >>> [table["x"].to_pylist() for table in tables]
    [[1, 2]]
    """

    def __init__(self) -> None:
        self._inboxes: dict[str, list[SimpleQueue[pa.Table | None]]] = {}
        self._lock = threading.Lock()

    def follow(self, query: str, timeout: float | None = None) -> Iterator[pa.Table]:
        """The results from now on, until the query ends or none has come for `timeout` seconds."""
        inbox: SimpleQueue[pa.Table | None] = SimpleQueue()
        with self._lock:
            self._inboxes.setdefault(query, []).append(inbox)
        return self._followed(query, inbox, timeout)

    def has(self, query: str) -> bool:
        """Whether anybody follows a query."""
        with self._lock:
            return bool(self._inboxes.get(query))

    def give(self, query: str, table: pa.Table) -> None:
        if table.num_rows:
            self._put(query, table)

    def end(self, query: str) -> None:
        """There will be no more."""
        self._put(query, None)

    def _put(self, query: str, table: pa.Table | None) -> None:
        with self._lock:
            for inbox in self._inboxes.get(query, ()):
                inbox.put(table)

    def _followed(self, query: str, inbox: SimpleQueue[pa.Table | None], timeout: float | None) -> Iterator[pa.Table]:
        try:
            while (table := inbox.get(timeout=timeout)) is not None:
                yield table
        except Empty:
            return
        finally:
            with self._lock:
                self._inboxes[query].remove(inbox)
