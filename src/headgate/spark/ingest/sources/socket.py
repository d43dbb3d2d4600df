"""The source `socket`: JSON lines from TCP clients on this machine.

It has no thread of its own: when the engine reads, it takes what waits in the kernel's buffers. If the engine does not
keep up, these buffers fill and the clients slow down. Lines are not acknowledged: those that were received and not yet
appended to the log when the engine crashes are lost.
"""

from __future__ import annotations

import contextlib
import math
import selectors
import socket

import pyarrow as pa

from headgate.model import HeadgateError
from headgate.spark.ingest.parsing.records import Bad, rows_of, schema_of
from headgate.spark.ingest.sources.base import Batch, Reader
from headgate.spark.ingest.sources.options import flag
from headgate.spark.ingest.sources.registry import SourceRequest, register

POLL = 0.005  # seconds between two reads
HOST = "127.0.0.1"
MOST_BYTES = 4 << 20  # of one read
LONGEST = 1 << 20  # bytes of a line
CHUNK = 1 << 16  # bytes that are received from a client at a time


class Lines:
    """Cuts the bytes that one client sends into lines."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._rest = b""
        self._longest = longest
        self._skipping = False  # inside a line that was too long

    def feed(self, data: bytes) -> tuple[list[str], list[Bad]]:
        """The lines that are complete with these bytes, and the beginnings of lines that are too long."""
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
        """The client has gone: the last line may lack its end."""
        return self.feed(b"\n")

    def _too_long(self, line: bytes) -> Bad:
        return line[:100].decode("utf-8", "backslashreplace"), f"a line of more than {self._longest} bytes"


class SocketReader(Reader):
    """A server on the loopback address; `port` is the port on which it listens."""

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
        """With `end=true`: whether clients have connected and all of them have disconnected."""
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
        rows, bad_lines = rows_of(lines, self._schema)
        bad += bad_lines
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
        """Accept a client; gives the bytes that this counts as.

        More than 0, because a read must come to its end even if no client can be accepted (no file descriptors left).
        """
        with contextlib.suppress(OSError):  # the client has gone again, or there are too many
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
        buffer = self._clients[client]
        new_lines, bad_lines = buffer.feed(data) if data else buffer.finish()
        lines += new_lines
        bad += bad_lines
        if not data:
            self._drop(client)
        return len(data)

    def _drop(self, client: socket.socket) -> None:
        del self._clients[client]
        self._selector.unregister(client)
        client.close()


@register("socket")
def open_socket(request: SourceRequest) -> SocketReader:
    """Open a server from its settings: port, end, poll."""
    settings = request.settings
    settings.only(("port", "end", "poll"))
    settings.need("port", "9999")
    settings.number("port", 0, 65535)
    port, poll = settings.whole("port", low=0), settings.duration("poll", above=0.0)
    return SocketReader(port or 0, schema_of(request.stream), end=flag(settings, "end"), poll=poll or POLL)


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
