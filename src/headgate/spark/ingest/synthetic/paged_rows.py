"""Rows taken from pages, any number at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator

import pyarrow as pa

from headgate.spark.ingest.parsing.records import Bad, Read


class PagedRows:
    """Pages as one sequence of rows; how it is cut does not change what is in it."""

    def __init__(self, pages: Generator[Read, None, None], schema: pa.Schema) -> None:
        self._pages = pages
        self._page = schema.empty_table()
        self.bad: list[Bad] = []  # found since somebody emptied it
        self.over = False

    def take(self, count: int) -> pa.Table:
        """The next rows: fewer only where they end."""
        parts = [self._page.slice(0, 0)]
        while count > 0 and not self.over:
            parts.append(self._page.slice(0, count))
            self._page = self._page.slice(count)
            count -= parts[-1].num_rows
            self._look_ahead()
        return pa.concat_tables(parts)

    def close(self) -> None:
        self._pages.close()
        self.over = True

    def _look_ahead(self) -> None:
        while not self._page.num_rows and not self.over:
            found = next(self._pages, None)
            if found is None:
                self.over = True
                return
            self._page, bad = found
            self.bad += bad


def repeated(again: Callable[[], Generator[Read, None, None]]) -> Generator[Read, None, None]:
    """Pages from the beginning again and again, unless there is no row in them."""
    some = True
    while some:
        some = False
        for rows, bad in again():
            some = some or rows.num_rows > 0
            yield rows, bad
