"""Stored tables that queries join with: register, refresh, remove."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headgate.model import Table, TableJoin, walk
from headgate.model.values import located
from headgate.server.hosting import EngineHost
from headgate.server.live.snapshots import Snapshot
from headgate.server.workspace.names import Names
from headgate.spark import arguments
from headgate.spark.jvm.spark_logs import quietly
from headgate.spark.machine.definitions import TABLES
from headgate.spark.session import Session


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a tenant."""

    host: EngineHost
    names: Names

    @property
    def session(self) -> Session:
        return self.host.session()

    def all(self) -> list[str]:
        """Their names, as the tenant has them."""
        return [self.names.short(name) for name in list(self.session.engine.tables) if self.names.has(name)]

    def find(self, name: str) -> str:
        """The engine's name of a table that must be there."""
        return self.names.find("table", name, list(self.session.engine.tables))

    def create(self, name: str, path: str, within: Path) -> None:
        """Declare a table of files in a folder."""
        whole = self.names.new(name, "table")
        table = Table(name=whole, path=arguments.table_path(path), within=str(within))
        with located(f"table '{whole}'"), quietly():
            self.session.engine.add_table(table)

    def refresh(self, whole: str) -> None:
        self.session.refresh_table(whole)

    def drop(self, whole: str) -> None:
        self.session.drop_table(whole)

    def definition(self, whole: str) -> dict[str, Any]:
        """What was declared of a table; where its rows are is not for tenants."""
        engine = self.session.engine
        columns = ", ".join(f"{column} {kind}" for column, kind in engine.tables.described(whole).schema)
        path = engine.stored(TABLES).get(whole, {}).get("path")
        return {"name": self.names.short(whole), "schema": columns, "path": None if self.names.tenant else path}

    def describe(self, name: str, snapshot: Snapshot) -> dict[str, Any]:
        """What was declared, whether it can be read, and which queries join with it."""
        whole = self.find(name)
        readers = [
            self.names.short(reader)
            for reader, numbers in snapshot.queries.items()
            if self.names.has(reader) and _reads(numbers.view.query.plan, whole)
        ]
        return {
            **self.definition(whole),
            "error": self.session.engine.tables.why_lost(whole) or None,
            "queries": sorted(readers),
        }

    @contextmanager
    def changing(self, name: str, if_match: str | None) -> Iterator[str]:
        """Change a table meanwhile, if its ETag is the one that was sent; gives the engine's name of it."""
        key = "table", self.names.whole(name)
        with self.host.changes.of(key, f"table '{name}'", if_match, lambda: self.definition(self.find(name))):
            yield self.find(name)


def _reads(plan: Any, table: str) -> bool:
    return any(isinstance(node, TableJoin) and node.table == table for node in walk(plan))
