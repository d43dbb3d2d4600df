"""Declarations of streams, tables and classes: durable once they are answered, and the same one may come again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from headgate.core import Declared, PriorityChanged
from headgate.model import HeadgateError, QueryClass, check_known, check_relation, folded, relation
from headgate.model.target_checks import check_not_contradicted
from headgate.spark.machine import messages as m
from headgate.spark.machine.catalog import Catalog
from headgate.spark.machine.definitions import CLASSES, DROPPED, STREAMS, TABLES
from headgate.spark.machine.interfaces import StreamFacts
from headgate.spark.machine.lag_limits import LagLimits
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.tasks import OpenStream


class Declarations:
    """Carries out declarations, and changes of classes."""

    def __init__(self, scheduling: Scheduling, catalog: Catalog, lag_limits: LagLimits, facts: StreamFacts) -> None:
        self.table_declared: Callable[[str], None]  # lets queries go on that waited for it; set by the machine
        self.handle: Callable[[Any], None]  # handles a command; likewise
        self._context = scheduling.context
        self._scheduling, self._catalog, self._lag_limits, self._facts = scheduling, catalog, lag_limits, facts
        self.relations: dict[str, str] = {}  # streams and tables, by their names as SQL reads them
        self._under_way: dict[tuple[str, str], list[m.Command]] = {}  # by kind and name, with commands that wait
        self.handlers: Mapping[type, Callable[[Any], None]] = {
            m.DeclareStream: self._declare_stream,
            m.DeclareTable: self._declare_table,
            m.DeclareClass: self._declare_class,
            m.ChangeClass: self._change_class,
        }

    # -- streams -----------------------------------------------------------------------------------------------

    def _declare_stream(self, command: m.DeclareStream) -> None:
        stream = command.stream
        if self.waits(STREAMS, stream.name, command):
            return
        self._catalog.check(STREAMS, stream.name, command.entry)
        if self.relations.get(folded(stream.name)) == relation("stream", stream.name):
            self._declare_again(command)
            return
        check_relation("stream", stream.name, self.relations)
        self.relations[folded(stream.name)] = relation("stream", stream.name)
        self.begin(STREAMS, stream.name)

        def opened(answer: m.Answer) -> None:
            if answer.error is not None:
                ended(answer.error)
                return
            if isinstance(refusal := answer.value, HeadgateError):
                self._scheduling.refused[stream.name] = refusal
                self._context.log("error", "a stream is refused", stream=stream.name, why=str(refusal))
            self._catalog.declare(STREAMS, stream.name, command.entry, ended)

        def ended(error: Exception | None) -> None:
            if error is not None:
                del self.relations[folded(stream.name)]
                self._scheduling.refused.pop(stream.name, None)
            elif stream.name in self._scheduling.refused:
                self._scheduling.declare(stream, 0)
            else:
                # Tuples may have been appended already; `Scheduling.appended` ignores news of them that come later.
                self._scheduling.declare(stream, self._facts.end(stream.name))
            self._context.reply(command.ticket, error=error)
            self.end(STREAMS, stream.name)

        fresh = self._catalog.get(DROPPED, stream.name) is not None
        self._context.submit(OpenStream(stream, fresh, command.reached), opened)

    def _declare_again(self, command: m.DeclareStream) -> None:
        """Keep what an older format did not store of a stream, such as its source."""
        self._catalog.declare(
            STREAMS, command.stream.name, command.entry, lambda error: self._context.reply(command.ticket, error=error)
        )

    # -- one command at a time for each stream and class -------------------------------------------------------

    def waits(self, kind: str, name: str, command: m.Command) -> bool:
        """Whether a command must wait, since another one for the same thing is under way; it is handled after that."""
        if (kind, name) not in self._under_way:
            return False
        self._under_way[kind, name].append(command)
        return True

    def begin(self, kind: str, name: str) -> None:
        """A command for something is under way."""
        self._under_way[kind, name] = []

    def end(self, kind: str, name: str) -> None:
        """It is over: handle those that have waited."""
        for command in self._under_way.pop((kind, name)):
            try:
                self.handle(command)
            except HeadgateError as error:
                self._context.reply(command.ticket, error=error)

    # -- tables ------------------------------------------------------------------------------------------------

    def _declare_table(self, command: m.DeclareTable) -> None:
        name = command.name
        if self.waits(TABLES, name, command):
            return
        self._catalog.check(TABLES, name, command.entry)
        if self.relations.get(folded(name)) != relation("table", name):
            check_relation("table", name, self.relations)
        new = folded(name) not in self.relations
        self.relations[folded(name)] = relation("table", name)
        self._scheduling.tables.add(name)

        def ended(error: Exception | None) -> None:
            if error is not None and new:
                del self.relations[folded(name)]
                self._scheduling.tables.discard(name)
            self._context.reply(command.ticket, error=error)
            if error is None and not command.absent:
                self.table_declared(name)

        self._catalog.declare(TABLES, name, command.entry, ended)

    # -- classes -----------------------------------------------------------------------------------------------

    def _declare_class(self, command: m.DeclareClass) -> None:
        query_class = command.query_class
        if self.waits(CLASSES, query_class.name, command):
            return

        def ended(error: Exception | None) -> None:
            known = self._scheduling.scheduler.network.classes.get(query_class.name)
            if error is None and known != query_class:
                self._scheduling.tell(Declared(query_class=query_class))
                self._lag_limits.limits_changed()
            self._context.reply(command.ticket, error=error)

        entry = class_entry(query_class) if command.entry is None else command.entry
        self._catalog.declare(CLASSES, query_class.name, entry, ended)

    def _change_class(self, command: m.ChangeClass) -> None:
        name = command.query_class
        if self.waits(CLASSES, name, command):
            return
        scheduler = self._scheduling.scheduler
        check_known("class", name, scheduler.network.classes)
        changed = replace(scheduler.network.classes[name], **command.changes)
        scheduler.policy.check(scheduler.network.declare(query_class=changed))
        self._check_targets(changed)
        self.begin(CLASSES, name)

        def ended(error: Exception | None) -> None:
            if error is None and command.changes.keys() == {"priority"}:
                self._scheduling.tell(PriorityChanged(name, changed.priority))
            elif error is None:
                self._scheduling.tell(Declared(query_class=changed))
                self._lag_limits.limits_changed()
            self._context.reply(command.ticket, error=error)
            self.end(CLASSES, name)

        self._catalog.change(CLASSES, {name: class_entry(changed)}, ended)

    def _check_targets(self, query_class: QueryClass) -> None:
        """Refuse a target that contradicts the graph of a query in the class."""
        for life in self._context.lives.values():
            if life.query.query_class == query_class.name:
                check_not_contradicted(life.query, query_class)


def class_entry(query_class: QueryClass) -> dict[str, Any]:
    """What the catalog keeps of a class."""
    target = None if query_class.target is None else str(query_class.target)
    return {"priority": query_class.priority, "lag": query_class.lag, "target": target}
