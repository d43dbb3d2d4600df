"""Takes any number of rows at a time from a generator of pages (tables of some rows each)."""

from __future__ import annotations

from collections.abc import Callable, Generator

import pyarrow as pa

from headgate.spark.ingest.parsing.records import Bad, Read


class PagedRows:
    """Pages as one sequence of rows: where one page ends and the next begins does not show."""

    def __init__(self, pages: Generator[Read, None, None], schema: pa.Schema) -> None:
        self._pages = pages
        self._page = schema.empty_table()
        self.bad: list[Bad] = []  # rows that could not be read; whoever reports them empties the list
        self.over = False  # whether there are no more rows

    def take(self, count: int) -> pa.Table:
        """The next `count` rows; fewer only where the rows end."""
        slices = [self._page.slice(0, 0)]
        while count > 0 and not self.over:
            slices.append(self._page.slice(0, count))
            self._page = self._page.slice(count)
            count -= slices[-1].num_rows
            self._next_page()
        return pa.concat_tables(slices)

    def close(self) -> None:
        self._pages.close()
        self.over = True

    def _next_page(self) -> None:
        """Once a page is used up, read on to the next one that has rows: only then is it known whether more come."""
        while not self._page.num_rows and not self.over:
            page = next(self._pages, None)
            if page is None:
                self.over = True
                return
            self._page, bad = page
            self.bad += bad


def repeated(read_again: Callable[[], Generator[Read, None, None]]) -> Generator[Read, None, None]:
    """Pages from the beginning again and again, unless there is no row in them."""
    has_rows = True
    while has_rows:
        has_rows = False
        for rows, bad in read_again():
            has_rows = has_rows or rows.num_rows > 0
            yield rows, bad
