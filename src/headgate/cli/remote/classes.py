"""`headgate class`: list, declare and change the classes of a server."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headgate.cli.console import examples
from headgate.cli.help_texts import ReadableCommand, ReadableGroup
from headgate.cli.options import AsJson
from headgate.cli.remote.output import Column, done, show_list
from headgate.cli.remote.server import ClassName, NewName, client
from headgate.model import HeadgateError

EXAMPLES = examples("class ls", "class add critical 60", "class set critical --priority 80")
NONE = "none"  # takes a limit or target away

app = typer.Typer(cls=ReadableGroup, no_args_is_help=True, epilog=EXAMPLES)
Priority = Annotated[
    float, typer.Argument(help="A number above 0; larger is more important.", show_default=False, metavar="PRIORITY")
]
NewPriority = Annotated[
    float | None, typer.Option("--priority", help="Another priority.", show_default=False, metavar="N")
]
Lag = Annotated[
    str | None,
    typer.Option("--lag", help='For its queries, as "skip, tuples=100000".', show_default=False, metavar="LAG"),
]
Target = Annotated[
    str | None, typer.Option("--target", help='For its queries, as "500 ms".', show_default=False, metavar="TARGET")
]


@app.callback()
def classes() -> None:
    """List, declare and change the classes of a server."""


@app.command("ls", cls=ReadableCommand, epilog=examples("class ls", "class ls --json"))
def ls(as_json: AsJson = False) -> None:
    """List the classes, the most important first."""
    columns = [
        Column("class", "name"),
        Column("priority", "priority", right=True),
        Column("target", lambda item: str(item.get("target") or "")),
        Column("lag", lambda item: str(item.get("lag") or "")),
    ]
    with client() as server:
        show_list(list(server.connection.items("/classes")), columns, as_json, "no classes; headgate class add …")


@app.command("add", cls=ReadableCommand, epilog=examples("class add critical 60 --target '500 ms'"))
def add(name: NewName, priority: Priority, lag: Lag = None, target: Target = None, as_json: AsJson = False) -> None:
    """Declare a class."""
    with client() as server:
        server.create_class(name, priority, lag=lag, target=target)
        done(f"class '{name}' is declared, with priority {priority:g}", as_json)


@app.command("set", cls=ReadableCommand, epilog=examples("class set critical --priority 80 --target none"))
def change(
    name: ClassName, priority: NewPriority = None, lag: Lag = None, target: Target = None, as_json: AsJson = False
) -> None:
    """Change a class while its queries run; "none" takes a lag limit or target away."""
    given = {key: value for key, value in (("lag", lag), ("target", target)) if value is not None}
    changes: dict[str, Any] = {key: None if value == NONE else value for key, value in given.items()}
    if priority is not None:
        changes["priority"] = priority
    if not changes:
        raise HeadgateError("nothing is to be different", hint="add --priority, --lag or --target")
    with client() as server:
        server.change_class(name, **changes)
        done(f"class '{name}' is changed", as_json)


@app.command("rm", cls=ReadableCommand, epilog=examples("class rm batch"))
def rm(name: ClassName, as_json: AsJson = False) -> None:
    """Remove a class that has no queries."""
    with client() as server:
        server.drop_class(name)
        done(f"class '{name}' is gone", as_json)
