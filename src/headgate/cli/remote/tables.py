"""`headgate table`: register, list, refresh and drop the stored tables of a server."""

from __future__ import annotations

from typing import Annotated

import typer

from headgate.cli.console import examples
from headgate.cli.help_texts import ReadableCommand, ReadableGroup
from headgate.cli.options import AsJson
from headgate.cli.remote.output import Column, done, show_list
from headgate.cli.remote.server import NewName, TableName, client

EXAMPLES = examples("table ls", "table add halls /data/halls.csv", "table refresh halls")

app = typer.Typer(cls=ReadableGroup, no_args_is_help=True, epilog=EXAMPLES)
Path = Annotated[str, typer.Argument(help="A file or folder that the server sees.", show_default=False, metavar="PATH")]


@app.callback()
def table() -> None:
    """Register, list, refresh and drop the stored tables of a server."""


@app.command("add", cls=ReadableCommand, epilog=examples("table add halls /data/halls.csv"))
def add(name: NewName, path: Path, as_json: AsJson = False) -> None:
    """Register a file or folder of the server (Parquet, ORC, CSV with a header, JSON lines) as a table."""
    with client() as server:
        server.table(name, path)
        done(f"table '{name}' is there", as_json)


@app.command("ls", cls=ReadableCommand, epilog=examples("table ls", "table ls --json"))
def ls(as_json: AsJson = False) -> None:
    """List the tables."""
    columns = [Column("table", "name"), Column("columns", "schema"), Column("path", "path")]
    with client() as server:
        show_list(list(server.connection.items("/tables")), columns, as_json, "no tables; headgate table add …")


@app.command("refresh", cls=ReadableCommand, epilog=examples("table refresh halls"))
def refresh(name: TableName, as_json: AsJson = False) -> None:
    """Read the file or folder of a table anew; queries use the new rows from their next run on."""
    with client() as server:
        server.refresh_table(name)
        done(f"table '{name}' is read anew", as_json)


@app.command("rm", cls=ReadableCommand, epilog=examples("table rm halls"))
def rm(name: TableName, as_json: AsJson = False) -> None:
    """Forget a table; its file stays."""
    with client() as server:
        server.drop_table(name)
        done(f"table '{name}' is gone; its file stays", as_json)
