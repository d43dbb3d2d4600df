"""Declaring stored tables: read now, and again when the data directory is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame

from headgate.model import HeadgateError, Table, check_relation, folded, relation
from headgate.spark.compile.declared_tables import DeclaredTable, Tables
from headgate.spark.engine.catalog_entries import stored_table, table_entry
from headgate.spark.engine.owner import Owner
from headgate.spark.machine import messages as m
from headgate.spark.machine.definitions import TABLES, check_same
from headgate.spark.store.commits.commit_log import CommitLog

Read = Callable[[Table, DataFrame | None], DeclaredTable]


class TableDeclarations:
    """Reads tables and declares them to the owner of the engine's state."""

    def __init__(self, tables: Tables, read: Read, owner: Owner, commits: CommitLog) -> None:
        self._tables, self._read, self._owner, self._commits = tables, read, owner, commits

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
        if frame is None and before:
            entry["columns"] = before.get("columns", entry["columns"])  # the file may have other columns by now
        former = self._tables.put(name, read)
        try:
            self._owner.ask(m.DeclareTable, name, entry)
        except BaseException:
            self._tables.put_back(name, former)
            raise
        return True

    def restore(self, name: str, entry: Mapping[str, Any]) -> None:
        """Read a table as the catalog has it; one that cannot be read keeps its name, and is absent."""
        absent = "was given as a DataFrame in an earlier session"
        if not entry["given"]:
            try:
                self._tables.put(name, self._read(stored_table(name, entry), None))
                absent = ""
            except HeadgateError as error:
                absent = error.message.removeprefix(f"table '{name}' ")
        if absent:
            columns = tuple((column, kind) for column, kind in entry["columns"])
            self._tables.put_absent(Table(name=name, schema=columns, path=entry["path"]), absent)
        self._owner.ask(m.DeclareTable, name, entry, absent=bool(absent))
