"""`headgate dead`: the tuples that streams and queries of the engine could not take, and why."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

import typer
from rich.text import Text

from headgate.cli import options
from headgate.cli.console import examples, note, show
from headgate.cli.tables import plain_table, plain_value
from headgate.model import HeadgateError

EXAMPLES = examples("dead out/plant", "dead out/plant readings", "dead out/plant --json")
MOST_ROWS = 20
_FILE = re.compile(r"(?P<stream>.+?)(\.taken-\d{8})?\.jsonl")

StreamName = Annotated[
    str | None, typer.Argument(help="This stream only, letter by letter.", show_default=False, metavar="STREAM")
]
AsLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per letter, and nothing else, to stdout.")]
Letters = list[dict[str, Any]]


def dead(
    directory: options.Directory,
    stream: StreamName = None,
    rows: options.Rows = None,
    as_json: AsLines = False,
) -> None:
    """List dead letters: tuples that came too late, could not be read, or on which an expression failed.

    How many of each reason there are, or with a stream's name the newest 20 of them; also while the engine runs.
    """
    options.check_rows(rows)
    options.check_directory(directory)
    found = letters(directory)
    if stream is not None and stream not in found:
        known = f"known: {', '.join(sorted(found))}" if found else "there is no stream at all"
        raise HeadgateError(f"unknown stream '{stream}'", where=str(directory), hint=known)
    chosen = found if stream is None else {stream: found[stream]}
    if as_json:
        for name, each in chosen.items():
            for letter in _newest(each, rows):
                typer.echo(json.dumps({"stream": name, **letter}, ensure_ascii=False))
    elif not any(chosen.values()):
        note("no dead letters")
    elif stream is None:
        _show_reasons(chosen)
    else:
        _show_letters(chosen[stream], MOST_ROWS if rows is None else rows)


def letters(directory: Path) -> dict[str, Letters]:
    """All dead letters by stream, oldest first; a line that is being written is left for the next time."""
    found: dict[str, Letters] = {}
    for path in sorted((directory / "deadletters").iterdir(), key=lambda each: (".taken-" not in each.name, each.name)):
        match = _FILE.fullmatch(path.name)
        if match is not None:
            found.setdefault(unquote(match["stream"]), []).extend(_read(path))
    return dict(sorted(found.items()))


def _read(path: Path) -> Letters:
    *lines, _torn = path.read_text(encoding="utf-8").split("\n")
    try:
        return [json.loads(line) for line in lines[1:]]  # the first one says where the file begins
    except ValueError as error:
        raise HeadgateError(
            "a line is not a dead letter", where=str(path), hint="correct the line or move the file away"
        ) from error


def _newest(found: Letters, rows: int | None) -> Letters:
    return found if rows is None else found[max(0, len(found) - rows) :]


def _show_reasons(found: dict[str, Letters]) -> None:
    table = plain_table("stream", "reason", "letters", "newest")
    table.columns[2].justify = "right"
    for name, each in found.items():
        newest = {letter["reason"]: letter["arrival"] for letter in each}
        for reason, count in Counter(letter["reason"] for letter in each).most_common():
            table.add_row(Text(name), Text(reason), f"{count:,}", _moment(newest[reason]))
    show(table)


def _show_letters(found: Letters, rows: int) -> None:
    table = plain_table("arrival", "reason", "offset", "tuple")
    newest = _newest(found, rows)
    for letter in newest:
        row = json.dumps(letter["row"], ensure_ascii=False) if "row" in letter else letter.get("text", "")
        table.add_row(
            _moment(letter["arrival"]), Text(letter["reason"]), plain_value(letter.get("offset")), Text(str(row))
        )
    show(table)
    if len(newest) < len(found):
        note(f"the newest {len(newest):,} of {len(found):,} letters; --rows says how many, --json prints all")


def _moment(arrival: float) -> str:
    return datetime.fromtimestamp(arrival, UTC).isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")
