"""Declarations of streams, tables and classes: durable once they are answered, and the same one may come again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from headgate.core import Declared, PriorityChanged
from headgate.model import HeadgateError, QueryClass, check_known, check_relation, folded, relation
from headgate.spark.machine import messages as m
from headgate.spark.machine.catalog import Catalog
from headgate.spark.machine.definitions import CLASSES, STREAMS, TABLES
from headgate.spark.machine.interfaces import StreamFacts
from headgate.spark.machine.lag_limits import LagLimits
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.tasks import OpenStream


class Declarations:
    """Carries out declarations, and changes of classes."""

    def __init__(self, scheduling: Scheduling, catalog: Catalog, lag_limits: LagLimits, facts: StreamFacts) -> None:
        self.table_declared: Callable[[str], None]  # lets queries go on that waited for it; set by the machine
        self._context = scheduling.context
        self._scheduling, self._catalog, self._lag_limits, self._facts = scheduling, catalog, lag_limits, facts
        self._relations: dict[str, str] = {}  # streams and tables, by their names as SQL reads them
        self._being_opened: dict[str, list[m.DeclareStream]] = {}  # streams, and who declares them a second time
        self.handlers: Mapping[type, Callable[[Any], None]] = {
            m.DeclareStream: self._declare_stream,
            m.DeclareTable: self._declare_table,
            m.DeclareClass: self._declare_class,
            m.SetPriority: self._set_priority,
        }

    # -- streams -----------------------------------------------------------------------------------------------

    def _declare_stream(self, command: m.DeclareStream) -> None:
        stream = command.stream
        if stream.name in self._being_opened:
            self._being_opened[stream.name].append(command)
            return
        self._catalog.check(STREAMS, stream.name, command.entry)
        if self._relations.get(folded(stream.name)) == relation("stream", stream.name):
            self._declare_again(command)
            return
        check_relation("stream", stream.name, self._relations)
        self._relations[folded(stream.name)] = relation("stream", stream.name)
        self._being_opened[stream.name] = []

        def opened(answer: m.Answer) -> None:
            if answer.error is not None:
                ended(answer.error)
            else:
                self._catalog.declare(STREAMS, stream.name, command.entry, ended)

        def ended(error: Exception | None) -> None:
            if error is not None:
                del self._relations[folded(stream.name)]
            else:
                # Tuples may have been appended already; `Scheduling.appended` ignores news of them that come later.
                self._scheduling.ends[stream.name] = self._facts.end(stream.name)
                self._scheduling.tell(Declared(stream=stream))
            self._context.reply(command.ticket, error=error)
            for again in self._being_opened.pop(stream.name):
                self._answer(again, self._declare_stream)

        self._context.submit(OpenStream(stream), opened)

    def _declare_again(self, command: m.DeclareStream) -> None:
        """Keep what an older format did not store of a stream, such as its source."""
        self._catalog.declare(
            STREAMS, command.stream.name, command.entry, lambda error: self._context.reply(command.ticket, error=error)
        )

    def _answer(self, command: Any, handle: Callable[[Any], None]) -> None:
        """Handle a command that has waited."""
        try:
            handle(command)
        except HeadgateError as error:
            self._context.reply(command.ticket, error=error)

    # -- tables ------------------------------------------------------------------------------------------------

    def _declare_table(self, command: m.DeclareTable) -> None:
        name = command.name
        self._catalog.check(TABLES, name, command.entry)
        if self._relations.get(folded(name)) != relation("table", name):
            check_relation("table", name, self._relations)
        new = folded(name) not in self._relations
        self._relations[folded(name)] = relation("table", name)

        def ended(error: Exception | None) -> None:
            if error is not None and new:
                del self._relations[folded(name)]
            self._context.reply(command.ticket, error=error)
            if error is None and not command.absent:
                self.table_declared(name)

        self._catalog.declare(TABLES, name, command.entry, ended)

    # -- classes -----------------------------------------------------------------------------------------------

    def _declare_class(self, command: m.DeclareClass) -> None:
        query_class = command.query_class

        def ended(error: Exception | None) -> None:
            known = self._scheduling.scheduler.network.classes.get(query_class.name)
            if error is None and known != query_class:
                self._scheduling.tell(Declared(query_class=query_class))
                self._lag_limits.limits_changed()
            self._context.reply(command.ticket, error=error)

        entry = class_entry(query_class) if command.entry is None else command.entry
        self._catalog.declare(CLASSES, query_class.name, entry, ended)

    def _set_priority(self, command: m.SetPriority) -> None:
        name = command.query_class
        classes = self._scheduling.scheduler.network.classes
        check_known("class", name, classes)

        def ended(error: Exception | None) -> None:
            if error is None:
                self._scheduling.tell(PriorityChanged(name, command.priority))
            self._context.reply(command.ticket, error=error)

        changed = replace(classes[name], priority=command.priority)
        self._catalog.change(CLASSES, {name: class_entry(changed)}, ended)


def class_entry(query_class: QueryClass) -> dict[str, Any]:
    """What the catalog keeps of a class."""
    target = None if query_class.target is None else str(query_class.target)
    return {"priority": query_class.priority, "lag": query_class.lag, "target": target}
