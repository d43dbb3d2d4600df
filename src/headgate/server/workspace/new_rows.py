"""The newest rows of a query in memory, by their numbers."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from headgate.model import HeadgateError
from headgate.server.workspace.results import Results

NEWEST = 8 << 20  # bytes of new rows that are kept
TABLES = 200  # likewise


class NewRows:
    """Follows a query and keeps what was committed last. One thread takes; others may look at the same time.

    Followers get the tables of each commit; the number of the first row is known from the commits before. A commit
    that was durable when the rows were counted is among those, so it is left out, and every later one is given.
    """

    def __init__(self, results: Results, told: Callable[[int | None], object]) -> None:
        self._results = results
        self.end = results.session.engine.followers.tell(results.whole, told)
        self._begin()

    def _begin(self) -> None:
        self._inbox = self._results.session.engine.followers.inbox(self._results.whole, NEWEST)
        self._commit, self.end_row = self._results.position()
        self._tables: tuple[tuple[int, pa.Table], ...] = ()  # with the numbers of their first rows

    @property
    def first_row(self) -> int:
        """The number of the oldest row that is here."""
        tables = self._tables
        return tables[0][0] if tables else self.end_row

    def take(self) -> bool:
        """Take what has been committed meanwhile; whether there was something."""
        before = self.end_row
        try:
            while (found := self._inbox.get_with_commit(0)) is not None:
                commit, table = found
                if commit > self._commit:
                    self._add(table)
        except HeadgateError:  # so much came that some was left out: that is in files
            self._begin()
        return self.end_row > before

    def _add(self, table: pa.Table) -> None:
        tables = (*self._tables, (self.end_row, table))[-TABLES:]
        size = sum(kept.nbytes for _, kept in tables)
        while size > NEWEST and len(tables) > 1:
            size -= tables[0][1].nbytes
            tables = tables[1:]
        self._tables = tables
        self.end_row += table.num_rows

    def rows(self, first: int, limit: int) -> pa.Table | None:
        """Some rows from a number on; None if they are not here."""
        tables = self._tables
        if not tables or first < tables[0][0]:
            return None
        parts = []
        for begin, table in tables:
            low, high = max(first - begin, 0), min(first + limit - begin, table.num_rows)
            if low < high:
                parts.append(table.slice(low, high - low))
        return pa.concat_tables(parts, promote_options="permissive") if parts else None
