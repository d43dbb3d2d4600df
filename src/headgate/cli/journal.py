"""`headgate journal`: how the states of the queries of a run have changed, and why."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from headgate.cli import options
from headgate.cli.console import examples, note, show
from headgate.cli.remote import insight
from headgate.cli.remote.server import ask_server
from headgate.cli.tables import plain_table
from headgate.model import HeadgateError, unknown
from headgate.model.errors import printable

if TYPE_CHECKING:
    from headgate.spark.store.journal import Entry

EXAMPLES = examples("journal out/plant", "journal out/plant --query fire --last 5", "journal out/plant --json")
MOST_LINES = 20

OfQuery = Annotated[str | None, typer.Option("--query", help="This query only.", show_default=False, metavar="NAME")]
Last = Annotated[int | None, typer.Option("--last", help="How many, the newest ones.", show_default=False, metavar="N")]
AsLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per change, and nothing else, to stdout.")]


def journal(
    directory: options.OptionalDirectory = None, query: OfQuery = None, last: Last = None, as_json: AsLines = False
) -> None:
    """List the changes of queries' states: when, from which state to which, and why; also while the engine runs.

    It also says when a query's target is missed, and when it is met again. Without a directory, the server that
    --server or HEADGATE_SERVER names is asked.

    The newest 20 as a table, the newest of all last, or all of them as JSON lines; --last says otherwise. The journal
    is kept within bounds: the oldest changes are gone after some ten thousand.
    """
    from headgate.spark.store.journal import read_journal

    if last is not None and last < 0:
        raise HeadgateError(f"--last must be at least 0, found {last}", hint="leave it out, or write for example 100")
    if ask_server(directory):
        insight.journal(query, last, as_json)
        return
    assert directory is not None
    options.check_directory(directory)
    entries = read_journal(directory)
    if query is not None:
        _check_query(query, directory, entries)
        entries = [entry for entry in entries if entry.query == query]
    most = last if last is not None or as_json else MOST_LINES
    newest = entries if most is None else entries[max(0, len(entries) - most) :]
    if as_json:
        for entry in newest:
            typer.echo(json.dumps(entry.to_json(), ensure_ascii=False))
    elif not entries:
        note("no changes of states yet")
    else:
        _show(newest, len(entries))


def _check_query(query: str, directory: Path, entries: list[Entry]) -> None:
    """Refuse an unknown query; one whose entries the journal has dropped is still known by its results."""
    from headgate.spark.sinks.committed_results import known_queries

    names = {entry.query for entry in entries} | set(known_queries(directory))
    if query not in names:
        raise unknown("query", query, names, where=str(directory))


def _show(newest: list[Entry], total: int) -> None:
    table = plain_table("time", "query", "change", "reason")
    for entry in newest:
        change = f"{entry.before} → {entry.after}"
        table.add_row(_moment(entry.at), *(Text(printable(text)) for text in (entry.query, change, entry.reason)))
    show(table)
    if len(newest) < total:
        note(f"the newest {len(newest):,} of {total:,} changes; --last says how many, --json prints all")


def _moment(at: float) -> str:
    """A time in the local time zone."""
    return datetime.fromtimestamp(at).isoformat(sep=" ", timespec="milliseconds")
