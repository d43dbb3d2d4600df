"""Live events and the journal."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Header, Query, Request, Response
from pydantic import Field

from headgate.server.access.roles import Role, allow
from headgate.server.event_hub import EACH, SLOWEST, EventHub, pace
from headgate.server.event_stream import EventStream
from headgate.server.paging import listed
from headgate.server.routes.common import EVENTS, Answer, Asked, Cursor, Limit, event_stream, router, workspace
from headgate.server.workspace.journal import JournalLines, entry_json

routes = router("events")


class JournalEntry(Answer):
    """A change of a query's state, or of its target's."""

    at: float
    query: str
    before: str = Field(alias="from")
    after: str = Field(alias="to")
    reason: str


class JournalPage(Answer):
    """Lines of the journal, the newest first, and where older ones begin."""

    items: list[JournalEntry]
    next: str | None = None


@routes.get("/journal", openapi_extra=allow(Role.VIEW), response_model=JournalPage)
def journal(asked: Asked, query: str | None = None, cursor: Cursor = None, limit: Limit = 100) -> dict[str, Any]:
    """What has happened to queries: changes of state with their reasons, and targets missed or met; newest first."""
    lines = JournalLines(asked.session.directory, asked.names)
    return listed(lines.page(query, cursor, limit), lambda entry: entry_json(entry, asked.names))


@routes.get("/events", openapi_extra=allow(Role.VIEW), response_class=Response, responses=EVENTS)
async def events(
    request: Request,
    last_event_id: Annotated[str | None, Header(max_length=2000)] = None,
    each: Annotated[float, Query(ge=EACH, le=SLOWEST, description="seconds between two changes at least")] = EACH,
) -> EventStream:
    """Live events (server-sent): the status once, then its changes, and the lines of the journal.

    * `event: state` has the same JSON as `GET /v1/status`.
    * `event: changes` is a JSON merge patch (RFC 7396) of it, every `each` seconds at most.
    * `event: journal` is a line of the journal; its `id`, sent back as `Last-Event-ID`, brings the lines after it.
    """
    hub: EventHub = request.app.state.events
    names = workspace(request).names
    return event_stream(request, lambda: hub.listen(names, last_event_id, pace(each)))
