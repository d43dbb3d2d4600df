"""A server that does what a test tells it, connection by connection: answers, half answers, or none at all."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Asked:
    """A request as it came."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Scripted:
    """Where it listens, and what it was asked."""

    url: str
    asked: list[Asked] = field(default_factory=list)


def answer(status: int, body: Any, kind: str = "application/json", **headers: str) -> bytes:
    """A whole answer, after which the connection is closed."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    told = {"Content-Type": kind, "Content-Length": str(len(data)), "Connection": "close", **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    return f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode() + data


def problem(status: int, detail: str, **more: str) -> bytes:
    return answer(status, {"detail": detail, "status": status, **more}, "application/problem+json")


def events(text: str) -> bytes:
    """The beginning of a stream of events; then the connection breaks."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + text.encode()


@contextmanager
def scripted(*replies: bytes) -> Iterator[Scripted]:
    """Serve one reply per connection; b"" closes it without a word. Afterwards nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(20)
        server = Scripted(f"http://127.0.0.1:{listening.getsockname()[1]}")
        thread = threading.Thread(target=_serve, args=(listening, replies, server.asked), daemon=True)
        thread.start()
        yield server
    thread.join(20)


def _serve(listening: socket.socket, replies: Sequence[bytes], asked: list[Asked]) -> None:
    for reply in replies:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with connection:
            asked.append(_read(connection))
            connection.sendall(reply)
    listening.close()


def _read(connection: socket.socket) -> Asked:
    with connection.makefile("rb") as coming:
        line = coming.readline().decode().strip()
        headers = {}
        while text := coming.readline().decode().strip():
            name, _, value = text.partition(": ")
            headers[name.lower()] = value
        return Asked(line, headers, coming.read(int(headers.get("content-length", 0))))
