"""`headgate stream`: declare, list, show, feed, follow and drop the streams of a server."""

from __future__ import annotations

import json
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from headgate.cli.console import examples, note, show, show_json
from headgate.cli.help_texts import ReadableCommand, ReadableGroup
from headgate.cli.options import AsJson, check_rows
from headgate.cli.remote.output import Column, count, done, json_line, moment, rate, show_item, show_list
from headgate.cli.remote.server import NewName, StreamName, client, until_interrupted
from headgate.cli.tables import plain_table, plain_value
from headgate.model import HeadgateError
from headgate.model.errors import printable

EXAMPLES = examples("stream ls", "stream add readings 'machine string, temp double'", "stream push readings rows.csv")
ADD = examples(
    "stream add readings 'machine string, temp double, ts timestamp' --event-time ts --watermark '5 s'",
    "stream add drawn 'n int' --source 'poisson, rate=500'",
)
PUSH = examples(
    "stream push readings monday.jsonl tuesday.csv",
    "stream push readings big.parquet",
    "stream push readings - --format csv",
)
MOST_ROWS = 20
EVERY = 0.5  # seconds between two looks at a stream
PAGE = 1000  # rows of a look

app = typer.Typer(cls=ReadableGroup, no_args_is_help=True, epilog=EXAMPLES)
Schema = Annotated[
    str, typer.Argument(help="Columns and types, as 'id bigint, v double'.", show_default=False, metavar="SCHEMA")
]
EventTime = Annotated[
    str | None,
    typer.Option("--event-time", help="The timestamp column of windows.", show_default=False, metavar="COLUMN"),
]
Watermark = Annotated[str, typer.Option("--watermark", help="How late a row may be.", metavar="TIME")]
Ahead = Annotated[
    str | None,
    typer.Option(
        "--ahead",
        help='How far ahead of its arrival an event time may be, or "none".',
        show_default=False,
        metavar="TIME",
    ),
]
Source = Annotated[
    str | None,
    typer.Option("--source", help="Where the server reads the rows.", show_default=False, metavar="SOURCE"),
]
Files = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Files: .jsonl, .ndjson, .json, .csv, .parquet, .arrow; stdin if there is none, or for -.",
        show_default=False,
        metavar="FILE",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="What the rows are, if no suffix says it.",
        show_default=False,
        metavar="jsonl|csv|parquet|arrow",
    ),
]
Rows = Annotated[int, typer.Option("--rows", help="How many, the newest ones.", metavar="N")]
Reason = Annotated[
    str | None,
    typer.Option("--reason", help="Those whose reason contains this text.", show_default=False, metavar="TEXT"),
]
OfQuery = Annotated[
    str | None, typer.Option("--query", help="Those of this query.", show_default=False, metavar="NAME")
]
Replay = Annotated[bool, typer.Option("--replay", help="Give them to the stream again.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@app.callback()
def stream() -> None:
    """Declare, list, feed, follow and drop the streams of a server."""


@app.command("add", cls=ReadableCommand, epilog=ADD)
def add(
    name: NewName,
    schema: Schema,
    event_time: EventTime = None,
    watermark: Watermark = "0 s",
    ahead: Ahead = None,
    source: Source = None,
    as_json: AsJson = False,
) -> None:
    """Declare a stream."""
    with client() as server:
        server.stream(name, schema, event_time=event_time, watermark=watermark, ahead=ahead, source=source)
        done(f"stream '{name}' is declared; feed it with headgate stream push {name} FILE", as_json)


@app.command("ls", cls=ReadableCommand, epilog=examples("stream ls", "stream ls --json"))
def ls(as_json: AsJson = False) -> None:
    """List the streams: how fast they come, how much is kept, who is behind."""
    columns = [
        Column("stream", "name"),
        Column("tuples/s", rate("rate"), right=True),
        Column("tuples", count("tuples"), right=True),
        Column("dead", count("dead_letters"), right=True),
        Column("slowest reader", _slowest),
        Column("source", lambda item: str(item.get("source") or "pushed")),
        Column("error", lambda item: str(item.get("source_error") or "")),
    ]
    with client() as server:
        show_list(list(server.connection.items("/streams")), columns, as_json, "no streams; headgate stream add …")


@app.command("show", cls=ReadableCommand, epilog=examples("stream show readings", "stream show readings --json"))
def describe(name: StreamName, as_json: AsJson = False) -> None:
    """Show one stream: what was declared, its rate, the size of its log, the lag of its slowest reader."""
    from headgate.client.connection import path_of

    with client() as server:
        show_item(server.connection.get(path_of("streams", name)), as_json)


@app.command("push", cls=ReadableCommand, epilog=PUSH)
def push(name: StreamName, files: Files = None, format: Format = None, as_json: AsJson = False) -> None:
    """Append the rows of files, or of stdin, to a stream. When it ends, they are on the server's disk.

    Rows go in parts. If the connection breaks, a part is sent again, and is in the stream once. JSON lines and CSV may
    be compressed (.gz).
    """
    from headgate.cli.remote.pushing import push_files

    with client() as server:
        pushed = push_files(server, name, files or [Path("-")], format)
    if as_json:
        show_json(pushed)
    else:
        rejected = f", {pushed['rejected']:,} rejected: headgate stream dead {name}" if pushed["rejected"] else ""
        note(f"{pushed['accepted']:,} rows accepted{rejected}")


@app.command("tail", cls=ReadableCommand, epilog=examples("stream tail readings", "stream tail readings --json"))
def tail(name: StreamName, rows: Rows = 10, as_json: AsJson = False) -> None:
    """Follow the rows of a stream as they arrive, after the newest ones; Ctrl-C ends it."""
    from headgate.client import Client

    check_rows(rows)

    def look(server: Client, most: int) -> list[Any]:
        return server.sample(name, most)

    with client() as server, until_interrupted():
        last = -1
        found = look(server, max(1, rows))[-rows:] if rows else []
        if not rows:
            last = max((row["offset"] for row in look(server, 1)), default=-1)
        while True:
            new = [row for row in found if row["offset"] > last]
            if last >= 0 and new and new[0]["offset"] > last + 1:
                note(f"… {new[0]['offset'] - last - 1:,} rows came too fast to be shown")
            for row in new:
                json_line(row) if as_json else _print_row(row)
            last = max((row["offset"] for row in new), default=last)
            time.sleep(EVERY)
            found = look(server, PAGE)


@app.command("dead", cls=ReadableCommand, epilog=examples("stream dead readings", "stream dead readings --replay"))
def dead(
    name: StreamName,
    reason: Reason = None,
    query: OfQuery = None,
    rows: Rows = MOST_ROWS,
    replay: Replay = False,
    as_json: AsJson = False,
) -> None:
    """List the dead letters of a stream, the newest last, or give them to the stream again."""
    check_rows(rows)
    with client() as server:
        if replay:
            if query is not None:
                raise HeadgateError("--query and --replay are both given", hint="choose letters by --reason")
            _show_replay(server.replay(name, reason or "").to_json(), as_json)
            return
        newest = [letter.to_json() for letter in islice(server.dead_letters(name, reason, query), rows)]
        newest.reverse()
        if as_json:
            show_json(newest)
        elif not newest:
            note("no dead letters")
        else:
            _show_letters(newest, rows)


@app.command("rm", cls=ReadableCommand, epilog=examples("stream rm readings", "stream rm readings --yes"))
def rm(name: StreamName, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove a stream for good, with its rows and dead letters. Results of queries stay."""
    if not yes and sys.stdin.isatty():
        typer.confirm(f"Delete stream '{name}' and all its rows?", abort=True)
    with client() as server:
        server.drop_stream(name)
        done(f"stream '{name}' is gone", as_json)


@app.command("finish", cls=ReadableCommand, epilog=examples("stream finish readings"))
def finish(name: StreamName, as_json: AsJson = False) -> None:
    """End a stream: all its windows close. Rows that are pushed later are late."""
    with client() as server:
        server.finish(name)
        done(f"stream '{name}' has ended", as_json)


def _slowest(item: Any) -> str:
    slowest = item.get("slowest_reader")
    return f"{slowest['query']}: {slowest['tuples']:,} tuples" if slowest else ""


def _print_row(row: Any) -> None:
    cells = "  ".join(f"{name}={plain_value(value)}" for name, value in row["row"].items())
    typer.echo(f"{moment(row['arrival'])}  {printable(cells)}{'  (late)' if row['late'] else ''}")


def _show_replay(outcome: dict[str, Any], as_json: bool) -> None:
    if as_json:
        show_json(outcome)
        return
    note(f"{outcome['taken']:,} letters are rows of the stream now")
    for what in ("dead_again", "left"):
        for reason, letters in outcome.get(what, {}).items():
            note(f"{what.replace('_', ' ')}: {letters:,} ({reason})")


def _show_letters(newest: list[dict[str, Any]], most: int) -> None:
    table = plain_table("arrival", "reason", "offset", "tuple")
    for letter in newest:
        row = json.dumps(letter["row"], ensure_ascii=False) if letter.get("row") else letter.get("text") or ""
        cells = (letter["reason"], plain_value(letter.get("offset")), str(row))
        table.add_row(moment(letter["arrival"]), *(Text(printable(cell)) for cell in cells))
    show(table)
    if len(newest) == most:
        note(f"the newest {most:,} letters; --rows says how many")
