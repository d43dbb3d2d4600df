"""Routes that check who asks before they read anything else of a request."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Protocol

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from headgate.server.access.roles import CREATES, ROLE, TENANTS, Principal, Role
from headgate.server.idempotency import HEADER, KeptAnswers
from headgate.server.problems import ForbiddenError

Handle = Callable[[Request], Coroutine[Any, Any, Response]]


class Access(Protocol):
    """Tells who asks, from the headers of a request; raises `UnauthorizedError` or `ForbiddenError`."""

    def principal(self, request: Request, needed: Role) -> Principal: ...


class GuardedRoute(APIRoute):
    """A route that is open only to those whom it declares with `allow`; a declaration that is missing is an error."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **settings: Any) -> None:
        extra = settings.get("openapi_extra") or {}
        if ROLE not in extra:
            raise TypeError(f"the route {path} declares no role: give it openapi_extra=allow(Role.…)")
        self.needed, self.tenants = Role(extra[ROLE]), bool(extra[TENANTS])
        self.creates = bool(extra.get(CREATES))
        super().__init__(path, endpoint, **settings)

    def get_route_handler(self) -> Handle:
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            access: Access = request.app.state.access
            principal = request.state.principal = self.checked(access.principal(request, self.needed))
            if request.method in ("GET", "HEAD"):
                return await handle(request)
            try:
                return await self._changing(request, principal, handle)
            finally:
                request.app.state.host.changed()

        return guarded

    async def _changing(self, request: Request, principal: Principal, handle: Handle) -> Response:
        """Carry out a request that changes something; a repeated one is answered as before."""
        key = request.headers.get(HEADER)
        if key is None or not self.creates:
            return await handle(request)
        kept: KeptAnswers = request.app.state.answers
        what = f"{request.method} {request.url.path}?{request.url.query}"
        return await kept.answer(principal, what, key, await request.body(), lambda: handle(request))

    def checked(self, principal: Principal) -> Principal:
        """The principal, if it may use this route."""
        if not principal.role.covers(self.needed):
            raise ForbiddenError(
                f"this needs the role {self.needed}, and token '{principal.name}' has {principal.role}",
                hint="ask for a token with that role: headgate token add NAME --role …",
            )
        if principal.tenant and not self.tenants:
            raise ForbiddenError(
                f"this changes or shows what all tenants share, and token '{principal.name}' is of one tenant",
                hint="ask for a token without a tenant",
            )
        return principal


def check_declared(routes: Iterable[BaseRoute]) -> None:
    """Refuse an app that has a route without a declared role."""
    for route in routes:
        if not isinstance(route, GuardedRoute):
            raise TypeError(f"the route {getattr(route, 'path', route)} declares no role: add it to a guarded router")
