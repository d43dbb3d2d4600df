"""What a server is started with."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headgate.model import HeadgateError

PORT = 8440


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens.

    >>> Address.parse("127.0.0.1:8440"), Address.parse("[::1]:0").loopback, Address.parse("0.0.0.0").loopback
    (Address(host='127.0.0.1', port=8440), True, False)
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        host, separator, port = text.rpartition(":")
        if not separator or host.endswith(":") or (":" in host and not host.startswith("[")):
            host, port = text, str(PORT)
        if not port.isdigit() or int(port) > 65535 or not host.strip("[]"):
            raise HeadgateError(
                f"'{text}' is no address", where="--bind", hint='write "127.0.0.1:8440"; port 0 takes any that is free'
            )
        return cls(host.strip("[]"), int(port))

    @property
    def loopback(self) -> bool:
        """Whether only programs on this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def url(self, scheme: str = "http") -> str:
        """How clients write it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}"


def check_proxies(texts: Sequence[str]) -> tuple[str, ...]:
    """The values of --proxy, if they are addresses.

    >>> check_proxies(["10.0.0.5", "2001:DB8::5"])
    ('10.0.0.5', '2001:db8::5')
    """
    try:
        return tuple(str(ipaddress.ip_address(text)) for text in texts)
    except ValueError as error:
        raise HeadgateError(str(error), where="--proxy", hint='write the proxy\'s address, as "10.0.0.5"') from None


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of the server one request or connection may take."""

    body: int = 64 << 20  # bytes of pushed rows
    json_body: int = 1 << 20  # bytes of any other body
    body_seconds: float = 60.0  # for a body to come
    answer_seconds: float = 60.0  # for a client to take what it was sent
    header_bytes: int = 32 << 10
    header_seconds: float = 10.0  # for the headers to come
    url_bytes: int = 8 << 10
    connections: int = 1000
    connections_per_address: int = 500  # half of them: no address takes those of the others


@dataclass(frozen=True, slots=True)
class TLS:
    """The files that a server proves itself with."""

    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """What the standard library makes of the files; `HeadgateError` if they do not fit."""
        made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            made.load_cert_chain(self.certificate, self.key, password=_no_password)
        except (OSError, ValueError) as error:
            plain = isinstance(error, OSError) and not isinstance(error, ssl.SSLError)
            reason = getattr(error, "strerror", "") if plain else "they are no PEM files, or do not belong together"
            raise HeadgateError(
                f"cannot use certificate '{self.certificate}' with key '{self.key}': {str(reason).lower()}",
                where="--tls-cert, --tls-key",
                hint="name PEM files of a certificate and of its key, without a password",
            ) from None
        return made


def _no_password() -> str:
    raise ValueError("the key has a password")
