"""The results of a query as a tenant sees them: rows by number, whose cursor stays good for ever."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

from headgate.model import ConflictError, HeadgateError, check_name
from headgate.server.hosting import EngineHost
from headgate.server.json_rows import json_rows
from headgate.server.paging import cursor, row_position
from headgate.server.workspace.names import Names
from headgate.spark.session import Session
from headgate.spark.sinks.registry import is_file
from headgate.spark.store.atomic_files import safe_name

ENDED = ("done", "stopped")  # states after which no results come


_NUMBER = re.compile(r"[0-9]{1,15}")  # a cursor never looks like this
_LAST = re.compile(r"-[0-9]{1,15}")


@dataclass(frozen=True, slots=True)
class Results:
    """The results of one query, by the engine's name of it."""

    host: EngineHost
    names: Names
    whole: str

    @property
    def session(self) -> Session:
        return self.host.session()

    @property
    def _kind(self) -> str:
        return f"rows of '{self.names.short(self.whole)}'"

    def cursor(self, row: int) -> str:
        """The cursor before a row."""
        return cursor(self._kind, row)

    def row(self, text: str) -> int:
        """The row that a cursor is before, or whose number is given; refused if the query never had so many rows.

        A number below 0 counts back from the newest row, and is the first row if there are fewer.
        """
        if _LAST.fullmatch(text):
            return max(0, self.count() + int(text))
        row = int(text) if _NUMBER.fullmatch(text) else row_position(text, self._kind)
        if row > (there := self.count()):
            raise HeadgateError(
                f"the cursor is behind row {row}, and query '{self.names.short(self.whole)}' has {there} rows",
                where="cursor",
                hint="leave it out to begin",
            )
        return row

    def read(self, first: int, limit: int) -> tuple[pa.Table, int]:
        """Some rows from a number on, and the number after them."""
        found = self.session.engine.read_range(self.whole, first, limit, self._schema())
        return found.table, found.next

    def rows(self, first: int, limit: int) -> tuple[list[str], int]:
        """The same rows as JSON."""
        table, after = self.read(first, limit)
        return json_rows(table), after

    def position(self) -> tuple[int, int]:
        """The newest durable commit, and how many rows there are up to it."""
        try:
            return self.session.engine.position(self.whole)
        except HeadgateError:
            if self.whole in self.host.snapshot().queries or _kept(self.host, self.whole):
                raise
            return 0, 0  # it was removed before it had results

    def count(self) -> int:
        """How many rows are committed."""
        return self.position()[1]

    def over(self) -> bool:
        """Whether no more will come: the query has ended, or was removed."""
        numbers = self.host.snapshot().queries.get(self.whole)
        if numbers is not None and numbers.view.state not in ENDED:
            return False
        self.host.changed()  # what a snapshot says may be some moments old
        numbers = self.host.snapshot().queries.get(self.whole)
        return numbers is None or numbers.view.state in ENDED

    def _schema(self) -> pa.Schema | None:
        numbers = self.host.snapshot().queries.get(self.whole)
        return None if numbers is None else numbers.view.columns


def results_of(host: EngineHost, names: Names, name: str) -> Results:
    """The results of a query that is there, or was: `NotFoundError` if there are none of that name."""
    queries = host.snapshot().queries
    whole = names.whole(name)
    if whole not in queries and _kept(host, whole):
        return Results(host, names, whole)
    sink = queries[names.find("query", name, queries)].view.query.sink or "parquet"
    if not is_file(sink):
        raise ConflictError(
            f"query '{name}' gives its results to its sink '{sink}', and none are kept to read",
            hint="start it with the sink parquet or jsonl",
        )
    return Results(host, names, whole)


def _kept(host: EngineHost, whole: str) -> bool:
    """Whether a query that was removed has left results."""
    try:
        check_name(whole, "the name of a query")
    except HeadgateError:
        return False
    return (host.session().directory / "results" / safe_name(whole)).is_dir()
