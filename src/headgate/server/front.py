"""What every request meets first, and every answer last: hosts, limits of bodies, and headers for browsers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from urllib.parse import parse_qsl

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headgate.model import HeadgateError
from headgate.server.hosts import Hosts
from headgate.server.problems import RequestError, of_error
from headgate.server.settings import Limits

DATA = ("/v1", "/metrics")  # where paths begin that tell something
ROWS = "/rows"  # the end of paths that take large bodies
SECRETS = frozenset({"token", "access_token", "api_key", "apikey", "authorization", "bearer", "password", "secret"})
_TOKEN = re.compile(r"hg_[0-9a-f]{12}_[A-Za-z0-9_-]{20}")
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_ONLY_TLS = {"strict-transport-security": "max-age=31536000"}


def security_headers(secure: bool) -> dict[str, str]:
    """The headers that every answer has; `secure` for a server with TLS."""
    return {**_HEADERS, **(_ONLY_TLS if secure else {})}


class Front:
    """An application behind these checks."""

    def __init__(self, app: ASGIApp, hosts: Hosts, limits: Limits, *, secure: bool) -> None:
        self._app, self._hosts, self._limits = app, hosts, limits
        self._headers = security_headers(secure)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        told = self._telling(send)
        try:
            self._hosts.check(Headers(scope=scope), page=is_page(scope))
            check_no_token(scope)
        except HeadgateError as error:
            await of_error(error)(scope, receive, told)
            return
        await self._app(scope, _LimitedBody(scope, receive, self._limits).receive, told)

    def _telling(self, send: Send) -> Send:
        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        return tell


class _LimitedBody:
    """The body of one request: cut off when it is too large or takes too long."""

    def __init__(self, scope: Scope, receive: Receive, limits: Limits) -> None:
        self._receive, self._limits = receive, limits
        self._left = self._most = limits.body if scope["path"].endswith(ROWS) else limits.json_body
        self._until = asyncio.get_running_loop().time() + limits.body_seconds
        self._complete = False
        self._declared = Headers(scope=scope).get("content-length", "0")

    async def receive(self) -> Message:
        if self._complete:
            return await self._receive()
        if int(self._declared) > self._most:  # the parser of HTTP has checked that it is a number
            raise self._too_large()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            detail = f"the body did not come within {self._limits.body_seconds:g} s; send it in smaller parts"
            raise HTTPException(408, detail, {"connection": "close"}) from None
        self._left -= len(message.get("body", b""))
        self._complete = not message.get("more_body", False)
        if self._left < 0:
            raise self._too_large()
        return message

    def _too_large(self) -> HTTPException:
        detail = f"the body has more than {_size(self._most)}; send it in several requests, a part in each"
        return HTTPException(413, detail)


def is_page(scope: Scope) -> bool:
    """Whether a page of the dashboard is asked for: it has no data, as against what is under /v1."""
    return scope["method"] == "GET" and not scope["path"].startswith(DATA)


def check_no_token(scope: Scope) -> None:
    """Refuse an address that holds a token: addresses are logged, kept in histories and sent on."""
    query = scope["query_string"].decode("latin-1")
    if _TOKEN.search(query) or _TOKEN.search(scope["path"]) or SECRETS.intersection(_names(query)):
        raise RequestError(
            "a token must not be in an address", hint="send the header Authorization: Bearer TOKEN, and revoke this one"
        )


def _names(query: str) -> Iterable[str]:
    return [name.lower() for name, _ in parse_qsl(query, keep_blank_values=True)] if query else ()


def _size(most: int) -> str:
    return f"{most >> 20} MiB" if most >= 1 << 20 else f"{most} bytes"
