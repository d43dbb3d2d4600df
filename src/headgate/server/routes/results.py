"""The results of queries: by cursor, and as they come."""

from __future__ import annotations

from typing import Annotated, Any

import pyarrow as pa
from fastapi import Header, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from headgate.server.access.roles import Role, allow
from headgate.server.event_stream import EventStream
from headgate.server.results_feed import ResultsHub
from headgate.server.routes.common import EVENTS, Answer, Asked, Cursor, event_stream, router, workspace
from headgate.server.workspace import Workspace
from headgate.server.workspace.results import Results

routes = router("results")
ARROW = "application/vnd.apache.arrow.stream"
NEXT = "X-Next-Cursor"
SHAPES: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {ARROW: {"schema": {"type": "string", "format": "binary"}}},
        "headers": {NEXT: {"description": "the same as `next`", "schema": {"type": "string"}}},
    }
}


class ResultRows(Answer):
    """Rows, and the cursor after them: there is always one, since more rows may come."""

    rows: list[dict[str, Any]]
    next: str


@routes.get("/queries/{name}/results", openapi_extra=allow(Role.VIEW), response_model=ResultRows, responses=SHAPES)
def read(
    name: str,
    asked: Asked,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=100_000, description="how many rows at most")] = 1000,
    accept: Annotated[str, Header(description=f"`{ARROW}` gives an Arrow stream instead of JSON")] = "*/*",
) -> Response:
    """Committed results in the order of their commits, from the first one or from a cursor on.

    Every row has its place for good: a cursor stays right while files are merged, after a restart and after a crash.
    """
    results = asked.results(name)
    first = results.row(cursor) if cursor else 0
    if ARROW in accept.lower():
        table, after = results.read(first, limit)
        return Response(_arrow(table), media_type=ARROW, headers={NEXT: results.cursor(after)})
    rows, after = results.rows(first, limit)
    body = f'{{"rows":[{",".join(rows)}],"next":"{results.cursor(after)}"}}'
    headers = {NEXT: results.cursor(after)}
    return Response(body.encode("utf-8", "backslashreplace"), media_type="application/json", headers=headers)


def _arrow(table: pa.Table) -> bytes:
    target = pa.BufferOutputStream()
    with pa.ipc.new_stream(target, table.schema) as stream:
        stream.write_table(table)
    encoded: bytes = target.getvalue().to_pybytes()
    return encoded


@routes.get(
    "/queries/{name}/results/stream",
    openapi_extra=allow(Role.VIEW),
    response_class=Response,
    responses=EVENTS,
)
async def stream(
    name: str,
    request: Request,
    begin: Annotated[
        str,
        Query(
            alias="from",
            max_length=2000,
            description="`now`, `start`, a cursor, a row's number from 0, or as `-200` the last rows",
        ),
    ] = "now",
    last_event_id: Annotated[str | None, Header(max_length=2000, description="the `id` of the last event")] = None,
) -> EventStream:
    """Results as they are committed (server-sent events): from now on, the start or a row, or with the last rows.

    * `event: begin` says where it begins, so that one who gets no rows can resume there, too.
    * `event: rows` has `{"rows": […], "next": cursor}`; its `id` is that cursor. Sent back as `Last-Event-ID`, it
      resumes without a gap and without a row twice, also after a crash of the server.
    * `event: end` comes when the query has ended: do not connect again.
    """
    results, position = await run_in_threadpool(_begin, workspace(request), name, last_event_id or begin)
    hub: ResultsHub = request.app.state.results
    return event_stream(request, lambda: hub.listen(results, position))


def _begin(asked: Workspace, name: str, text: str) -> tuple[Results, int | None]:
    """The results, and the row to begin with: None for those that come from now on."""
    results = asked.results(name)
    if text in ("now", "start"):
        return results, None if text == "now" else 0
    return results, results.row(text)
