"""Logins of browsers: a random session id in a cookie, kept here as a hash, in memory alone."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from headgate.server.access.tokens import digest_of

LONGEST = 12 * 3600.0  # seconds that a login lasts
MOST, MOST_OF_TOKEN = 10_000, 50  # logins at a time; the oldest ends first


@dataclass(frozen=True, slots=True)
class Login:
    """A login: the id of the token that it was made with, and until when it lasts."""

    token: str
    until: float


class Logins:
    """Begins, finds and ends logins. A restart of the server ends all of them."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._logins: dict[str, Login] = {}  # by the digest of the session id, the oldest first

    def begin(self, token: str, expires: float | None) -> tuple[str, Login]:
        """A new login with a token; returns its session id, for the cookie."""
        now = self._clock()
        self._logins = {key: login for key, login in self._logins.items() if login.until > now}
        own = [key for key, login in self._logins.items() if login.token == token]
        for key in own[: max(0, len(own) - MOST_OF_TOKEN + 1)]:
            del self._logins[key]
        while len(self._logins) >= MOST:
            del self._logins[next(iter(self._logins))]
        session, until = secrets.token_urlsafe(32), now + LONGEST
        login = Login(token, until if expires is None else min(until, expires))
        self._logins[digest_of(session)] = login
        return session, login

    def find(self, session: str) -> Login | None:
        """The login of a session id, unless it has ended."""
        login = self._logins.get(digest_of(session))
        return login if login is not None and login.until > self._clock() else None

    def end(self, session: str) -> None:
        """End a login."""
        self._logins.pop(digest_of(session), None)


def csrf_token(session: str) -> str:
    """What a page must send along with what it changes: other sites know neither it nor the cookie it is made of."""
    return digest_of(f"csrf {session}")
