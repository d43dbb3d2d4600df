"""Logins of browsers, and who somebody is."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from pydantic import Field

from headgate.server.access.access import Access, cookie_name
from headgate.server.access.logins import LONGEST, csrf_token
from headgate.server.access.roles import Principal, Role, allow
from headgate.server.routes.common import Answer, Asked, Body, Done, router

routes = router("access")


class NewLogin(Body):
    """The token to log in with."""

    token: str = Field(max_length=200)


class Me(Answer):
    """Who asks: the name of a token, its role and tenant, and what the tenant may use."""

    name: str
    role: str
    tenant: str
    limits: dict[str, Any] | None = Field(None, description="of the tenant; null without one")
    csrf: str | None = Field(None, description="for the header X-CSRF-Token, if a browser is logged in")


@routes.post("/login", openapi_extra=allow(Role.PUBLIC))
def login(new: NewLogin, request: Request, response: Response) -> Me:
    """Log a browser in with a token: sets a cookie, which lasts 12 hours at most and ends with the token."""
    access: Access = request.app.state.access
    session, _, principal = access.login(request, new.token.strip())
    response.set_cookie(
        cookie_name(request),
        session,
        max_age=int(LONGEST),
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return _me(principal, csrf_token(session), request.app.state.workspace(principal).limits_json())


@routes.post("/logout", openapi_extra=allow(Role.VIEW))
def logout(request: Request, response: Response) -> Done:
    """End the login of this browser; a token stays as it is."""
    access: Access = request.app.state.access
    access.logins.end(access.session(request))
    response.delete_cookie(
        cookie_name(request), path="/", secure=request.url.scheme == "https", httponly=True, samesite="strict"
    )
    return Done()


@routes.get("/me", openapi_extra=allow(Role.VIEW))
def me(request: Request, asked: Asked) -> Me:
    """Who asks, and what its tenant may use."""
    access: Access = request.app.state.access
    logged_in = "authorization" not in request.headers and access.logins.find(access.session(request))
    csrf = csrf_token(access.session(request)) if logged_in else None
    return _me(asked.principal, csrf, asked.limits_json())


def _me(principal: Principal, csrf: str | None, limits: dict[str, Any] | None) -> Me:
    return Me(name=principal.name, role=principal.role.value, tenant=principal.tenant, limits=limits, csrf=csrf)
