"""A cache of tables with a budget of bytes: the least recently used ones are dropped first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any


class TableCache:
    """Keeps tables by key; when they exceed the budget, the least recently used ones are dropped.

    >>> import pyarrow as pa
    >>> cache = TableCache(budget=100)
    >>> for name in "abc":
    ...     cache.put(name, pa.table({"x": [1, 2, 3, 4, 5]}))
    >>> cache.get("a"), cache.nbytes
    (None, 80)
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.nbytes = 0
        self._tables: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Any | None:
        with self._lock:
            if key not in self._tables:
                return None
            self._tables.move_to_end(key)
            return self._tables[key]

    def put(self, key: Hashable, table: Any) -> None:
        """Keep a table, unless it alone is larger than the budget."""
        size = table.get_total_buffer_size()
        with self._lock:
            if key in self._tables or size > self.budget:
                return
            self._tables[key] = table
            self.nbytes += size
            while self.nbytes > self.budget:
                self.nbytes -= self._tables.popitem(last=False)[1].get_total_buffer_size()

    def forget(self, key: Hashable) -> None:
        with self._lock:
            table = self._tables.pop(key, None)
            if table is not None:
                self.nbytes -= table.get_total_buffer_size()
