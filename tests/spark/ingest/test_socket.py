from __future__ import annotations

import math
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headgate.model import HeadgateError
from headgate.spark.ingest.sources import open_source
from headgate.spark.ingest.sources.socket import Lines, SocketReader

from .builders import PLAIN, bad, column, waited


@pytest.fixture
def server() -> Iterator[SocketReader]:
    reader = open_source("socket, port=0, end=true", PLAIN, Path())
    assert isinstance(reader, SocketReader)
    with closing(reader):
        yield reader


def client(server: SocketReader) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=5.0)


def test_lines_of_several_clients(server: SocketReader) -> None:
    assert server.read(0.0) == []
    with client(server) as left, client(server) as right:
        left.sendall(b'{"id": 1}\n{"id"')
        right.sendall(b'{"id": 3}\r\n\n')
        assert sorted(column(waited(server, 2), "id")) == [1, 3]
        assert not server.done
        left.sendall(b": 2}\n")
        assert column(waited(server, 1), "id") == [2]
        right.sendall(b'{"id": 4}')  # the last line needs no end
    assert column(waited(server, 1), "id") == [4]
    while not server.done:
        server.read(0.0)
    assert server.due(0.0) == math.inf


def test_broken_lines_are_bad(server: SocketReader) -> None:
    with client(server) as sender:
        sender.sendall(b'{"id": 1}\n{"id": \n\xff\xfe\n{"id": "x"}\n{"id": 2}\n')
    batches = waited(server, 5)
    assert column(batches, "id") == [1, 2]
    assert [raw for raw, _ in bad(batches)] == ['{"id": ', "\\udcff\\udcfe", '{"id": "x"}']


def test_many_lines(server: SocketReader) -> None:
    with client(server) as sender:
        sender.sendall(b"".join(b'{"id": %d}\n' % number for number in range(5000)))
    assert column(waited(server, 5000), "id") == list(range(5000))


def test_it_listens_on_loopback_only(server: SocketReader) -> None:
    assert server._server.getsockname()[0] == "127.0.0.1"


def test_a_closed_server_says_nothing_and_refuses_clients(server: SocketReader) -> None:
    with client(server):
        server.read(0.0)
        server.close()
        server.close()
    assert server.done
    assert server.read(0.0) == []
    with pytest.raises(OSError, match="refused"):
        client(server)


def test_a_port_that_is_taken(server: SocketReader) -> None:
    with pytest.raises(HeadgateError, match="cannot listen"):
        open_source(f"socket, port={server.port}", PLAIN, Path())


def test_a_line_that_is_too_long_is_skipped() -> None:
    lines = Lines(longest=10)
    assert lines.feed(b"ab\nc" + b"x" * 20)[0] == ["ab"]
    assert lines.feed(b"y" * 20) == ([], [])
    assert lines.feed(b"y\nde") == ([], [])
    assert lines.finish() == (["de"], [])
    assert len(lines.feed(b"z" * 11 + b"\nf\n")[1]) == 1
