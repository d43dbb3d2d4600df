"""`headgate open`: the address of a server, in a browser if there is one."""

from __future__ import annotations

import os
import sys

import typer

from headgate.cli.console import examples, note, show_json
from headgate.cli.options import AsJson
from headgate.cli.remote.server import client

EXAMPLES = examples("open", "--profile plant open")


def open_server(as_json: AsJson = False) -> None:
    """Open a server's page in a browser, if there is a display; in any case print its address."""
    with client() as server:
        server.connection.get("/health/live")
        address = f"{server.url}/"
    if as_json:
        show_json({"address": address})
        return
    typer.echo(address)
    if has_display() and not _browse(address):
        note("no browser could be started")


def has_display() -> bool:
    """Whether a browser would have something to show itself on."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _browse(address: str) -> bool:
    import webbrowser

    return webbrowser.open(address)
