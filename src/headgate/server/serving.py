"""Running the application: listening, answering signals, and ending in order."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager

import uvicorn
import uvloop
from anyio import to_thread
from fastapi import FastAPI

from headgate.model import HeadgateError
from headgate.server.acceptor import Acceptor
from headgate.server.connections import Connections
from headgate.server.event_stream import Ending
from headgate.server.front import Front
from headgate.server.hosts import Hosts
from headgate.server.protocol import LimitedProtocol, protocol
from headgate.server.settings import TLS, Address, Limits

BACKLOG = 1024
FILES = 65536
THREADS = 200  # that answer requests
LOOPBACK = ("127.0.0.1", "::1")  # what a proxy there says of whom it asks for is believed
CLOSING = 2  # seconds that requests under way get when the server ends


class Server:
    """An application on a socket. `run` returns when `ended` says so, or after `stop`."""

    def __init__(
        self,
        app: FastAPI,
        address: Address,
        limits: Limits,
        tls: TLS | None = None,
        allowed_hosts: Iterable[str] = (),
        proxies: Sequence[str] = (),
    ) -> None:
        self.limits = limits
        context = None if tls is None else tls.context()
        self._ending: Ending = app.state.ending
        self._stopped = False
        self._socket = _listening(address)
        _allow_files()
        self.address = Address(address.host, int(self._socket.getsockname()[1]))
        places = Connections(limits, proxies)
        hosts = Hosts.of(self.address, allowed_hosts)
        config = uvicorn.Config(
            Front(app, hosts, limits, secure=tls is not None),
            loop="none",
            http=protocol(limits, places),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=True,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=CLOSING,
            forwarded_allow_ips=[*LOOPBACK, *proxies],
        )
        self._server = _AcceptingServer(config, lambda make: Acceptor(make, places, limits, context))

    def run(self, ended: Callable[[], bool]) -> None:
        """Answer requests until `ended` is true."""
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._run(ended))

    async def _run(self, ended: Callable[[], bool]) -> None:
        # Commands wait for Spark in these threads: enough of them, so that questions find one that is free.
        to_thread.current_default_thread_limiter().total_tokens = THREADS
        serving = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        while not (self._stopped or ended() or serving.done()):
            await asyncio.sleep(0.05)
        self._ending.end()  # streams of events end by themselves, and nobody is cut off
        self._server.should_exit = True
        await serving

    def stop(self) -> None:
        """Let `run` return."""
        self._stopped = True


class _AcceptingServer(uvicorn.Server):
    """Accepts connections by itself, and leaves signals to the command line."""

    def __init__(self, config: uvicorn.Config, acceptor: Callable[[Callable[[], LimitedProtocol]], Acceptor]) -> None:
        super().__init__(config)
        self._make_acceptor = acceptor
        self._tasks: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        def make() -> LimitedProtocol:
            made: LimitedProtocol = self.config.http_protocol_class(  # type: ignore[call-arg, assignment]
                config=self.config, server_state=self.server_state, app_state=self.lifespan.state
            )
            return made

        acceptor = self._make_acceptor(make)
        self.servers = []
        self._tasks = [asyncio.create_task(acceptor.run(listening)) for listening in sockets or ()]
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for task in self._tasks:
            task.cancel()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def _allow_files() -> None:
    """Let this process have more open files than the 1024 that most systems begin with: connections are files, too."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if most == resource.RLIM_INFINITY else min(most, FILES)
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _listening(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address.host, address.port))
        listening.listen(BACKLOG)  # already now: who connects before `run` waits, and is not refused
    except OSError as error:
        listening.close()
        raise HeadgateError(
            f"cannot listen at {address.host}:{address.port}: {(error.strerror or str(error)).lower()}",
            where="--bind",
            hint="choose another address or port; port 0 takes any that is free",
        ) from error
    return listening
