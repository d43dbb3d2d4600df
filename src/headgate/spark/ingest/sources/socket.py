"""JSON lines from TCP clients on this machine.

No thread: what waits in the kernel is read when the engine asks. So an engine that does not keep up slows its clients
down. A line is not acknowledged; those that a crash finds between the kernel and the log are lost.
"""

from __future__ import annotations

import contextlib
import math
import selectors
import socket

import pyarrow as pa

from headgate.model import HeadgateError, Stream
from headgate.spark.ingest.parsing.records import Bad, rows_of, schema_of
from headgate.spark.ingest.sources.base import Batch, Reader
from headgate.spark.ingest.sources.options import flag
from headgate.workload.settings import Settings

POLL = 0.005
HOST = "127.0.0.1"
MOST_BYTES = 4 << 20  # of one read
LONGEST = 1 << 20  # of a line
CHUNK = 1 << 16


class Lines:
    """The lines of one client, cut from what it sends."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._rest = b""
        self._longest = longest
        self._skipping = False  # inside a line that was too long

    def feed(self, data: bytes) -> tuple[list[str], list[Bad]]:
        """The lines that are now complete, and the beginning of one that is too long."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        if whole and self._skipping:
            whole, self._skipping = whole[1:], False
        good = [line for line in whole if len(line) <= self._longest]
        bad = [self._too_long(line) for line in whole if len(line) > self._longest]
        if self._skipping:
            self._rest = b""
        elif len(self._rest) > self._longest:
            bad.append(self._too_long(self._rest))
            self._rest, self._skipping = b"", True
        return [_text(line) for line in good if line.strip()], bad

    def finish(self) -> tuple[list[str], list[Bad]]:
        """The last line may lack its end."""
        return self.feed(b"\n")

    def _too_long(self, line: bytes) -> Bad:
        return line[:100].decode("utf-8", "backslashreplace"), f"a line of more than {self._longest} bytes"


class SocketReader(Reader):
    """A server on the loopback address; `port` is the one it got."""

    def __init__(self, port: int, schema: pa.Schema, *, end: bool = False, poll: float = POLL) -> None:
        self._schema, self._end, self._poll = schema, end, poll
        self._server = _listen(port)
        self.port: int = self._server.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._server, selectors.EVENT_READ)
        self._clients: dict[socket.socket, Lines] = {}
        self._busy = self._served = self._closed = False

    @property
    def done(self) -> bool:
        """With `end=true`: clients have come, and all have gone."""
        return self._closed or (self._end and self._served and not self._clients)

    def read(self, now: float) -> list[Batch]:
        lines: list[str] = []
        bad: list[Bad] = []
        budget = MOST_BYTES
        while not self._closed and budget > 0 and (ready := self._selector.select(0)):
            for key, _ in ready:
                if key.fileobj is self._server:
                    budget -= self._accept()
                elif isinstance(key.fileobj, socket.socket):
                    budget -= self._receive(key.fileobj, lines, bad)
        self._busy = budget <= 0
        rows, wrong = rows_of(lines, self._schema)
        bad += wrong
        return [Batch(rows, None, tuple(bad))] if rows.num_rows or bad else []

    def due(self, now: float) -> float:
        if self.done:
            return math.inf
        return now if self._busy else now + self._poll

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for client in list(self._clients):
            self._drop(client)
        self._selector.close()
        self._server.close()

    def _accept(self) -> int:
        """What it counts as: if no client can be taken for want of files, reading must end all the same."""
        with contextlib.suppress(OSError):  # it went away again, or there are too many
            client, _ = self._server.accept()
            client.setblocking(False)
            self._selector.register(client, selectors.EVENT_READ)
            self._clients[client] = Lines()
            self._served = True
        return CHUNK // 64

    def _receive(self, client: socket.socket, lines: list[str], bad: list[Bad]) -> int:
        try:
            data = client.recv(CHUNK)
        except BlockingIOError:
            return 1
        except OSError:
            data = b""
        held = self._clients[client]
        some, wrong = held.feed(data) if data else held.finish()
        lines += some
        bad += wrong
        if not data:
            self._drop(client)
        return len(data)

    def _drop(self, client: socket.socket) -> None:
        del self._clients[client]
        self._selector.unregister(client)
        client.close()


def open_socket(settings: Settings, stream: Stream) -> SocketReader:
    """A server from its settings: port, end, poll."""
    settings.only(("port", "end", "poll"))
    settings.need("port", "9999")
    settings.number("port", 0, 65535)
    port, poll = settings.whole("port", low=0), settings.duration("poll", above=0.0)
    return SocketReader(port or 0, schema_of(stream), end=flag(settings, "end"), poll=poll or POLL)


def _listen(port: int) -> socket.socket:
    try:
        server = socket.create_server((HOST, port), backlog=128)
    except OSError as error:
        hint = "choose another, or port=0 for any that is free"
        raise HeadgateError(f"cannot listen on port {port}: {error.strerror}", hint=hint) from None
    server.setblocking(False)
    return server


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape").rstrip("\r")
