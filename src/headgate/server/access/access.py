"""Who asks: by a bearer token, by the cookie of a login, or, on a machine's own address without tokens, anybody."""

from __future__ import annotations

import time
from collections.abc import Callable

from fastapi import Request

from headgate import logs
from headgate.model import HeadgateError
from headgate.server.access.failures import Failures
from headgate.server.access.logins import Login, Logins, csrf_token
from headgate.server.access.roles import ANYBODY, LOCAL, Principal, Role
from headgate.server.access.token_file import TokenFile
from headgate.server.access.tokens import Token, TokenState, read_text, same
from headgate.server.problems import (
    EndedLoginError,
    ForbiddenError,
    NotReadyError,
    RequestError,
    TooManyError,
    UnauthorizedError,
)

CSRF = "X-CSRF-Token"
SAFE = ("GET", "HEAD", "OPTIONS")
FAILURES = 30  # wrong tokens that an address may present in a minute
_NOBODY = "0" * 64  # compared with when there is no such token, so that it takes as long
_logger = logs.logger("server")


class Access:
    """Tells who asks.

    `open_without_tokens`: as long as no token was ever added, everybody may do everything; for a server that only
    programs on its own machine reach.
    """

    def __init__(
        self,
        tokens: TokenFile,
        *,
        open_without_tokens: bool = False,
        failures: int = FAILURES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._tokens, self._clock = tokens, clock
        self._may_be_open = open_without_tokens
        self._failures = Failures(failures)
        self.logins = Logins(clock)

    @property
    def open(self) -> bool:
        """Whether no token is asked for; never again once there was one."""
        if self._may_be_open and self._all():
            self._may_be_open = False
        return self._may_be_open

    def principal(self, request: Request, needed: Role) -> Principal:
        """Who asks, or an error that says why nobody does."""
        if "authorization" in request.headers:
            return self._bearer(request).principal
        token = self._logged_in(request)
        if token is not None:
            if needed is not Role.PUBLIC and request.method not in SAFE:
                self._check_csrf(request)
            return token.principal
        if needed is Role.PUBLIC:
            return ANYBODY
        if self.open:
            return LOCAL
        if self.session(request):
            raise EndedLoginError("this login has ended", hint="log in again", cookie=cookie_name(request))
        raise UnauthorizedError(
            "this needs a token", hint="send the header Authorization: Bearer TOKEN; headgate token add makes one"
        )

    def login(self, request: Request, text: str) -> tuple[str, Login, Principal]:
        """Begin a login with the text of a token; returns the session id for the cookie."""
        token = self._valid(request, text)
        session, login = self.logins.begin(token.id, token.expires)
        return session, login, token.principal

    def session(self, request: Request) -> str:
        """The session id in the cookie of a request; "" for none."""
        return request.cookies.get(cookie_name(request), "")

    def _bearer(self, request: Request) -> Token:
        given = request.headers.getlist("authorization")
        kind, _, text = given[0].partition(" ")
        if len(given) != 1 or kind.lower() != "bearer":
            raise self._refused(request, "the header Authorization is not 'Bearer TOKEN'")
        return self._valid(request, text.strip())

    def _valid(self, request: Request, text: str) -> Token:
        read = read_text(text)
        token = None if read is None else self._all().get(read[0])
        right = same(_NOBODY if token is None else token.digest, "" if read is None else read[1])
        if token is None or not right:
            raise self._refused(request, "the token is not one of this server")
        state = token.state(self._clock())
        if state is not TokenState.VALID:
            raise self._refused(request, f"the token '{token.name}' is {state}")
        return token

    def _logged_in(self, request: Request) -> Token | None:
        login = self.logins.find(self.session(request))
        token = None if login is None else self._all().get(login.token)
        return token if token is not None and token.state(self._clock()) is TokenState.VALID else None

    def _check_csrf(self, request: Request) -> None:
        given = request.headers.get(CSRF, "").encode("ascii", "replace").decode()
        if not same(csrf_token(self.session(request)), given):
            raise ForbiddenError(
                f"a change by a browser needs the header {CSRF}, found none or a wrong one",
                hint="take csrf from the answer of POST /v1/login or GET /v1/me",
            )

    def _refused(self, request: Request, reason: str) -> RequestError:
        address = "?" if request.client is None else request.client.host
        wait = self._failures.add(address)
        _logger.info("token refused", address=address, reason=reason)
        if wait:
            return TooManyError("too many wrong tokens from this address", hint="wait, and check the token", wait=wait)
        return UnauthorizedError(reason, hint="check it, or ask for a new one: headgate token add")

    def _all(self) -> dict[str, Token]:
        try:
            return dict(self._tokens.tokens())
        except HeadgateError as error:  # never open because of a file that cannot be read
            _logger.error("tokens cannot be read", error=error)
            raise NotReadyError("the server cannot read its tokens", hint="its log says why") from None


def cookie_name(request: Request) -> str:
    """The name of the login's cookie: cookies of a host go to all its ports, so it has the port in it.

    With TLS its prefix lets browsers refuse one that was not set by this host over TLS.
    """
    server = request.scope.get("server") or ("", 0)
    return f"{'__Host-' if request.url.scheme == 'https' else ''}headgate-{server[1]}"
