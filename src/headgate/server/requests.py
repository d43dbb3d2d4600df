"""Counts requests: how many there were by route and status, and how soon their answers began."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headgate.spark.machine.counts import Distribution, Histogram

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
UNKNOWN = "none"  # the route of a request for which there is none


class Route(NamedTuple):
    """What requests are counted by: all of it has few values, whatever clients send."""

    tenant: str
    method: str
    path: str  # as it was declared: /v1/streams/{name}


class Requests:
    """The requests so far; changed in the thread of the event loop alone."""

    def __init__(self) -> None:
        self._statuses: dict[tuple[Route, int], int] = {}
        self._seconds: dict[Route, Histogram] = {}
        self._pushed: dict[tuple[str, str], int] = {}

    def add(self, route: Route, status: int, seconds: float) -> None:
        self._statuses[route, status] = self._statuses.get((route, status), 0) + 1
        self._seconds.setdefault(route, Histogram()).add(seconds)

    def push(self, tenant: str, accepted: int, rejected: int) -> None:
        """Count rows that were pushed."""
        for outcome, rows in (("accepted", accepted), ("rejected", rejected)):
            self._pushed[tenant, outcome] = self._pushed.get((tenant, outcome), 0) + rows

    def statuses(self, tenant: str | None) -> dict[tuple[Route, int], int]:
        """How many requests there were by route and status; of one tenant, or of all."""
        return {key: count for key, count in self._statuses.copy().items() if tenant in (None, key[0].tenant)}

    def seconds(self, tenant: str | None) -> dict[Route, Distribution]:
        """How soon answers began."""
        kept = self._seconds.copy()
        return {route: histogram.now() for route, histogram in kept.items() if tenant in (None, route.tenant)}

    def pushed(self, tenant: str | None) -> dict[str, int]:
        """Rows that were accepted and rejected."""
        found = {"accepted": 0, "rejected": 0}
        for (whose, outcome), rows in self._pushed.copy().items():
            found[outcome] += rows if tenant in (None, whose) else 0
        return found


class CountRequests:
    """Passes requests on, and counts them. The end of a stream of events may be far off: so its beginning counts."""

    def __init__(self, app: ASGIApp, requests: Requests) -> None:
        self._app, self._requests = app, requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.monotonic()
        status = 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._requests.add(_route(scope), status, time.monotonic() - began)
            await send(message)

        try:
            await self._app(scope, receive, sent)
        finally:
            if not status:  # the client went away, or the server broke before it could answer
                self._requests.add(_route(scope), 499, time.monotonic() - began)


def _route(scope: Scope) -> Route:
    state: dict[str, Any] = scope.get("state", {})
    principal = state.get("principal")
    path = getattr(scope.get("route"), "path", UNKNOWN)
    method = scope["method"] if scope["method"] in METHODS else "other"
    return Route("" if principal is None else principal.tenant, method, path)
