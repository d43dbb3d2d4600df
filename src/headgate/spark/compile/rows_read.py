"""How many rows the jobs of a thread read: those shipped from the driver, and those that executors read from files.

Whoever runs a job wants to know, and whoever builds its frames knows, many calls below.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class RowsRead:
    """A count that grows while frames are built."""

    rows: int = 0


_COUNT: ContextVar[RowsRead | None] = ContextVar("rows read", default=None)


@contextmanager
def counting_rows() -> Iterator[RowsRead]:
    """Count the rows of all frames that this thread builds meanwhile.

    >>> with counting_rows() as read:
    ...     add_rows(3)
    ...     add_rows(4)
    >>> read.rows
    7
    """
    count = RowsRead()
    token = _COUNT.set(count)
    try:
        yield count
    finally:
        _COUNT.reset(token)


def add_rows(rows: int) -> None:
    """A frame with so many rows has been built."""
    count = _COUNT.get()
    if count is not None:
        count.rows += rows
