"""A mirror's directory: copies as files, and what is known of them in SQLite, so that a crash loses at most one visit.

A visit is recorded in one transaction: when it was, whether the element had changed, the server's marks. A changed copy
is written before it, under another name first. After a crash in between, the copy is newer than its marks say: the next
visit is answered with the document again, and the change is recorded then.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from headgate.freshness.elements import Elements
from headgate.freshness.rates import Histories
from headgate.freshness.refresher.sources import CopyVersion, Fetched, digest
from headgate.model import HeadgateError

SCHEMA = """
CREATE TABLE IF NOT EXISTS element (
    number INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, change_rate REAL NOT NULL, access REAL NOT NULL,
    size REAL NOT NULL, floor REAL NOT NULL, learned REAL,
    etag TEXT NOT NULL DEFAULT '', last_modified TEXT NOT NULL DEFAULT '', digest TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS visit (number INTEGER NOT NULL, at REAL NOT NULL, changed INTEGER, error TEXT);
CREATE INDEX IF NOT EXISTS visit_of ON visit (number, at);
"""


class Visited(NamedTuple):
    """A visit that was made: when, by the clock in seconds, and what it found (None: nothing, it failed)."""

    number: int
    at: float
    changed: bool | None
    error: str = ""


class Store:
    """The directory of one mirror; opened by one process at a time."""

    def __init__(self, directory: Path) -> None:
        self.copies = directory / "copies"
        self.copies.mkdir(parents=True, exist_ok=True)
        try:
            self._database = sqlite3.connect(directory / "mirror.sqlite", isolation_level=None)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._database.executescript(SCHEMA)
        except sqlite3.OperationalError as error:
            message = f"the mirror cannot be opened: {error}"
            raise HeadgateError(message, where=str(directory), hint="end the other run that uses it") from None
        except sqlite3.DatabaseError as error:
            raise HeadgateError(f"the mirror is damaged: {error}", where=str(directory), hint="use another") from None

    def close(self) -> None:
        self._database.close()

    def enter(self, elements: Elements) -> None:
        """Store a table of elements; copies and visits of elements stored before are kept."""
        assert elements.ids is not None
        keys = [str(key) for key in elements.ids]
        rows = zip(
            range(len(keys)),
            keys,
            *(c.tolist() for c in (elements.change_rate, elements.access, elements.size, elements.floor)),
            strict=True,
        )
        if self.keys():
            if self.keys() != keys:
                raise HeadgateError("the mirror holds other elements", hint="give the same table, or another directory")
            return
        with self._transaction():
            self._database.executemany(
                "INSERT INTO element (number, id, change_rate, access, size, floor) VALUES (?, ?, ?, ?, ?, ?)", rows
            )

    def keys(self) -> list[str]:
        return [row[0] for row in self._all("SELECT id FROM element ORDER BY number")]

    def elements(self) -> Elements:
        """The elements with the change rates of their table."""
        return self._elements("change_rate")

    def learned(self) -> Elements:
        """The elements with the change rates of the last estimate."""
        return self._elements("coalesce(learned, change_rate)")

    def version(self, number: int) -> CopyVersion:
        return CopyVersion(*self._all("SELECT etag, last_modified, digest FROM element WHERE number = ?", number)[0])

    def path(self, key: str) -> Path:
        """Where the copy of an element lies; names that are too long for a file end in a digest."""
        name = quote(key, safe=" ")
        name = f"%2E{name[1:]}" if name.startswith(".") else name
        return self.copies / (name if len(name) <= 200 else f"{name[:160]}-{digest(key.encode())}")

    def record(self, key: str, visit: Visited, fetched: Fetched | None) -> None:
        """Record a visit and store the copy if it has changed."""
        if fetched is not None and fetched.body is not None and visit.changed:
            _write(self.path(key), fetched.body)
        with self._transaction():
            changed = None if visit.changed is None else int(visit.changed)
            self._run("INSERT INTO visit VALUES (?, ?, ?, ?)", visit.number, visit.at, changed, visit.error or None)
            if fetched is not None:
                marks = "UPDATE element SET etag = ?, last_modified = ?, digest = ? WHERE number = ?"
                self._run(marks, *fetched.version, visit.number)

    def learn(self, rates: Sequence[float]) -> None:
        """Store new change rates."""
        with self._transaction():
            pairs = [(rate, number) for number, rate in enumerate(rates)]
            self._database.executemany("UPDATE element SET learned = ? WHERE number = ?", pairs)

    def histories(self, period: float) -> Histories:
        """All visits that had one before them, with gaps in periods; failed ones do not count."""
        rows = self._all("SELECT number, at, changed FROM visit WHERE changed IS NOT NULL ORDER BY number, at")
        number, at, changed = (np.array([row[place] for row in rows], dtype=float) for place in range(3))
        same = (np.diff(number) == 0) & (np.diff(at) > 0)
        gaps = np.diff(at)[same] / period
        return Histories.of(number[1:][same], gaps, changed[1:][same], len(self.keys()))

    def visits(self) -> list[Visited]:
        rows = self._all("SELECT number, at, changed, error FROM visit ORDER BY rowid")
        return [Visited(n, at, None if changed is None else bool(changed), why or "") for n, at, changed, why in rows]

    def _elements(self, rate: str) -> Elements:
        rows = self._all(f"SELECT id, {rate}, access, size, floor FROM element ORDER BY number")
        keys, rates, access, size, floor = zip(*rows, strict=True)
        return Elements.of(rates, access, size, floor, list(keys))

    def _transaction(self) -> _Transaction:
        return _Transaction(self._database)

    def _run(self, sql: str, *values: object) -> None:
        self._database.execute(sql, values)

    def _all(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with closing(self._database.execute(sql, values)) as cursor:
            return cursor.fetchall()


class _Transaction:
    """All or nothing."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __enter__(self) -> None:
        self._database.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._database.execute("COMMIT" if kind is None else "ROLLBACK")


def _write(path: Path, body: bytes) -> None:
    """A whole copy or none."""
    temporary = path.with_name(f"{path.name}.tmp")
    with open(temporary, "wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
