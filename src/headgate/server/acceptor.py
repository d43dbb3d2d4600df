"""Accepting connections: each is counted before it costs anything, a handshake of TLS above all."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

from headgate.server.connections import Connections
from headgate.server.protocol import GRACE, LimitedProtocol
from headgate.server.settings import Limits

PAUSE = 0.1  # seconds until the next try, if the system has no more files for connections


class Acceptor:
    """Takes what comes to a listening socket, and gives it to protocols that `make` makes."""

    def __init__(
        self, make: Callable[[], LimitedProtocol], places: Connections, limits: Limits, tls: ssl.SSLContext | None
    ) -> None:
        self._make, self._places, self._limits, self._tls = make, places, limits, tls

    async def run(self, listening: socket.socket) -> None:
        """Accept until this is cancelled."""
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        while True:
            try:
                accepted, peer = await loop.sock_accept(listening)
            except OSError:  # the client has gone, or there are too many open files
                await asyncio.sleep(PAUSE)
                continue
            self._welcome(accepted, peer[0])

    def _welcome(self, accepted: socket.socket, address: str) -> None:
        made = self._make()
        made.refused = self._places.enter(made, address)
        if made.refused is not None and self._tls is not None:
            accepted.close()  # an answer would cost a handshake
            return
        made.connecting = asyncio.get_running_loop().create_task(self._connect(accepted, made))

    async def _connect(self, accepted: socket.socket, made: LimitedProtocol) -> None:
        loop = asyncio.get_running_loop()
        times = {"ssl_handshake_timeout": self._limits.header_seconds, "ssl_shutdown_timeout": GRACE}
        try:
            with suppress(Exception):  # whatever the client has sent, or has not
                await loop.connect_accepted_socket(
                    lambda: made, accepted, ssl=self._tls, **({} if self._tls is None else times)
                )
        finally:
            if made.transport is None:
                accepted.close()
                self._places.leave(made)
