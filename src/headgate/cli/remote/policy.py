"""`headgate policy`: which policy decides on a server, and changing it while queries run."""

from __future__ import annotations

from typing import Annotated

import typer

from headgate.cli import options
from headgate.cli.console import examples
from headgate.cli.help_texts import ReadableCommand, ReadableGroup
from headgate.cli.remote.output import Column, done, show_item, show_list
from headgate.cli.remote.server import client

EXAMPLES = examples("policy show", "policy set 'hnr, train=500'", "policy ls")

app = typer.Typer(cls=ReadableGroup, no_args_is_help=True, epilog=EXAMPLES)
Policy = Annotated[
    str,
    typer.Argument(
        help="A policy with its settings.",
        show_default=False,
        metavar="POLICY",
        autocompletion=options.policy_names,
    ),
]
Fuse = Annotated[
    str | None,
    typer.Option(
        "--fuse", help="Which queries share a job, if not as before.", show_default=False, metavar="off|class|all"
    ),
]


@app.callback()
def policy() -> None:
    """Show or change which policy decides on a server."""


@app.command("show", cls=ReadableCommand, epilog=examples("policy show", "policy show --json"))
def describe(as_json: options.AsJson = False) -> None:
    """Show which policy decides, and which queries share a job."""
    with client() as server:
        show_item(server.policy, as_json)


@app.command("set", cls=ReadableCommand, epilog=examples("policy set 'mbd, inversion=dsp' --fuse class"))
def change(text: Policy, fuse: Fuse = None, as_json: options.AsJson = False) -> None:
    """Let another policy decide from now on; queries go on where they are."""
    with client() as server:
        server.set_policy(text, fuse)
        done(f"{text} decides from now on", as_json)


@app.command("ls", cls=ReadableCommand, epilog=examples("policy ls", "policy ls --json"))
def ls(as_json: options.AsJson = False) -> None:
    """List the policies that the server has."""
    columns = [Column("name", "name"), Column("family", "family"), Column("rule", "rule"), Column("source", "source")]
    with client() as server:
        show_list(list(server.connection.items("/policies")), columns, as_json, "no policies")
