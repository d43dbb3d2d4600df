"""`headgate token`: who may use a server."""

from __future__ import annotations

import math
import re
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from headgate.cli.console import examples, note, show, show_json
from headgate.cli.help_texts import ReadableCommand, ReadableGroup
from headgate.cli.options import AsJson
from headgate.cli.tables import plain_table
from headgate.model import HeadgateError, unknown

if TYPE_CHECKING:
    from headgate.server.access.tokens import Token

EXAMPLES = examples(
    "token add ann --role operate",
    "token add press-7 --role submit --tenant plant --expires 30d",
    "token ls",
    "token revoke ann",
)
ROLES = ("view", "submit", "operate")
_LIFETIME = re.compile(r"(\d+(?:\.\d+)?)\s*(min|h|d|w)")
_UNITS = {"min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}

app = typer.Typer(
    cls=ReadableGroup, no_args_is_help=True, help="Add, list and revoke tokens of a server.", epilog=EXAMPLES
)
Name = Annotated[str, typer.Argument(help="The name of a token.", show_default=False, metavar="NAME")]
Data = Annotated[Path, typer.Option("--data", help="The data directory of the server.", metavar="DIR")]
RoleOption = Annotated[
    str,
    typer.Option(
        "--role",
        help="What it may do: view everything; also submit queries and push rows; also operate, which is everything.",
        show_default=False,
        metavar="|".join(ROLES),
        autocompletion=lambda: list(ROLES),
    ),
]
Tenant = Annotated[
    str, typer.Option("--tenant", help="Limit it to what belongs to a tenant.", show_default=False, metavar="T")
]
Expires = Annotated[
    str | None,
    typer.Option("--expires", help="How long it is valid, as 12h or 30d.", show_default=False, metavar="TIME"),
]
DEFAULT_DATA = Path("out/server")


@app.command("add", cls=ReadableCommand, epilog=EXAMPLES)
def add(
    name: Name,
    role: RoleOption,
    tenant: Tenant = "",
    expires: Expires = None,
    data: Data = DEFAULT_DATA,
    as_json: AsJson = False,
) -> None:
    """Make a token and print it, once: only a hash of it is kept. A running server knows it at once."""
    from headgate.server.access.roles import Role
    from headgate.server.access.token_file import TokenFile

    if role not in ROLES:
        raise unknown("role", role, ROLES)
    lifetime = None if expires is None else read_lifetime(expires)
    token, text = TokenFile(data).add(name, Role(role), tenant, lifetime)
    if as_json:
        show_json({**_told(token), "token": text})
        return
    typer.echo(text)
    whose = f", for tenant {tenant}" if tenant else ""
    until = "" if token.expires is None else f", until {_moment(token.expires)}"
    note(f"token '{name}' may {role}{whose}{until}; keep it, as it is not shown again")


@app.command("ls", cls=ReadableCommand, epilog=EXAMPLES)
def listed(data: Data = DEFAULT_DATA, as_json: AsJson = False) -> None:
    """List tokens: names, roles, tenants and whether they are valid; never the tokens themselves."""
    from headgate.server.access.token_file import TokenFile

    tokens = sorted(TokenFile(data).tokens().values(), key=lambda token: token.name)
    if as_json:
        show_json({"tokens": [_told(token) for token in tokens]})
        return
    table = plain_table("name", "role", "tenant", "state", "added", "expires")
    for token in tokens:
        told = _told(token)
        table.add_row(*(Text(told[key] or "–") for key in ("name", "role", "tenant", "state", "created", "expires")))
    show(table)


@app.command("revoke", cls=ReadableCommand, epilog=EXAMPLES)
def revoke(name: Name, data: Data = DEFAULT_DATA, as_json: AsJson = False) -> None:
    """Let a token open nothing any more, nor logins that were made with it. A running server knows it at once."""
    from headgate.server.access.token_file import TokenFile

    token = TokenFile(data).revoke(name)
    if as_json:
        show_json(_told(token))
    else:
        note(f"token '{name}' is revoked")


def read_lifetime(text: str) -> float:
    """Seconds of a lifetime.

    >>> read_lifetime("30d"), read_lifetime("12 h")
    (2592000.0, 43200.0)
    """
    match = _LIFETIME.fullmatch(text.strip())
    value = 0.0 if match is None else float(match[1]) * _UNITS[match[2]]
    if not 0 < value < math.inf or value > 100 * 366 * 86400:
        raise HeadgateError(f"--expires is not a time, found {text}", hint="write 12h, 30d or 8w")
    return value


def _told(token: Token) -> dict[str, Any]:
    return {
        "name": token.name,
        "role": token.role.value,
        "tenant": token.tenant or None,
        "state": token.state(time.time()).value,
        "created": _moment(token.created),
        "expires": None if token.expires is None else _moment(token.expires),
    }


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).isoformat(sep=" ", timespec="minutes")
