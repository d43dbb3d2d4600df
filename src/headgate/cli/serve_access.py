"""Options of `headgate serve` that say who may use the server, and what of this machine they may use."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.model import HeadgateError

if TYPE_CHECKING:
    from headgate.server.access.access import Access
    from headgate.server.access.resources import Resources
    from headgate.server.settings import TLS, Address

Certificate = Annotated[
    Path | None,
    typer.Option("--tls-cert", help="The server's certificate (PEM), for TLS.", show_default=False, metavar="FILE"),
]
Key = Annotated[
    Path | None,
    typer.Option("--tls-key", help="The key of that certificate (PEM).", show_default=False, metavar="FILE"),
]
Insecure = Annotated[
    bool,
    typer.Option(
        "--insecure",
        help="Serve other machines without TLS: tokens and rows can be read on the way. Tokens stay needed.",
    ),
]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        help="Another name that clients may call this server by, as a proxy's; needs tokens. Repeat for more.",
        show_default=False,
        metavar="HOST[:PORT]",
    ),
]
Proxy = Annotated[
    list[str] | None,
    typer.Option(
        "--proxy",
        help="A reverse proxy's address: it may have all connections, and X-Forwarded-For is believed; "
        "repeat for more.",
        show_default=False,
        metavar="ADDRESS",
    ),
]
AllowPath = Annotated[
    list[Path] | None,
    typer.Option(
        "--allow-path",
        help="A folder that sources and tables may be read from over the network, by operators; repeat for more.",
        show_default=False,
        metavar="DIR",
    ),
]
AllowConnect = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-connect",
        help="An address that a socket source may use, as 127.0.0.1:9999; repeat for more.",
        show_default=False,
        metavar="HOST:PORT",
    ),
]
AllowTable = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-table",
        help="A table of Spark's catalog that results may be appended to, * for any letters; repeat for more.",
        show_default=False,
        metavar="NAME",
    ),
]


@dataclass(frozen=True, slots=True)
class Door:
    """Who may use a server, and the lines that say so."""

    access: Access
    lines: tuple[str, ...]


def tls(certificate: Path | None, key: Path | None) -> TLS | None:
    """The files for TLS, if there are any."""
    from headgate.server.settings import TLS

    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        missing = "--tls-cert" if certificate is None else "--tls-key"
        raise HeadgateError(f"{missing} is missing", hint="give both the certificate and its key")
    return TLS(certificate, key)


def door(
    directory: Path, address: Address, tls: TLS | None, insecure: bool, hosts: Sequence[str] | None = None
) -> Door:
    """Who may use a server at an address; refused if that would let in people whom nobody meant.

    With `hosts`, other names that it answers to, a proxy may bring requests of others: then it is never open.
    """
    from headgate.server.access.access import Access
    from headgate.server.access.token_file import TokenFile
    from headgate.server.access.tokens import TokenState

    file, now = TokenFile(directory), time.time()
    tokens = file.tokens()
    valid = sum(token.state(now) is TokenState.VALID for token in tokens.values())
    reached = not address.loopback or bool(hosts)
    if reached:
        _check_public(directory, address, valid, address.loopback or tls is not None or insecure)
    access = Access(file, open_without_tokens=not reached)
    lines = [
        f"tokens are asked for; {valid} {'is' if valid == 1 else 'are'} valid"
        if tokens or reached
        else "open to everybody on this machine: no token is asked for, until headgate token add makes one"
    ]
    if not address.loopback and tls is None:
        lines.append("--insecure: without TLS, whoever is on the way can read tokens and rows, and use the tokens")
    return Door(access, tuple(lines))


def _check_public(directory: Path, address: Address, valid: int, private: bool) -> None:
    where = "--allow-host" if address.loopback else f"--bind {address.host}:{address.port}"
    if not valid:
        raise HeadgateError(
            "others than this machine can reach the server, and there is no valid token",
            where=where,
            hint=f"make one first: headgate token add NAME --role operate --data {directory}",
        )
    if not private:
        raise HeadgateError(
            "others than this machine can reach the server, and there is no TLS",
            where=where,
            hint="give --tls-cert FILE --tls-key FILE, or --insecure behind a proxy that has it",
        )


def resources(paths: list[Path] | None, addresses: list[str] | None, tables: list[str] | None) -> Resources:
    """What may be used of this machine over the network."""
    from headgate.server.access.resources import Resources, check_addresses

    for path in paths or ():
        if not path.is_dir():
            raise HeadgateError(
                f"there is no folder '{path}'", where="--allow-path", hint="make it, or correct the path"
            )
    return Resources(
        tuple(path.resolve() for path in paths or ()), check_addresses(addresses or []), tuple(tables or ())
    )
