"""The ASGI application: routes, who may use them, and how errors are answered."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

from headgate import __version__
from headgate.server import guard, problems
from headgate.server.access.resources import Resources
from headgate.server.access.roles import Role, allow
from headgate.server.access.tenants import ALL_CLASSES, TenantLimits
from headgate.server.event_hub import EventHub
from headgate.server.event_stream import Ending
from headgate.server.histories import Histories
from headgate.server.hosting import EngineHost
from headgate.server.idempotency import KeptAnswers
from headgate.server.replays import Replays
from headgate.server.requests import CountRequests, Requests
from headgate.server.results_feed import ResultsHub
from headgate.server.routes import (
    classes,
    events,
    health,
    insight,
    login,
    metrics,
    network,
    pages,
    policy,
    queries,
    results,
    runs,
    streams,
    tables,
)
from headgate.server.routes.common import router
from headgate.server.workspace import Workspace
from headgate.server.workspace.quotas import Quotas

ROUTERS = (
    health.routes,
    login.routes,
    streams.routes,
    tables.routes,
    queries.routes,
    results.routes,
    classes.routes,
    events.routes,
    policy.routes,
    insight.routes,
    runs.routes,
    network.routes,
    metrics.routes,
    pages.routes,
)
DESCRIPTION = """Many continuous queries on one Spark: declare streams and queries, push rows, read results, see what
waits and why, and change it while it runs."""


def create_app(
    host: EngineHost, access: guard.Access, quotas: Quotas | None = None, resources: Resources | None = None
) -> FastAPI:
    """The application around one engine; without `resources` nothing of the machine is used over the network."""
    app = FastAPI(
        title="Headgate",
        version=__version__,
        description=DESCRIPTION,
        openapi_url=None,  # served by a guarded route below
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
    )
    shared = quotas or Quotas(lambda tenant: TenantLimits(classes=(ALL_CLASSES,)))
    app.state.host, app.state.access = host, access
    app.state.ending, app.state.events = Ending(), EventHub(host)
    app.state.answers, app.state.results = KeptAnswers(), ResultsHub()
    histories, replays = Histories(), Replays()
    app.state.workspace = lambda principal: Workspace(host, principal, shared, resources, histories, replays)
    app.state.requests = Requests()
    app.add_middleware(CountRequests, requests=app.state.requests)
    for routes in (*ROUTERS, _document(app)):
        guard.check_declared(routes.routes)
        app.include_router(routes)
    problems.install(app)
    return app


def _operation_id(route: APIRoute) -> str:
    return f"{route.tags[0]}-{route.name}"


def _document(app: FastAPI) -> APIRouter:
    routes = router("status")

    @routes.get("/openapi.json", openapi_extra=allow(Role.PUBLIC), include_in_schema=False)
    def openapi() -> dict[str, object]:
        """The OpenAPI document of this interface."""
        return app.openapi()

    return routes
