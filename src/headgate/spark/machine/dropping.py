"""Dropping streams, tables and classes: refused while a query uses them, and durable once answered.

A stream is gone with the commit that says so. Its files are removed afterwards; the commit leaves an entry of the kind
`DROPPED` in the catalog, so that whoever opens the directory next completes the removal if a crash interrupted it. The
entry stays until a stream of that name is declared again, which first removes whatever is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headgate.core import Undeclared
from headgate.model import ConflictError, Query, check_known, folded, relation, streams
from headgate.spark.machine import messages as m
from headgate.spark.machine.catalog import Catalog
from headgate.spark.machine.declarations import Declarations
from headgate.spark.machine.definitions import CLASSES, DROPPED, STREAMS, TABLES
from headgate.spark.machine.delivery import Delivery
from headgate.spark.machine.preparation import Preparation
from headgate.spark.machine.scheduling import Scheduling, tables_of
from headgate.spark.machine.tasks import RemoveStream, RetireStream

MANY = 5  # queries that an error names


class Dropping:
    """Carries out the commands that drop something."""

    def __init__(
        self,
        scheduling: Scheduling,
        declarations: Declarations,
        catalog: Catalog,
        delivery: Delivery,
        preparation: Preparation,
    ) -> None:
        self.forget_arrivals: Callable[[str], None]  # of a stream, in the history; set by the machine
        self._context = scheduling.context
        self._scheduling, self._declarations, self._catalog = scheduling, declarations, catalog
        self._delivery, self._preparation = delivery, preparation
        self.handlers: Mapping[type, Callable[[Any], None]] = {
            m.DropStream: self._drop_stream,
            m.DropTable: self._drop_table,
            m.DropClass: self._drop_class,
        }

    # -- streams -----------------------------------------------------------------------------------------------

    def _drop_stream(self, command: m.DropStream) -> None:
        name = command.name
        if self._declarations.waits(STREAMS, name, command):
            return
        check_known("stream", name, self._scheduling.ends)
        self._check_unused(relation("stream", name), "read it", lambda query: name in streams(query.plan))
        self._begin(STREAMS, name)

        def committed(error: Exception | None) -> None:
            if error is not None:
                self._refused(STREAMS, command, error)
                return
            self._scheduling.undeclare(name)
            self._delivery.forget_letters(name)
            self.forget_arrivals(name)
            self._preparation.stream_starts.pop(name, None)
            self._preparation.placements += 1  # maintenance that is under way may have found where it could start
            self._context.submit(RetireStream(name), retired)

        def retired(answer: m.Answer) -> None:
            self._context.submit(RemoveStream(name), removed)

        def removed(answer: m.Answer) -> None:
            if answer.error is not None:
                why = self._context.explain(answer.error)
                self._context.log("warning", "files of a dropped stream are left", stream=name, why=why)
            self._release(name)
            self._done(STREAMS, command)

        self._catalog.change_all({STREAMS: {name: None}, DROPPED: {name: {}}}, committed)

    # -- tables ------------------------------------------------------------------------------------------------

    def _drop_table(self, command: m.DropTable) -> None:
        name = command.name
        if self._declarations.waits(TABLES, name, command):
            return
        check_known("table", name, self._scheduling.tables)
        self._check_unused(relation("table", name), "read it", lambda query: name in tables_of(query))
        self._begin(TABLES, name)

        def committed(error: Exception | None) -> None:
            if error is not None:
                self._refused(TABLES, command, error)
                return
            self._scheduling.tables.discard(name)
            self._release(name)
            self._done(TABLES, command)

        self._catalog.change(TABLES, {name: None}, committed)

    # -- classes -----------------------------------------------------------------------------------------------

    def _drop_class(self, command: m.DropClass) -> None:
        name = command.name
        if self._declarations.waits(CLASSES, name, command):
            return
        check_known("class", name, self._scheduling.scheduler.network.classes)
        self._check_unused(f"class '{name}'", "are in it", lambda query: query.query_class == name)
        self._begin(CLASSES, name)

        def committed(error: Exception | None) -> None:
            if error is not None:
                self._refused(CLASSES, command, error)
                return
            self._scheduling.tell(Undeclared(query_class=name))
            self._done(CLASSES, command)

        self._catalog.change(CLASSES, {name: None}, committed)

    # -- what they share ---------------------------------------------------------------------------------------

    def _check_unused(self, what: str, use: str, uses: Callable[[Query], bool]) -> None:
        """Refuse to drop what queries use, also those that are done: their definition names it."""
        lives = self._context.lives.values()
        users = sorted(life.name for life in lives if any(map(uses, (life.query, *life.may_become))))
        if users:
            verb = use if len(users) > 1 else use.replace("read", "reads").replace("are", "is")
            hint = "stop them first" if len(users) > 1 else "stop it first"
            if what.startswith("class"):
                hint = hint.replace("stop", "move or stop")
            raise ConflictError(f"{what} cannot be dropped: {_listed(users)} {verb}", hint=hint)

    def _begin(self, kind: str, name: str) -> None:
        self._declarations.begin(kind, name)
        self._scheduling.leaving.add((kind, name))

    def _refused(self, kind: str, command: Any, error: Exception) -> None:
        self._scheduling.leaving.discard((kind, command.name))
        self._context.reply(command.ticket, error=error)
        self._declarations.end(kind, command.name)

    def _done(self, kind: str, command: Any) -> None:
        self._scheduling.leaving.discard((kind, command.name))
        self._context.reply(command.ticket)
        self._declarations.end(kind, command.name)

    def _release(self, name: str) -> None:
        """Its name may be used again."""
        del self._declarations.relations[folded(name)]


def _listed(names: Iterable[str]) -> str:
    """Queries in an error.

    >>> _listed(["p"]), _listed(["p", "q"])
    ("query 'p'", "queries 'p' and 'q'")
    """
    quoted = [f"'{name}'" for name in names]
    if len(quoted) == 1:
        return f"query {quoted[0]}"
    if len(quoted) > MANY:
        quoted = [*quoted[:MANY], f"{len(quoted) - MANY} more"]
    return f"queries {', '.join(quoted[:-1])} and {quoted[-1]}"
