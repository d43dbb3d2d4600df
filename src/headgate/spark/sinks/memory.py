"""The sink `memory`: the newest results of a query in memory, for those who watch it."""

from __future__ import annotations

import threading
from collections import deque
from pathlib import Path

import pyarrow as pa

from headgate.model import HeadgateError, Spec
from headgate.spark.sinks.base import Call, FunctionSink, ignore
from headgate.spark.sinks.registry import register

ROWS = 10_000  # unless the setting `rows` says otherwise


class MemorySink(FunctionSink):
    """A ring of the newest results: it has at least `rows` rows once there were so many; older ones are dropped.

    >>> ring = MemorySink(rows=3)
    >>> for number in (1, 2, 3):
    ...     ring.roll_forward(number, pa.table({"x": [number, number]}))
    >>> [number for number, _ in ring.since(0)], ring.tail(3)["x"].to_pylist()
    ([2, 3], [2, 3, 3])
    """

    def __init__(self, rows: int) -> None:
        super().__init__(ignore)
        self.rows = rows
        self._tables: deque[tuple[int, pa.Table]] = deque()
        self._count = 0
        self._changed = threading.Condition()

    def roll_forward(self, number: int, table: pa.Table) -> None:
        if not table.num_rows:
            return
        with self._changed:
            self._tables.append((number, table))
            self._count += table.num_rows
            while self._count - self._tables[0][1].num_rows >= self.rows:
                self._count -= self._tables.popleft()[1].num_rows
            self._changed.notify_all()

    def since(self, number: int, timeout: float = 0.0) -> list[tuple[int, pa.Table]]:
        """The results of commits after a number; waits up to `timeout` seconds for the first."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._tables) and self._tables[-1][0] > number, timeout)
            return [(commit, table) for commit, table in self._tables if commit > number]

    def tail(self, rows: int) -> pa.Table | None:
        """The newest rows; None before the first result."""
        with self._changed:
            tables = [table for _, table in self._tables]
        if not tables:
            return None
        whole = pa.concat_tables(tables, promote_options="permissive")
        return whole.slice(max(whole.num_rows - rows, 0))


def _check_rows(spec: Spec) -> None:
    rows = spec.settings.get("rows", ROWS)
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 1:
        raise HeadgateError(f"rows must be a whole number from 1, found {rows}", hint='write "memory, rows=10000"')


@register("memory", settings=("rows",), check=_check_rows, own_thread=False)
def open_memory(spec: Spec, folder: Path, call: Call) -> MemorySink:
    """Open an empty ring."""
    return MemorySink(int(str(spec.settings.get("rows", ROWS))))
