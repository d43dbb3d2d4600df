"""What users have been told: everything acknowledged must be in the commits, and nothing that was refused.

Several commands may be under way for one thing, so what it is now may be the value of any that no later one has
replaced. A command that was under way at a crash counts or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from tests.spark.chaos.ledger import BrokenError, Ledger

from headgate.spark.machine import messages as m
from headgate.spark.machine.definitions import CLASSES, SETTINGS, STREAMS

Key = tuple[str, str]  # what, of which name


@dataclass(eq=False)
class Change:
    """A value that somebody asked for, from when until it was acknowledged."""

    value: Any
    asked: float
    acknowledged: float = inf  # not yet, or nobody knows whether it counts


@dataclass
class Acknowledged:
    """Every change of what is declared that may count."""

    clock: int = 0
    changes: dict[Key, list[Change]] = field(default_factory=dict)
    under_way: dict[int, list[tuple[Key, Change]]] = field(default_factory=dict)  # by ticket

    def asked(self, command: m.Command) -> None:
        self.clock += 1
        made = [(key, Change(value, self.clock)) for key, value in _effects(command).items()]
        self.under_way[command.ticket] = made
        for key, change in made:
            self.changes.setdefault(key, []).append(change)

    def answered(self, ticket: int, *, refused: bool, unsure: bool) -> None:
        """A command was carried out or refused; `unsure` if nobody can tell yet whether it counts."""
        self.clock += 1
        for key, change in self.under_way.pop(ticket, ()):
            if unsure:
                continue
            if refused:
                self.changes[key].remove(change)
            else:
                change.acknowledged = self.clock
        self._forget_replaced()

    def given(self, settings: Mapping[str, Any]) -> None:
        """A session is being opened with other settings."""
        self.clock += 1
        for name, value in settings.items():
            self.changes.setdefault(("setting", name), []).append(Change(value, self.clock))

    def removed(self, query: str) -> None:
        """A commit removes a query, at somebody's command or because its end has come."""
        self.clock += 1
        for key, value in _NO_QUERY.items():
            self.changes.setdefault((key, query), []).append(Change(value, self.clock, self.clock))
        self._forget_replaced()

    def _forget_replaced(self) -> None:
        for key, changes in self.changes.items():
            newest = max((change.asked for change in changes if change.acknowledged < inf), default=0)
            self.changes[key] = [change for change in changes if change.acknowledged >= newest]

    def check(self, ledger: Ledger) -> None:
        """Compare with what commits say."""
        found = _found(ledger)
        for key in {*found, *self.changes}:
            possible = [change.value for change in self.changes.get(key, ())]
            if all(change.acknowledged == inf for change in self.changes.get(key, ())):
                possible.append(_NO_QUERY.get(key[0]))  # nothing was acknowledged
            if found.get(key, _NO_QUERY.get(key[0])) not in possible:
                raise BrokenError(f"{' '.join(key)}: commits have {found.get(key)}, acknowledged {possible}")

    def restarted(self, ledger: Ledger) -> None:
        """After a start nothing is under way: what commits have is what counts."""
        self.under_way = {}
        self.changes = {key: [Change(value, self.clock, self.clock)] for key, value in _found(ledger).items()}


_NO_QUERY = {"sql": None, "class": None, "paused": False}


def _effects(command: m.Command) -> dict[Key, Any]:
    """What is different once a command is acknowledged."""
    match command:
        case m.DeclareStream():
            return {("stream", command.stream.name): command.stream.watermark}
        case m.DeclareClass():
            return {("priority", command.query_class.name): command.query_class.priority}
        case m.ChangeClass() if "priority" in command.changes:
            return {("priority", command.query_class): command.changes["priority"]}
        case m.SetPolicy():
            fuse = {} if command.fuse is None else {("setting", "fuse"): command.fuse}
            return {("setting", "policy"): command.policy, **fuse}
        case m.AddQuery():
            query = command.query
            return {("sql", query.name): query.sql, ("class", query.name): query.query_class}
        case m.AddQueries():
            return {key: value for each in command.queries for key, value in _effects(each).items()}
        case m.Replace():
            return {("sql", command.query.name): command.query.sql}
        case m.Move():
            return {("class", command.name): command.query_class}
        case m.Pause() | m.Resume():
            return {("paused", command.name): isinstance(command, m.Pause)}
        case m.Stop():
            return {(key, command.name): value for key, value in _NO_QUERY.items()}
    return {}


def _found(ledger: Ledger) -> Mapping[Key, Any]:
    """The same of what commits say."""
    catalog = ledger.catalog
    found: dict[Key, Any] = {("stream", name): entry["watermark"] for name, entry in catalog.get(STREAMS, {}).items()}
    found |= {("priority", name): entry["priority"] for name, entry in catalog.get(CLASSES, {}).items()}
    found |= {("setting", name): value for name, value in catalog.get(SETTINGS, {}).items()}
    for name in ledger.queries:
        generation = ledger.living(name)
        said = {} if generation is None else generation.said
        found |= {("sql", name): said.get("sql"), ("class", name): said.get("class")}
        found["paused", name] = bool(said.get("paused"))
    return found
