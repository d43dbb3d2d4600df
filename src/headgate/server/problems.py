"""Errors as `application/problem+json` (RFC 9457), with the same texts as on the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from headgate import logs
from headgate.model import HeadgateError
from headgate.model.errors import BusyError, ConflictError, DiskError, printable

PROBLEM = "application/problem+json"
RETRY = {"Retry-After": "1"}  # seconds
_logger = logs.logger("server")
_OTHERS = re.compile(r"(unknown [\w ]+ '[^']*\.\.[^']*'); (?:known: |did you mean |there is no )", re.DOTALL)


class RequestError(HeadgateError):
    """A request that is refused with a status of its own; `headers` go into the answer."""

    status = HTTPStatus.BAD_REQUEST

    @property
    def headers(self) -> dict[str, str]:
        return {}


class NotFoundError(RequestError):
    """There is nothing of that name, or not for whom asks."""

    status = HTTPStatus.NOT_FOUND


class UnauthorizedError(RequestError):
    """A token is needed, and there is none, or it is wrong, expired or revoked."""

    status = HTTPStatus.UNAUTHORIZED

    @property
    def headers(self) -> dict[str, str]:
        return {"WWW-Authenticate": "Bearer"}


class EndedLoginError(UnauthorizedError):
    """The cookie is of a login that has ended; the answer removes it."""

    def __init__(self, message: str, *, where: str = "", hint: str = "", cookie: str = "") -> None:
        super().__init__(message, where=where, hint=hint)
        self.cookie = cookie

    @property
    def headers(self) -> dict[str, str]:
        secure = "; Secure" if self.cookie.startswith("__Host-") else ""
        removed = f"{self.cookie}=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict{secure}"
        return {**super().headers, "Set-Cookie": removed}


class TooManyError(RequestError):
    """Too much of something in a short time; `wait` is in how many seconds it is possible again."""

    status = HTTPStatus.TOO_MANY_REQUESTS

    def __init__(self, message: str, *, where: str = "", hint: str = "", wait: int = 1) -> None:
        super().__init__(message, where=where, hint=hint)
        self.wait = wait

    @property
    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(self.wait)}


class MisdirectedError(RequestError):
    """The request names a host that is not this server."""

    status = HTTPStatus.MISDIRECTED_REQUEST


class ForbiddenError(RequestError):
    """The token is right, but may not do this."""

    status = HTTPStatus.FORBIDDEN


class PreconditionError(RequestError):
    """`If-Match` names a version that is not the present one."""

    status = HTTPStatus.PRECONDITION_FAILED


class TooLargeError(RequestError):
    """The body is larger than the server takes at a time."""

    status = HTTPStatus.CONTENT_TOO_LARGE if hasattr(HTTPStatus, "CONTENT_TOO_LARGE") else HTTPStatus(413)


class WrongTypeError(RequestError):
    """The body is of a content type that the route does not take."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


class SlowError(RequestError):
    """The body did not come in time."""

    status = HTTPStatus.REQUEST_TIMEOUT


class NotReadyError(RequestError):
    """The engine is starting, or has ended."""

    status = HTTPStatus.SERVICE_UNAVAILABLE

    @property
    def headers(self) -> dict[str, str]:
        return RETRY


def status_of(error: HeadgateError) -> HTTPStatus:
    """The status of an error: its own, 409 for a conflict with what is there, 429 or 503 if it passes, else 422."""
    if isinstance(error, RequestError):
        return error.status
    if isinstance(error, BusyError):
        return HTTPStatus.TOO_MANY_REQUESTS
    if isinstance(error, DiskError):
        return HTTPStatus.SERVICE_UNAVAILABLE
    return HTTPStatus.CONFLICT if isinstance(error, ConflictError) else HTTPStatus(422)


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None, **more: Any) -> JSONResponse:
    """The answer that tells what is wrong."""
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail, **more}
    return JSONResponse(body, status, dict(headers or {}), media_type=PROBLEM)


def of_error(error: HeadgateError, space: str = "") -> JSONResponse:
    """The answer to an error; a tenant reads its own names without its namespace."""
    if space and isinstance(error, DiskError):
        error = DiskError("the server cannot write to its disk", hint="send the same again later, or tell its operator")
    passes = isinstance(error, BusyError | DiskError)
    headers = error.headers if isinstance(error, RequestError) else RETRY if passes else {}
    more = {"where": error.where, "hint": error.hint}
    if space and _OTHERS.search(str(error)) and f"'{space}.." in error.message:
        del more["hint"]
    told = {name: own_words(text, space) for name, text in more.items() if text}
    return problem(status_of(error), own_words(str(error), space), headers, **told)


def own_words(text: str, space: str) -> str:
    """A text as a tenant reads it: names of its namespace without that, and no names of others.

    The engine knows nothing of tenants: if something of a tenant has gone just now, it lists what everybody has.

    >>> own_words("unknown stream 'acme..s'; known: acme..t, rival..secret", "acme")
    "unknown stream 's'"
    >>> own_words("query 'acme..hot' reads it", "acme"), own_words("unknown class 'x'; known: default", "acme")
    ("query 'hot' reads it", "unknown class 'x'; known: default")
    """
    if not space:
        return text
    found = _OTHERS.search(text)
    if found is not None and f"'{space}.." in found[1]:
        text = text[: found.end(1)]
    return text.replace(f"{space}..", "")


def install(app: FastAPI) -> None:
    """Let every error of an app be such an answer."""

    @app.exception_handler(HeadgateError)
    async def refused(request: Request, error: HeadgateError) -> JSONResponse:
        principal = getattr(request.state, "principal", None)
        return of_error(error, "" if principal is None else principal.tenant)

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> JSONResponse:
        return problem(422, _told(error.errors()), fields=_fields(error.errors()))

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> JSONResponse:
        detail = {
            404: f"there is nothing at {printable(request.url.path)}; GET /v1/openapi.json lists every route",
            405: f"{request.method} is not possible at {printable(request.url.path)}; "
            f"possible: {(error.headers or {}).get('Allow', 'see /v1/openapi.json')}",
        }.get(error.status_code, str(error.detail))
        return problem(error.status_code, detail, error.headers)

    @app.exception_handler(ClientDisconnect)
    async def gone(request: Request, error: ClientDisconnect) -> JSONResponse:
        return problem(400, "the connection was closed before the whole body had come")  # nobody reads it

    @app.exception_handler(Exception)
    async def bug(request: Request, error: Exception) -> JSONResponse:
        _logger.error("internal error", path=request.url.path, error=f"{type(error).__name__}: {error}")
        return problem(500, "internal error; the server goes on, and its log says more")


def _fields(errors: Sequence[Any]) -> list[dict[str, str]]:
    return [{"field": _place(error["loc"]), "problem": str(error["msg"])} for error in errors[:20]]


def _told(errors: Sequence[Any]) -> str:
    lines = "; ".join(f"{field['field']}: {field['problem']}" for field in _fields(errors))
    return printable(f"the request is not as it must be: {lines}; GET /v1/openapi.json describes it")


def _place(location: Sequence[object]) -> str:
    kind, *path = location
    return f"{kind} {'.'.join(map(str, path))}".strip()
