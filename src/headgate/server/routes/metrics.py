"""Metrics for Prometheus."""

from __future__ import annotations

from fastapi import Request, Response

from headgate.server.access.roles import Role, allow
from headgate.server.metrics import TEXT, scrape
from headgate.server.routes.common import Asked, router

routes = router("metrics", prefix="")


@routes.get(
    "/metrics",
    status_code=200,
    openapi_extra=allow(Role.VIEW),
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus' text"}},
)
def metrics(request: Request, asked: Asked) -> Response:
    """All numbers in Prometheus' text format; docs/metrics.md lists them. With a tenant's token, only its own."""
    return Response(scrape(asked, request.app.state.requests), media_type=TEXT)
