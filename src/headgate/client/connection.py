"""Requests to a server over HTTP: repeated where that is safe, and errors as `HeadgateError` with the server's text."""

from __future__ import annotations

import json
import socket
import ssl
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from headgate import logs
from headgate.client.address import SERVER, TOKEN, Address
from headgate.model import BusyError, ConflictError, HeadgateError

JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"
KEY = "Idempotency-Key"
CONNECTING = 10.0  # seconds
ANSWERING = 300.0  # seconds; to submit a query, Spark may have to plan it while it is busy
IDLE = 20.0  # seconds after which a connection is not used again: the server may have closed it
SHORTEST, LONGEST = 0.1, 2.0  # seconds between two attempts
_REPEATABLE = ("GET", "PUT")
_logger = logs.logger("client")
Query = Mapping[str, str | int | float | bool | None]
Tell = Callable[[HeadgateError], object]
Outcome = TypeVar("Outcome")


class UnreachableError(HeadgateError):
    """Nobody answers at the address: nothing was sent."""


class BrokenError(HeadgateError):
    """The connection broke before the answer was complete: the request may have been carried out or not."""


class NotReadyError(HeadgateError):
    """The engine of the server is starting or stopping."""


class NotFoundError(HeadgateError):
    """There is nothing of that name, or not for whom asks."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask."""

    method: str
    path: str  # below /v1, already quoted: see `path_of`
    query: Query | None = None
    body: bytes | None = None
    headers: Mapping[str, str] | None = None

    @property
    def target(self) -> str:
        given = {name: _written(value) for name, value in (self.query or {}).items() if value is not None}
        return f"/v1{self.path}" + (f"?{urlencode(given, quote_via=quote)}" if given else "")

    @property
    def repeatable(self) -> bool:
        """Whether asking twice does no more than asking once."""
        return self.method in _REPEATABLE or KEY in (self.headers or {})


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, of a status below 400."""

    status: int
    headers: Mapping[str, str]  # names in small letters
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body) if self.body else None


def path_of(*parts: str) -> str:
    """A path below /v1 whose parts may be any names.

    >>> path_of("queries", "größte Höhe", "pause")
    '/queries/gr%C3%B6%C3%9Fte%20H%C3%B6he/pause'
    """
    return "".join(f"/{quote(part, safe='')}" for part in parts)


class Connection:
    """Asks one server. A server that starts, or that was there before and is away, gets `patience` seconds."""

    def __init__(
        self, address: Address, patience: float, *, answering: float = ANSWERING, tell: Tell | None = None
    ) -> None:
        self._free: deque[tuple[HTTPConnection, float]] = deque()
        self.address, self.patience = address, patience
        self._answering = answering  # seconds that an answer may take
        self._tell = tell  # is told why there is a wait
        self._reached = False
        self._closed = False
        self._tls = _tls(address)

    def close(self) -> None:
        """Ask no more."""
        self._closed = True
        while self._free:
            self._free.pop()[0].close()

    def __del__(self) -> None:  # whoever had it may have forgotten to close it
        self.close()

    @property
    def closed(self) -> bool:
        return self._closed

    # -- asking ------------------------------------------------------------------------------------------------

    def get(self, path: str, query: Query | None = None) -> Any:
        return self.ask(Request("GET", path, query)).json()

    def send(
        self, method: str, path: str, body: Any = None, query: Query | None = None, *, creates: bool = False
    ) -> Any:
        """Send JSON. What creates something has a key, so that it can be sent again without creating two."""
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        headers = {} if data is None else {"Content-Type": JSON}
        if creates:
            headers[KEY] = uuid.uuid4().hex
        return self.ask(Request(method, path, query, data, headers)).json()

    def items(self, path: str, query: Query | None = None) -> Iterator[dict[str, Any]]:
        """All items of a list, page by page."""
        following: str | None = None
        while True:
            page = self.get(path, {"limit": 1000, **(query or {}), "cursor": following})
            yield from page["items"]
            following = page.get("next")
            if not following or not page["items"]:
                return

    def ask(self, request: Request) -> Answer:
        """The answer to a request; `HeadgateError` if it is refused, or the server cannot be reached."""
        return self.attempts(request.repeatable, lambda: self._once(request))

    def attempts(self, repeatable: bool, attempt: Callable[[], Outcome]) -> Outcome:
        """Try something until it succeeds, as long as that is safe and there is patience."""
        self._check_open()
        deadline = time.monotonic() + self.patience
        pause = SHORTEST
        while True:
            try:
                return attempt()
            except (UnreachableError, BrokenError, NotReadyError) as error:
                hopeless = isinstance(error, UnreachableError) and not self._reached
                unsafe = isinstance(error, BrokenError) and not repeatable
                if hopeless or unsafe or time.monotonic() + pause > deadline:
                    raise
                _logger.info("ask again", error=str(error), seconds=pause)
                if self._tell is not None and pause >= LONGEST:
                    self._tell(error)
            time.sleep(pause)
            self._check_open()
            pause = min(2 * pause, LONGEST)

    def _once(self, request: Request) -> Answer:
        connection = self._connected()
        try:
            self._request(connection, request)
            response = connection.getresponse()
            body = response.read()
        except (OSError, HTTPException) as error:
            connection.close()
            raise self._broken(error) from error
        self._reached = True
        if response.will_close:
            connection.close()
        else:
            self._free.append((connection, time.monotonic()))
        headers = {name.lower(): value for name, value in response.getheaders()}
        return checked(Answer(response.status, headers, body))

    def open(self, request: Request, timeout: float) -> tuple[HTTPResponse, socket.socket]:
        """An answer that goes on, on a connection of its own; the socket tells how long a read may take."""
        connection = self._new()
        try:
            line = connection.sock
            line.settimeout(timeout)
            self._request(connection, request)
            response = connection.getresponse()
            if response.status >= 400:
                body = response.read()
                checked(Answer(response.status, {}, body))
        except (OSError, HTTPException) as error:
            connection.close()
            raise self._broken(error) from error
        except HeadgateError:
            connection.close()
            raise
        self._reached = True
        return response, line

    # -- connections -------------------------------------------------------------------------------------------

    def _request(self, connection: HTTPConnection, request: Request) -> None:
        token = self.address.token
        headers = {"Accept": JSON, "User-Agent": "headgate-client", **(request.headers or {})}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        connection.request(request.method, self.address.path + request.target, request.body, headers)

    def _connected(self) -> HTTPConnection:
        while self._free:
            connection, since = self._free.pop()
            if time.monotonic() - since < IDLE:
                return connection
            connection.close()
        return self._new()

    def _new(self) -> HTTPConnection:
        address = self.address
        connection: HTTPConnection
        if self._tls is None:
            connection = HTTPConnection(address.host, address.port, timeout=min(CONNECTING, self._answering))
        else:
            connection = HTTPSConnection(
                address.host, address.port, timeout=min(CONNECTING, self._answering), context=self._tls
            )
        try:
            connection.connect()
        except (OSError, HTTPException) as error:
            connection.close()
            raise self._unreachable(error) from error
        connection.sock.settimeout(self._answering)
        return connection

    def _check_open(self) -> None:
        if self._closed:
            raise HeadgateError("the client is closed", hint="make another one")

    def _unreachable(self, error: Exception) -> HeadgateError:
        told = f"cannot reach {self.address.url}: {_reason(error)}"
        if isinstance(error, ssl.SSLError):
            return HeadgateError(
                told, hint="write http:// for a server without TLS, or give the authority's file as ca"
            )
        return UnreachableError(told, hint=f"start one with headgate serve, or name another in {SERVER} or a profile")

    def _broken(self, error: Exception) -> BrokenError:
        if isinstance(error, TimeoutError):
            return BrokenError(f"{self.address.url} does not answer", hint="ask again, or look at the server's log")
        told = f"the connection to {self.address.url} broke: {_reason(error)}"
        return BrokenError(told, hint="look whether it was carried out, and ask again")


def checked(answer: Answer) -> Answer:
    """The answer, unless it is a refusal."""
    if answer.status < 400:
        return answer
    raise error_of(answer.status, answer.body)


def error_of(status: int, body: bytes) -> HeadgateError:
    """The error that a refusal of the server is here, in the server's words.

    >>> error_of(409, b'{"detail": "stream s exists already; choose another name", "hint": "choose another name"}')
    ConflictError('stream s exists already')
    """
    kinds = {404: NotFoundError, 409: ConflictError, 429: BusyError, 503: NotReadyError}
    kind = kinds.get(status, HeadgateError)
    try:
        problem = json.loads(body)
        detail, where, hint = (str(problem.get(name) or "") for name in ("detail", "where", "hint"))
    except (ValueError, AttributeError):
        detail, where, hint = "", "", ""
    if not detail:
        return kind(f"the server answered {status}", hint="is this the address of a Headgate server?")
    if status == 401 and not hint:
        hint = f"give a token: token=, {TOKEN} or a profile"
    message = detail.removeprefix(f"{where}: " if where else "").removesuffix(f"; {hint}" if hint else "")
    return kind(message, where=where, hint=hint)


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split()).lower()


def _written(value: str | int | float | bool | None) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _tls(address: Address) -> ssl.SSLContext | None:
    if not address.secure:
        return None
    try:
        return ssl.create_default_context(cafile=address.ca)
    except OSError as error:
        raise HeadgateError(
            f"cannot read the authority's file '{address.ca}': {_reason(error)}", hint="correct ca"
        ) from None
