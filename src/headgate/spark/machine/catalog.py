"""The catalog: what has been declared and is in commits, so that the data directory comes back with all of it.

Streams, tables, classes and settings have an entry each, by kind and name. Queries are not here: commits describe them
together with where they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.definitions import CLASSES, DROPPED, SETTINGS, STREAMS, TABLES, Entry, check_same
from headgate.spark.machine.messages import Answer
from headgate.spark.machine.tasks import WriteCommit

Ended = Callable[[Exception | None], None]  # gets the error, or None


class Catalog:
    """The entries that commits have, and the writing of new ones: an entry counts once its commit is durable."""

    def __init__(self, context: MachineContext, entries: Mapping[str, Mapping[str, Entry]]) -> None:
        self._context = context
        self._entries = {kind: dict(entries.get(kind, {})) for kind in (STREAMS, TABLES, CLASSES, SETTINGS, DROPPED)}
        self._being_declared: dict[tuple[str, str], tuple[Entry, list[Ended]]] = {}

    def get(self, kind: str, name: str) -> Any:
        """The entry of a name, or None."""
        return self._entries[kind].get(name)

    def check(self, kind: str, name: str, entry: Entry) -> None:
        """Refuse another entry under a name that is there."""
        check_same(kind, name, self._entries[kind].get(name, {}), entry)

    def declare(self, kind: str, name: str, entry: Entry, ended: Ended) -> None:
        """Commit an entry, unless commits have the same already; something else under its name is refused."""
        self.check(kind, name, entry)
        if self._entries[kind].get(name) == entry:
            ended(None)
            return
        declared, callers = self._being_declared.setdefault((kind, name), (entry, []))
        check_same(kind, name, declared, entry)
        callers.append(ended)
        if len(callers) == 1:
            changes: dict[str, dict[str, Any]] = {kind: {name: entry}}
            if kind == STREAMS and name in self._entries[DROPPED]:
                changes[DROPPED] = {name: None}  # by the same commit, or a restart would remove the new stream
            self.change_all(changes, lambda error: self._declared(kind, name, error))

    def _declared(self, kind: str, name: str, error: Exception | None) -> None:
        _, callers = self._being_declared.pop((kind, name))
        for ended in callers:
            ended(error)

    def change(self, kind: str, entries: Mapping[str, Any], ended: Ended) -> None:
        """Commit new entries in place of those that are there; None removes one."""
        self.change_all({kind: entries}, ended)

    def change_all(self, changes: Mapping[str, Mapping[str, Any]], ended: Ended) -> None:
        """Commit changes of several kinds at once."""

        def written(answer: Answer) -> None:
            if answer.error is None:
                for kind, entries in changes.items():
                    self._apply(kind, entries)
            ended(answer.error)

        self._context.submit(WriteCommit(catalog={kind: dict(entries) for kind, entries in changes.items()}), written)

    def _apply(self, kind: str, entries: Mapping[str, Any]) -> None:
        for name, entry in entries.items():
            if entry is None:
                self._entries[kind].pop(name, None)
            else:
                self._entries[kind][name] = entry
