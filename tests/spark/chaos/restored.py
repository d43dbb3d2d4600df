"""What `engine.restoring` asks of an engine, in the simulation: whoever waits for a reply lets the world go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from tests.spark.chaos.queries import plan_of

from headgate.model import Operator, Stream
from headgate.spark.engine.catalog_entries import stored_class
from headgate.spark.engine.new_queries import NewQuery
from headgate.spark.engine.restoring import Restoring
from headgate.spark.machine import messages as m
from headgate.spark.machine.tasks import FILES
from headgate.spark.sinks.registry import behind_of, needs_function

if TYPE_CHECKING:
    from tests.spark.chaos.world import World


def restore(world: World) -> None:
    """Declare all that commits have, as a session does it before anybody can use it; then runs may start."""
    engine = RestoredEngine(world)
    Restoring(cast(Any, engine)).restore()
    engine.ask(m.Begin)


class RestoredEngine:
    """The engine's calls that bring a directory back."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.commits = world.system.commits

    def ask(self, kind: Any, *given: Any) -> None:
        error = self._send(kind, *given).exception()
        if error is not None:
            raise error

    def _send(self, kind: Any, *given: Any) -> Expected:
        ticket = self._world.users.ticket()
        self._world.tell(kind(ticket, *given))
        return Expected(self._world, ticket)

    def stored(self, kind: str) -> Mapping[str, Any]:
        return self.commits.state.catalog.get(kind, {})

    def restore_stream(self, stream: Stream, entry: Mapping[str, Any], reached: int) -> None:
        self.ask(m.DeclareStream, stream, entry, reached)

    def restore_class(self, name: str, entry: Mapping[str, Any]) -> None:
        self.ask(m.DeclareClass, stored_class(name, entry), entry)

    def plan(self, sql: str, space: str, streams: Mapping[str, Stream]) -> Operator:
        return plan_of(sql)

    def restore_queries(self, new: Sequence[NewQuery]) -> None:
        """Callbacks cannot be stored."""
        self.ask(m.AddQueries, tuple(map(_addition, new)), True)


def _addition(new: NewQuery) -> m.AddQuery:
    text = str(new.query.sink)
    lacks = (*new.lacks, "its callback") if needs_function(text) else new.lacks
    return m.AddQuery(0, new.query, new.start, new.end, FILES, behind_of(text), None, lacks)


class Expected:
    """A reply that has not come yet."""

    def __init__(self, world: World, ticket: int) -> None:
        self._world, self._ticket = world, ticket

    def exception(self) -> Exception | None:
        """Wait for it."""
        return self._world.reply_to(self._ticket).error
