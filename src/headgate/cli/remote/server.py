"""Which server the commands ask: that of `--server` or `--profile`, of HEADGATE_SERVER, or the usual address."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli.console import note
from headgate.cli.signals import exit_code, raised
from headgate.model import HeadgateError

if TYPE_CHECKING:
    from headgate.client import Client
    from headgate.client.address import Address

COMPLETING = 1.0  # seconds that a shell waits for names
PATIENCE = 60.0  # seconds for a server whose engine starts

ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server",
        help="Ask the server at this address; HEADGATE_SERVER says the same.",
        show_default=False,
        metavar="URL",
    ),
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        help="Ask the server of this name in ~/.config/headgate/config.toml.",
        show_default=False,
        metavar="NAME",
    ),
]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What options say about the server to ask."""

    server: str | None = None
    profile: str | None = None


_chosen = Chosen()  # of the command that runs


def choose(server: str | None, profile: str | None) -> None:
    """Remember what options say, for the command that follows."""
    global _chosen
    _chosen = Chosen(server, profile)


def client() -> Client:
    """The client of the server that was named."""
    from headgate.client import client_on
    from headgate.client.connection import Connection

    address = _address(_chosen)
    for told in address.notes:
        note(f"note: {told}")
    return client_on(Connection(address, PATIENCE, tell=_Wait()))


class _Wait:
    """Says once what is waited for."""

    def __init__(self) -> None:
        self._said = False

    def __call__(self, error: HeadgateError) -> None:
        if not self._said:
            note(f"waits: {error.message}")
            self._said = True


def is_named() -> bool:
    """Whether the user has said which server to ask."""
    return said() or bool(os.environ.get("HEADGATE_SERVER"))


def said() -> bool:
    """Whether an option says which server to ask."""
    return _chosen != Chosen()


def ask_server(given: object, what: str = "DIR") -> bool:
    """Whether a command that takes a directory is to ask a server instead."""
    if given is None and is_named():
        return True
    if given is not None and said():
        raise HeadgateError(f"{what} and a server are both given", hint=f"leave out {what}, or --server and --profile")
    if given is None:
        raise HeadgateError(f"{what} is missing", hint=f"give {what}, or name a server with --server")
    return False


def _address(chosen: Chosen) -> Address:
    from headgate.client.address import find

    return find(chosen.server, profile=chosen.profile)


def names_of(kind: str) -> Callable[[typer.Context, str], list[str]]:
    """What the shell offers for a name of this kind; nothing if the server does not answer at once."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        from headgate.client.connection import Connection

        try:
            given = ctx.find_root().params
            address = _address(Chosen(given.get("server"), given.get("profile")))
            connection = Connection(address, 0.0, answering=COMPLETING)
            names = [item["name"] for item in connection.get(f"/{kind}", {"limit": 1000})["items"]]
        except Exception:  # a shell has no use for an error here
            return []
        return [name for name in names if name.startswith(incomplete)]

    return complete


@contextmanager
def until_interrupted() -> Iterator[None]:
    """For commands that follow something: Ctrl-C is the way to end them, and says nothing."""
    try:
        with raised():
            yield
    except KeyboardInterrupt:
        raise typer.Exit(exit_code()) from None


def name_argument(kind: str, plural: str) -> Any:
    """An argument with the name of something that is on the server."""
    return typer.Argument(
        help=f"The name of a {kind}.", show_default=False, metavar="NAME", autocompletion=names_of(plural)
    )


QueryName = Annotated[str, name_argument("query", "queries")]
StreamName = Annotated[str, name_argument("stream", "streams")]
TableName = Annotated[str, name_argument("table", "tables")]
ClassName = Annotated[str, name_argument("class", "classes")]
NewName = Annotated[str, typer.Argument(help="Its name.", show_default=False, metavar="NAME")]
