"""Who has the connections of a server: an address that sends half requests does not take those of others."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path

import pytest
from tests.server.access.conftest import Door
from tests.server.access.test_limits import answer, head, rest
from tests.server.access.test_tls import CERTIFICATE, KEY

from headgate.model import HeadgateError
from headgate.server import serving
from headgate.server.connections import Connections
from headgate.server.settings import TLS, Address, Limits, check_proxies

Doors = Callable[..., Door]
FEW = Limits(connections=6, connections_per_address=3)
WEB = Path(serving.__file__).parent / "web"
PATIENT = Limits(connections=20, connections_per_address=10, header_seconds=60, body_seconds=60)


# -- who gives way to whom, without sockets --------------------------------------------------------------------------


@dataclass(eq=False)
class Made:
    """A connection that is what a test says: idle, waiting for the rest of a request, or busy."""

    state: str = "busy"
    closed: bool = False

    @property
    def idle(self) -> bool:
        return self.state == "idle"

    @property
    def waiting(self) -> bool:
        return self.state != "busy"

    def give_way(self) -> None:
        self.closed = True


def entered(places: Connections, *addresses: str, state: str = "busy") -> list[Made]:
    """Connections from these addresses, which all get places."""
    made = [Made(state) for _ in addresses]
    assert [places.enter(one, address) for one, address in zip(made, addresses, strict=True)] == [None] * len(made)
    return made


def status(places: Connections, address: str) -> int | None:
    refused = places.enter(Made(), address)
    return None if refused is None else refused.status.value


def test_an_address_has_its_limit_and_others_have_the_rest() -> None:
    places = Connections(FEW)
    first, *_ = entered(places, *["192.0.2.1"] * 3, state="half")
    assert status(places, "192.0.2.1") == 429
    entered(places, *["192.0.2.2"] * 3)
    places.leave(first)
    places.leave(first)
    assert status(places, "192.0.2.1") is None


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (["2001:db8::1", "2001:db8::2", "2001:db8::3:4"], "2001:db8:0:1::1"),
        (["::ffff:192.0.2.1", "192.0.2.1", "::ffff:192.0.2.1"], "::ffff:192.0.2.2"),
        (["fe80::1%eth0", "fe80::2%eth0", "fe80::3%eth0"], "fe81::1%eth0"),
    ],
)
def test_a_network_of_ipv6_is_one_address(own: Sequence[str], other: str) -> None:
    places = Connections(FEW)
    entered(places, *own)
    assert (status(places, own[0]), status(places, other)) == (429, None)


def test_an_idle_connection_gives_way_to_a_new_one_of_its_address() -> None:
    places = Connections(FEW)
    entered(places, "192.0.2.1", state="half")
    older, newer = entered(places, "192.0.2.1", "192.0.2.1", state="idle")
    assert status(places, "192.0.2.1") is None
    assert (older.closed, newer.closed, len(places)) == (True, False, 3)


def test_in_a_full_server_those_with_most_give_way_to_those_with_fewer() -> None:
    places = Connections(FEW)
    busy = entered(places, *["192.0.2.1"] * 3)
    half, _, _ = entered(places, *["192.0.2.2"] * 3, state="half")
    assert status(places, "192.0.2.3") is None
    assert (half.closed, [one.closed for one in busy], len(places)) == (True, [False] * 3, 6)
    assert status(places, "192.0.2.2") == 503, "it has more than others"


def test_what_is_answered_never_gives_way() -> None:
    places = Connections(FEW)
    busy = entered(places, *["192.0.2.1"] * 3, *["192.0.2.2"] * 3)
    assert status(places, "192.0.2.3") == 503
    assert not any(one.closed for one in busy)


def test_a_proxy_may_have_all_connections() -> None:
    places = Connections(FEW, ["10.0.0.5"])
    entered(places, *["10.0.0.5"] * 6)
    assert status(places, "10.0.0.5") == 503


def test_a_proxy_is_an_address() -> None:
    with pytest.raises(HeadgateError, match=r"--proxy: 'proxy.example' does not appear to be an IPv4 or IPv6 address"):
        check_proxies(["10.0.0.5", "proxy.example"])


def test_who_has_gone_leaves_nothing_behind() -> None:
    places = Connections(FEW)
    for made in entered(places, *(f"192.0.2.{n}" for n in range(6))):
        places.leave(made)
    assert not places._by_network


# -- a real server: all of 127.0.0.0/8 is this machine ----------------------------------------------------------------


@pytest.fixture
def crowd() -> Iterator[Callable[..., list[socket.socket]]]:
    """Opens connections from an address, each of which sends something and then nothing more."""
    with ExitStack() as stack:

        def opened(port: int, address: str, *sent: bytes) -> list[socket.socket]:
            made = []
            for part in sent:
                one = socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(address, 0))
                made.append(stack.enter_context(one))
                one.sendall(part)
            return made

        yield opened


def health(port: int, address: str) -> bytes:
    """What somebody at an address gets."""
    with socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(address, 0)) as connection:
        connection.sendall(head(port, "GET /v1/health/live", "Connection: close"))
        return rest(connection)


def half_sent(port: int, count: int) -> list[bytes]:
    """Requests of which a part is missing: all, some of the headers, or the body."""
    body = head(port, "POST /v1/login", "Content-Length: 100", "Content-Type: application/json") + b'{"tok'
    kinds = [b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ", body]
    return [kinds[n % len(kinds)] for n in range(count)]


def test_half_sent_requests_of_one_address_leave_places_to_others(doors: Doors, crowd: Callable[..., object]) -> None:
    port = doors(PATIENT).http.port
    crowd(port, "127.0.0.1", *half_sent(port, 10))
    refused = answer(port, b"")
    assert refused.startswith(b"HTTP/1.1 429")
    assert b"retry-after: 1" in refused
    assert b"there are 10 connections from 127.0.0.1, and one address may have no more" in refused
    assert b"--proxy 127.0.0.1" in refused
    assert health(port, "127.0.0.2").startswith(b"HTTP/1.1 200")


def test_half_sent_requests_of_some_addresses_give_way_to_others(doors: Doors, crowd: Callable[..., object]) -> None:
    port = doors(PATIENT).http.port
    for address in ("127.0.0.1", "127.0.0.2"):
        crowd(port, address, *half_sent(port, 10))
    for _ in range(15):
        assert health(port, "127.0.0.3").startswith(b"HTTP/1.1 200")


def test_idle_connections_do_not_count_against_their_address(doors: Doors, crowd: Callable[..., object]) -> None:
    port = doors(PATIENT).http.port
    with ExitStack() as stack:
        for _ in range(10):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            one.sendall(head(port))
            assert one.recv(1000).startswith(b"HTTP/1.1 200")
        for _ in range(15):
            assert health(port, "127.0.0.1").startswith(b"HTTP/1.1 200")


def test_a_proxy_brings_requests_of_everybody(doors: Doors, crowd: Callable[..., object]) -> None:
    port = doors(PATIENT, proxies=["127.0.0.1"]).http.port
    crowd(port, "127.0.0.1", *half_sent(port, 19))
    assert health(port, "127.0.0.1").startswith(b"HTTP/1.1 200")


def test_handshakes_of_tls_that_do_not_go_on_count_too(doors: Doors, crowd: Callable[..., list[socket.socket]]) -> None:
    limits = Limits(connections=20, connections_per_address=10, header_seconds=2)
    port = doors(limits, tls=TLS(CERTIFICATE, KEY)).http.port
    pending = crowd(port, "127.0.0.1", *[b"", b"\x16\x03\x01\x02"] * 5)
    assert rest(crowd(port, "127.0.0.1", b"")[0]) == b"", "refused before a handshake"
    context = ssl.create_default_context(cafile=CERTIFICATE)
    for address in ("127.0.0.2", "127.0.0.2"):
        other = HTTPSConnection("localhost", port, timeout=20, context=context, source_address=(address, 0))
        other.request("GET", "/v1/health/live")
        assert other.getresponse().status == 200
        other.close()
    for one in pending:  # given up when the time for the handshake is over
        rest(one)
    own = HTTPSConnection("localhost", port, timeout=20, context=context, source_address=("127.0.0.1", 0))
    own.request("GET", "/v1/health/live")
    assert own.getresponse().status == 200
    own.close()


def test_who_does_not_read_its_answer_is_cut_off(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    def listening(address: Address) -> socket.socket:
        made = serving_listens(address)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # so that the system does not take all of an answer
        return made

    serving_listens = serving._listening
    monkeypatch.setattr(serving, "_listening", listening)
    port = doors(Limits(connections=20, connections_per_address=1, answer_seconds=0.3)).http.port
    largest = max((WEB / "assets").iterdir(), key=lambda path: path.stat().st_size)
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        slow.settimeout(20)
        slow.connect(("127.0.0.1", port))
        slow.sendall(head(port, f"GET /assets/{largest.name}"))
        assert slow.recv(10) == b"HTTP/1.1 2"
        assert health(port, "127.0.0.1").startswith(b"HTTP/1.1 429"), "it is being answered, and does not give way"
        while (own := health(port, "127.0.0.1")).startswith(b"HTTP/1.1 429"):
            pass
        assert own.startswith(b"HTTP/1.1 200")
        assert len(rest(slow)) < largest.stat().st_size
