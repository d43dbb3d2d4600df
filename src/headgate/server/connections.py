"""Who has the connections of a server: so many in all, so many for one address, and who gives way to whom.

A connection costs something from the moment it is accepted, long before anybody knows who asks. So that nobody takes
all of them with requests that never come, an address has a limit of its own, below that of all. What waits for its
client (for its next request, or for the rest of one) gives way:

* at the limit of an address, its own oldest idle connection closes for a new one of its own;
* when the server is full, the oldest waiting connection of the address that has most closes for one that has fewer.

A connection whose request is being answered never gives way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import NamedTuple, Protocol

from headgate import logs
from headgate.server.networks import network
from headgate.server.settings import Limits

TELL = 60.0  # seconds between two lines of the log about refused connections
_logger = logs.logger("server")


class Connection(Protocol):
    """What is known of a connection here."""

    @property
    def idle(self) -> bool:
        """Whether it is between two requests, or closing."""

    @property
    def waiting(self) -> bool:
        """Whether it is idle, or has not sent the whole of a request."""

    def give_way(self) -> None:
        """Close it at once."""


class Refusal(NamedTuple):
    """Why there is no place for a connection."""

    status: HTTPStatus
    detail: str


class Connections:
    """The connections of one server; used in the thread of its event loop alone.

    `proxies` are addresses from which others are served: they may have all connections.
    """

    def __init__(
        self, limits: Limits, proxies: Iterable[str] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._most_of_one = limits.connections, limits.connections_per_address
        self._proxies = frozenset(map(network, proxies))
        self._clock = clock
        self._quiet_until = clock()
        self._whose: dict[Connection, str] = {}
        self._by_network: dict[str, dict[Connection, None]] = {}  # the oldest first

    def __len__(self) -> int:
        return len(self._whose)

    def enter(self, connection: Connection, address: str) -> Refusal | None:
        """Give a connection a place, or tell why there is none."""
        whose = network(address)
        own = self._by_network.get(whose, {})
        if len(own) >= self._most_of_one and whose not in self._proxies:
            leaving = _idle(own)
            detail = (
                f"there are {len(own)} connections from {address}, and one address may have no more; "
                f"close some, or start the server with --proxy {address} if a reverse proxy is there"
            )
            refused = Refusal(HTTPStatus.TOO_MANY_REQUESTS, detail)
        elif len(self) >= self._most:
            leaving = self._of_those_with_more(len(own)) or _idle(own)
            refused = Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "the server has too many connections; try again later")
        else:
            leaving = refused = None
        if leaving is not None:
            self.leave(leaving)
            leaving.give_way()
        elif refused is not None:
            self._tell(address, refused)
            return refused
        self._whose[connection] = whose
        self._by_network.setdefault(whose, {})[connection] = None
        return None

    def leave(self, connection: Connection) -> None:
        """A connection is closed; nothing happens if it has no place."""
        whose = self._whose.pop(connection, None)
        if whose is not None:
            others = self._by_network[whose]
            del others[connection]
            if not others:
                del self._by_network[whose]

    def _of_those_with_more(self, few: int) -> Connection | None:
        """The oldest waiting connection of the address that has most, if those are more than a few."""
        for many in sorted(self._by_network.values(), key=len, reverse=True):
            if len(many) <= few:
                return None
            found = _idle(many) or next((connection for connection in many if connection.waiting), None)
            if found is not None:
                return found
        return None

    def _tell(self, address: str, refused: Refusal) -> None:
        """One line in the log, and none for the next while: a flood of connections is no flood of lines."""
        now = self._clock()
        if now >= self._quiet_until:
            self._quiet_until = now + TELL
            _logger.warning("connections refused", address=address, reason=refused.detail)


def _idle(connections: Iterable[Connection]) -> Connection | None:
    return next((connection for connection in connections if connection.idle), None)
