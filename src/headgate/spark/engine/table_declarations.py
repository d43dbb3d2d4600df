"""Declaring stored tables: read now, and again when the data directory is opened."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame

from headgate.model import ConflictError, HeadgateError, Table, check_known, check_relation, folded, relation
from headgate.spark.compile.declared_tables import DeclaredTable, Tables
from headgate.spark.engine.catalog_entries import stored_table, table_entry
from headgate.spark.engine.owner import Owner
from headgate.spark.machine import messages as m
from headgate.spark.machine.definitions import TABLES, check_same, shown
from headgate.spark.store.commits.commit_log import CommitLog

Read = Callable[[Table, DataFrame | None], DeclaredTable]

GIVEN = "was given as a DataFrame in an earlier session"


class TableDeclarations:
    """Reads tables and declares them to the owner of the engine's state."""

    def __init__(self, tables: Tables, read: Read, owner: Owner, commits: CommitLog) -> None:
        self._tables, self._read, self._owner, self._commits = tables, read, owner, commits
        self._changing = threading.Lock()  # of the rows under a name: one at a time

    def add(self, table: Table, frame: DataFrame | None) -> bool:
        """Declare a table, and tell whether that changed anything: the same one may be declared again."""
        name = table.name
        before = self._commits.state.catalog.get(TABLES, {}).get(name, {})
        if name in self._tables and not self._tables.lost(name):
            if frame is not None or before.get("given"):  # nobody can tell whether the rows are the same
                check_relation("table", name, {folded(name): relation("table", name)})
            check_same(TABLES, name, before, {"path": table.path, "schema": [list(column) for column in table.schema]})
            return False
        read = self._read(table, frame)
        entry = table_entry(table, read.schema, given=frame is not None)
        if frame is None and "columns" in before:
            check_fits(name, before, entry)
            read = read.only([column for column, _ in before["columns"]])
            entry["columns"] = before["columns"]
        former = self._tables.put(name, read)
        try:
            self._owner.ask(m.DeclareTable, name, entry)
        except BaseException:
            self._tables.put_back(name, former)
            raise
        return True

    def refresh(self, name: str) -> None:
        """Read a table anew; if it cannot be read or lacks columns, its rows stay as they are."""
        with self._changing:
            entry = self._stored(name)
            if entry["given"]:
                hint = "stop the queries that read it, drop it and declare it anew; or keep its rows in a file"
                raise ConflictError(f"table '{name}' was given as a DataFrame: it cannot be read anew", hint=hint)
            table = stored_table(name, entry)
            read = self._read(table, None)
            now = table_entry(table, read.schema, given=False)
            check_fits(name, entry, now)
            columns = entry.get("columns", now["columns"])
            self._tables.renew(name, read.only([column for column, _ in columns]))
            self._owner.ask(m.DeclareTable, name, {"columns": now["columns"], **entry})  # queries may wait for it

    def drop(self, name: str) -> None:
        """Remove a table, once no query reads it."""
        with self._changing:
            self._owner.ask(m.DropTable, name)
            self._tables.remove(name)

    def _stored(self, name: str) -> Mapping[str, Any]:
        entries: Mapping[str, Mapping[str, Any]] = self._commits.state.catalog.get(TABLES, {})
        return entries[check_known("table", name, entries)]

    def restore(self, name: str, entry: Mapping[str, Any]) -> None:
        """Read a table as the catalog has it; one that cannot be read keeps its name, and is absent."""
        absent = GIVEN
        if not entry["given"]:
            try:
                read = self._read(stored_table(name, entry), None)
                now = table_entry(stored_table(name, entry), read.schema, given=False)
                check_fits(name, entry, now)
                columns = entry.get("columns", now["columns"])
                self._tables.put(name, read.only([column for column, _ in columns]))
                entry = {"columns": now["columns"], **entry}  # unknown if a file has changed where the table is
                absent = ""
            except HeadgateError as error:
                absent = error.message.removeprefix(f"table '{name}' ")
        if absent:
            schema = tuple((column, kind) for column, kind in entry.get("columns") or entry["schema"])
            table = Table(name=name, schema=schema, path=entry["path"], within=entry.get("within"))
            self._tables.put_absent(table, absent)
        self._owner.ask(m.DeclareTable, name, entry, absent=bool(absent))


def check_fits(name: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse a file that lacks a column that the table had, or has it with another type: results would not fit."""
    columns = dict(now["columns"])
    if any(columns.get(column) != kind for column, kind in before.get("columns", ())):
        raise ConflictError(
            f"table '{name}' has other columns than before, {shown(now['columns'])} and not {shown(before['columns'])}",
            hint="correct the file, then declare the table again; or give it another name",
        )
