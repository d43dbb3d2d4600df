"""Bringing an existing data directory back: declare again everything that its commits say was declared.

What cannot be stored comes back waiting: a query for its callback, or for a table that was a DataFrame. A query whose
SQL cannot be planned, since an older format did not keep its tables, waits until they are declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headgate.model import HeadgateError, Operator, Project, Source, Stream
from headgate.model.names import namespace
from headgate.spark.engine.catalog_entries import stored_stream
from headgate.spark.engine.new_queries import NewQuery
from headgate.spark.execution.recovery import reached_offsets
from headgate.spark.machine.definitions import CLASSES, STREAMS, TABLES, declared_query

if TYPE_CHECKING:
    from headgate.spark.engine.engine import Engine


class Restoring:
    """Declares to an engine what its directory remembers."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._unplanned: dict[str, Mapping[str, Any]] = {}  # descriptions of queries whose SQL cannot be planned yet

    def restore(self) -> None:
        """Declare tables, streams, classes and queries; each query goes on where it stood.

        Queries are planned before streams are opened: from their plans follows how far each stream was read, and a
        stream whose log ends before that is refused.
        """
        engine = self._engine
        for name, entry in list(engine.stored(TABLES).items()):
            engine.restore_table(name, entry)
        stored = list(engine.stored(STREAMS).items())
        streams = {name: stored_stream(name, entry) for name, entry in stored}
        state = engine.commits.state
        queries = [self._new(name, entry, streams) for name, entry in list(state.queries.items())]
        reached = reached_offsets(state, [new.query for new in queries])
        for name, entry in stored:
            engine.restore_stream(streams[name], entry, reached.get(name, 0))
        for name, entry in list(engine.stored(CLASSES).items()):
            engine.restore_class(name, entry)
        engine.restore_queries(queries)

    def plan_again(self) -> None:
        """Start queries that could not be planned before, and can now."""
        for name, description in list(self._unplanned.items()):
            try:
                self._engine.plan(str(description["sql"]), namespace(name), self._engine.streams)
            except HeadgateError:
                continue
            del self._unplanned[name]
            self._engine.restore_queries([self._new(name, description, self._engine.streams)])

    def _new(self, name: str, description: Mapping[str, Any], streams: Mapping[str, Stream]) -> NewQuery:
        plan: Operator = _NO_PLAN
        lacks: tuple[str, ...] = ()
        try:
            plan = self._engine.plan(str(description["sql"]), namespace(name), streams)
        except HeadgateError as error:
            self._unplanned[name] = description
            lacks = (f"what its SQL reads: {error.message}",)
        query = declared_query(name, description, plan)
        return NewQuery(query, start=description.get("begins"), end=description.get("ends"), lacks=lacks)


_NO_PLAN = Project(inputs=(Source("nothing"),))  # stands for a plan that cannot be made yet
