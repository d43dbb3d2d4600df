"""`headgate query`: submit, list, show, follow and steer the queries of a server."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli.console import examples, note
from headgate.cli.help_texts import ReadableCommand, ReadableGroup
from headgate.cli.options import AsJson, check_rows
from headgate.cli.remote.output import Column, count, done, json_line, rate, show_item, show_list, span
from headgate.cli.remote.server import ClassName, NewName, QueryName, client, names_of, until_interrupted
from headgate.cli.tables import plain_value
from headgate.model import HeadgateError
from headgate.model.errors import printable

if TYPE_CHECKING:
    from headgate.client import Client

EXAMPLES = examples("query ls", "query add hot 'SELECT id FROM readings WHERE temp > 90'", "query tail hot")
ADD = examples(
    "query add hot 'SELECT machine, temp FROM readings WHERE temp > 90' --class critical",
    "query add hourly --file hourly.sql --target '2 s' --since start",
)
DRY_RUN = examples("query dry-run hot 'SELECT machine FROM readings WHERE temp > 90' --class critical")

app = typer.Typer(cls=ReadableGroup, no_args_is_help=True, epilog=EXAMPLES)
Sql = Annotated[
    str | None,
    typer.Argument(help="A SELECT over streams and tables; - for stdin.", show_default=False, metavar="SQL"),
]
File = Annotated[
    Path | None, typer.Option("--file", "-f", help="A file with the SQL.", show_default=False, metavar="FILE")
]
Class = Annotated[
    str | None,
    typer.Option("--class", help="Its class.", show_default=False, metavar="CLASS", autocompletion=names_of("classes")),
]
Sink = Annotated[str, typer.Option("--sink", help="Where results go.", metavar="SINK")]
Target = Annotated[
    str | None, typer.Option("--target", help='How soon, as "500 ms".', show_default=False, metavar="TARGET")
]
Since = Annotated[str, typer.Option("--since", help="From which rows on.", metavar="now|start")]
Once = Annotated[bool, typer.Option("--once", help="Read all that is kept, then end.")]
Start = Annotated[
    str | None, typer.Option("--start", help="Start after this long.", show_default=False, metavar="TIME")
]
End = Annotated[str | None, typer.Option("--end", help="End after this long.", show_default=False, metavar="TIME")]
Lag = Annotated[
    str | None,
    typer.Option("--lag", help='What if many rows wait, as "skip, tuples=100000".', show_default=False, metavar="LAG"),
]
State = Annotated[str | None, typer.Option("--state", help="Those in this state.", show_default=False, metavar="STATE")]
Text = Annotated[
    str | None, typer.Option("--search", "-q", help="Those whose name or SQL contains this.", show_default=False)
]
Sort = Annotated[
    str | None,
    typer.Option(
        "--sort", help="By which field; with - in front the largest first.", show_default=False, metavar="FIELD"
    ),
]
From = Annotated[
    str, typer.Option("--from", help="Follow from now on, or first all results since the start.", metavar="now|start")
]
Rows = Annotated[int | None, typer.Option("--rows", help="End after so many rows.", show_default=False, metavar="N")]


@app.callback()
def query() -> None:
    """Submit, list, show, follow and steer the queries of a server."""


@app.command("add", cls=ReadableCommand, epilog=ADD)
def add(
    name: NewName,
    sql: Sql = None,
    file: File = None,
    query_class: Class = None,
    sink: Sink = "parquet",
    target: Target = None,
    since: Since = "now",
    once: Once = False,
    start: Start = None,
    end: End = None,
    lag: Lag = None,
    as_json: AsJson = False,
) -> None:
    """Start a query."""
    settings = _settings(query_class, sink, target, since, once, start, end, lag)
    statement = _statement(sql, file)
    with client() as server:
        made = server.query(name, statement, **settings)
        if as_json:
            show_item(made.status.to_json(), as_json)
        else:
            note(f"query '{name}' is started; headgate query tail {name} follows its results")


@app.command("dry-run", cls=ReadableCommand, epilog=DRY_RUN)
def dry_run(
    name: NewName,
    sql: Sql = None,
    file: File = None,
    query_class: Class = None,
    sink: Sink = "parquet",
    target: Target = None,
    since: Since = "now",
    once: Once = False,
    start: Start = None,
    end: End = None,
    lag: Lag = None,
    as_json: AsJson = False,
) -> None:
    """Tell what a query would become, what it would cost and whom it would slow down; nothing is started."""
    settings = _settings(query_class, sink, target, since, once, start, end, lag)
    statement = _statement(sql, file)
    with client() as server:
        show_item(server.dry_run(name, statement, **settings), as_json)


@app.command("ls", cls=ReadableCommand, epilog=examples("query ls --class critical", "query ls --sort -waiting"))
def ls(
    query_class: Class = None, state: State = None, text: Text = None, sort: Sort = None, as_json: AsJson = False
) -> None:
    """List the queries: what they do, what waits for them, how long results take."""
    columns = [
        Column("query", "name"),
        Column("class", "class"),
        Column("state", "state"),
        Column("tuples/s", rate("rate"), right=True),
        Column("waiting", count("waiting"), right=True),
        Column("p95", span("latency", "last_10_s", "p95"), right=True),
        Column("in", count("tuples_in"), right=True),
        Column("out", count("tuples_out"), right=True),
        Column("error", lambda item: str(item.get("error") or "")),
    ]
    asked = {"class": query_class, "state": state, "q": text, "sort": sort}
    with client() as server:
        show_list(list(server.connection.items("/queries", asked)), columns, as_json, "no such queries")


@app.command("show", cls=ReadableCommand, epilog=examples("query show hot", "query show hot --json"))
def describe(name: QueryName, as_json: AsJson = False) -> None:
    """Show one query: what was declared, its plan, how it is doing, where its time goes."""
    with client() as server:
        show_item(server[name].status, as_json)


@app.command("tail", cls=ReadableCommand, epilog=examples("query tail hot", "query tail hot --from start --json"))
def tail(name: QueryName, since: From = "now", rows: Rows = None, as_json: AsJson = False) -> None:
    """Follow the results of a query as they come; Ctrl-C ends it. It goes on after a broken connection."""
    check_rows(rows)
    if since not in ("now", "start"):
        raise HeadgateError(f"--from is now or start, found '{since}'", hint="write --from start")
    with client() as server, until_interrupted():
        table = Lines()
        for row in islice(_results(server, name, since), rows):
            json_line(row) if as_json else table.show(row)


def _results(server: Client, name: str, since: str) -> Iterator[dict[str, Any]]:
    from headgate.client.connection import path_of
    from headgate.client.following import Following

    path = path_of("queries", name, "results", "stream")
    for event in Following(server.connection, path, {"from": since}):
        if event.kind == "rows":
            yield from json.loads(event.data)["rows"]


class Lines:
    """Rows one below the other, as they come: a column is as wide as the widest value so far."""

    def __init__(self) -> None:
        self._widths: dict[str, int] = {}

    def show(self, row: dict[str, Any]) -> None:
        cells = {column: printable(_value(value)) for column, value in row.items()}
        if list(self._widths) != list(cells):
            self._widths = {column: max(len(column), len(cell)) for column, cell in cells.items()}
            typer.echo(self._line({column: column for column in cells}))
        self._widths = {column: max(self._widths[column], len(cell)) for column, cell in cells.items()}
        typer.echo(self._line(cells))

    def _line(self, cells: dict[str, str]) -> str:
        return "  ".join(cell.ljust(self._widths[column]) for column, cell in cells.items()).rstrip()


@app.command("pause", cls=ReadableCommand, epilog=examples("query pause hot"))
def pause(name: QueryName, as_json: AsJson = False) -> None:
    """Let a query take no more rows until it is resumed; rows that come meanwhile wait."""
    with client() as server:
        server[name].pause()
        done(f"query '{name}' is paused", as_json)


@app.command("resume", cls=ReadableCommand, epilog=examples("query resume hot"))
def resume(name: QueryName, as_json: AsJson = False) -> None:
    """Let a query go on where it was paused or suspended, or start now."""
    with client() as server:
        server[name].resume()
        done(f"query '{name}' goes on", as_json)


@app.command("stop", cls=ReadableCommand, epilog=examples("query stop hot"))
def stop(name: QueryName, as_json: AsJson = False) -> None:
    """Remove a query for good; its results stay."""
    with client() as server:
        server[name].stop()
        done(f"query '{name}' is stopped; its results stay", as_json)


@app.command("move", cls=ReadableCommand, epilog=examples("query move hot critical"))
def move(name: QueryName, query_class: ClassName, as_json: AsJson = False) -> None:
    """Put a query into another class."""
    with client() as server:
        server[name].move(query_class)
        done(f"query '{name}' is in class '{query_class}' now", as_json)


@app.command("replace", cls=ReadableCommand, epilog=examples("query replace hot 'SELECT id FROM readings'"))
def replace(name: QueryName, sql: Sql = None, file: File = None, as_json: AsJson = False) -> None:
    """Give a query other SQL with the same columns; it goes on at the same rows."""
    statement = _statement(sql, file)
    with client() as server:
        server[name].replace(statement)
        done(f"query '{name}' has other SQL now", as_json)


def _statement(sql: str | None, file: Path | None) -> str:
    """The SQL: an argument, a file's, or that of stdin."""
    if (sql is None) == (file is None):
        raise HeadgateError("the SQL is needed once", hint="write it behind the name, or give --file")
    if file is not None:
        try:
            return file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise HeadgateError("this is not text", where=str(file), hint="give a file with SQL") from None
    return sys.stdin.read() if sql == "-" else str(sql)


def _settings(
    query_class: str | None,
    sink: str,
    target: str | None,
    since: str,
    once: bool,
    start: str | None,
    end: str | None,
    lag: str | None,
) -> dict[str, Any]:
    """What options say of a query, in the words of `Client.query`."""
    given = {"query_class": query_class, "target": target, "start": start, "end": end, "lag": lag}
    return {"sink": sink, "since": since, "once": once} | {
        name: value for name, value in given.items() if value is not None
    }


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else plain_value(value)
