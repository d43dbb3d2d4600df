"""Answers to requests with an `Idempotency-Key`, kept for a while, so that repeating a request creates nothing twice.

The answers are in memory: after a restart of the server a repeated request is carried out again, and what exists
already is found then. Rows that are pushed are different: their keys are in the stream's log (`pushing`).
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from headgate.model import HeadgateError
from headgate.server.access.roles import Principal

KEPT = 10_000  # answers
KEPT_BYTES = 32 << 20  # of their bodies
LARGE = 64 << 10  # bytes of a body whose digest is not computed in the event loop
LONGEST = 200  # characters of a key
HEADER = "idempotency-key"
Place = tuple[str, str, str, str]  # tenant, name of the token, method and path, key


@dataclass(frozen=True, slots=True)
class Kept:
    """What was asked, and what was answered."""

    digest: bytes
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    def response(self) -> Response:
        """The same answer once more, marked as a repeated one."""
        answer = Response(self.body, self.status)
        answer.raw_headers = [*self.headers, (b"idempotency-replayed", b"true")]
        return answer


@dataclass(slots=True)
class _Turn:
    """Who is first among requests with the same key, and how many there are."""

    lock: asyncio.Lock
    users: int = 0


class KeptAnswers:
    """The newest answers by key; used in the thread of the event loop alone."""

    def __init__(self, kept: int = KEPT, kept_bytes: int = KEPT_BYTES) -> None:
        self._limit, self._bytes_limit = kept, kept_bytes
        self._answers: OrderedDict[Place, Kept] = OrderedDict()
        self._bytes = 0
        self._under_way: dict[Place, _Turn] = {}

    async def answer(
        self, principal: Principal, what: str, key: str, body: bytes, handle: Callable[[], Awaitable[Response]]
    ) -> Response:
        """The answer to a request: the former one to the same request, or that of `handle`.

        Only answers of success are kept: what was refused may be tried again. Two at the same time follow each other.
        """
        place = (principal.tenant, principal.name, what, checked(key))
        digest = await run_in_threadpool(_digest, body) if len(body) > LARGE else _digest(body)
        turn = self._under_way.setdefault(place, _Turn(asyncio.Lock()))
        turn.users += 1
        try:
            async with turn.lock:
                if (kept := self._answers.get(place)) is not None:
                    return _same(kept, digest).response()
                response = await handle()
                if 200 <= response.status_code < 300 and isinstance(response.body, bytes):
                    self._keep(place, Kept(digest, response.status_code, tuple(response.raw_headers), response.body))
                return response
        finally:
            turn.users -= 1
            if not turn.users:
                del self._under_way[place]

    def _keep(self, place: Place, answer: Kept) -> None:
        self._answers[place] = answer
        self._bytes += len(answer.body)
        while len(self._answers) > self._limit or self._bytes > self._bytes_limit:
            _, oldest = self._answers.popitem(last=False)
            self._bytes -= len(oldest.body)


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()


def checked(key: str) -> str:
    """The key, if it is one.

    >>> checked("order-17")
    'order-17'
    """
    if not 0 < len(key) <= LONGEST or not key.isprintable():
        raise HeadgateError(
            f"an Idempotency-Key has 1 to {LONGEST} printable characters, found {len(key)}",
            where="header Idempotency-Key",
            hint="a UUID is fine",
        )
    return key


def _same(kept: Kept, digest: bytes) -> Kept:
    if kept.digest != digest:
        raise HeadgateError(
            "another request was sent with this Idempotency-Key",
            where="header Idempotency-Key",
            hint="use a new key for each new request",
        )
    return kept
