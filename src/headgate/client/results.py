"""The committed results of a query, read page by page as Arrow."""

from __future__ import annotations

import pyarrow as pa

from headgate.client.connection import ARROW, Connection, Request, path_of
from headgate.client.rows import read_arrow

PAGE = 50_000  # rows
NEXT = "x-next-cursor"  # the header with the cursor of what follows


class Results:
    """Results that have been read so far, and where to go on."""

    def __init__(self, connection: Connection, query: str) -> None:
        self._connection, self._path = connection, path_of("queries", query, "results")
        self._cursor: str | None = None
        self._tables: list[pa.Table] = []

    def schema(self) -> pa.Schema:
        """The columns."""
        return self._page(1)[0].schema

    def read(self) -> pa.Table:
        """All results so far."""
        while True:
            table, self._cursor = self._page(PAGE)
            if table.num_rows or not self._tables:
                self._tables.append(table)
            if table.num_rows < PAGE:
                return pa.concat_tables(self._tables)

    def _page(self, rows: int) -> tuple[pa.Table, str | None]:
        query = {"limit": rows, "cursor": self._cursor}
        answer = self._connection.ask(Request("GET", self._path, query, headers={"Accept": ARROW}))
        return read_arrow(answer.body), answer.headers.get(NEXT)
