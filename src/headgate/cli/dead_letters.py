"""`headgate dead`: list dead letters (tuples that a stream or query refused, with the reason), or replay them."""

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

from headgate.cli import dead_letter_replay, options
from headgate.cli.console import examples, note, show
from headgate.cli.tables import plain_table, plain_value
from headgate.model import HeadgateError

EXAMPLES = examples(
    "dead out/plant", "dead out/plant readings --json", 'dead out/plant --replay --stream readings --reason "broken"'
)
MOST_ROWS = 20
_FILE = re.compile(r"(?P<stream>.+?)(?P<taken>\.taken-\d{8})?\.jsonl")

StreamName = Annotated[
    str | None, typer.Argument(help="This stream only, letter by letter.", show_default=False, metavar="STREAM")
]
AsLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per letter, and nothing else, to stdout.")]
Replay = Annotated[bool, typer.Option("--replay", help="Give them to their streams again; no engine may run.")]
OfStream = Annotated[
    str | None, typer.Option("--stream", help="The same as STREAM.", show_default=False, metavar="NAME")
]
Reason = Annotated[
    str, typer.Option("--reason", help="Those whose reason contains this text.", show_default=False, metavar="TEXT")
]
Letters = list[dict[str, Any]]


def dead(
    directory: options.Directory,
    stream: StreamName = None,
    of_stream: OfStream = None,
    reason: Reason = "",
    rows: options.Rows = None,
    replay: Replay = False,
    as_json: AsLines = False,
) -> None:
    """List dead letters: tuples that came late or too early, could not be read, or on which an expression failed.

    How many of each reason there are, or with a stream's name the newest 20 of them; also while the engine runs.
    With --replay they go through the checks of their stream again: what has been corrected in DIR/deadletters is
    taken; late ones are in the stream already, for queries without windows, and stay.
    """
    options.check_rows(rows)
    options.check_directory(directory)
    stream = _one_name(stream, of_stream)
    by_stream = letters(directory)
    if stream is not None and stream not in by_stream:
        hint = f"known: {', '.join(sorted(by_stream))}" if by_stream else "there is no stream at all"
        raise HeadgateError(f"unknown stream '{stream}'", where=str(directory), hint=hint)
    chosen = by_stream if stream is None else {stream: by_stream[stream]}
    if replay:
        if rows is not None:
            raise HeadgateError("--rows and --replay are both given", hint="choose letters by --stream and --reason")
        dead_letter_replay.replay(directory, list(chosen), reason, as_json)
        return
    chosen = {name: _with_reason(stream_letters, reason) for name, stream_letters in chosen.items()}
    if as_json:
        for name, stream_letters in chosen.items():
            for letter in _newest(stream_letters, rows):
                typer.echo(json.dumps({"stream": name, **letter}, ensure_ascii=False))
    elif not any(chosen.values()):
        note("no dead letters")
    elif stream is None:
        _show_reasons(chosen)
    else:
        _show_letters(chosen[stream], MOST_ROWS if rows is None else rows)


def letters(directory: Path) -> dict[str, Letters]:
    """All dead letters by stream, oldest first; a line that is not written completely is ignored."""
    by_stream: dict[str, Letters] = {}
    for path in (directory / "deadletters").glob("*.jsonl"):
        match = _FILE.fullmatch(path.name)
        if match is not None and match["taken"] is None:
            takes, own = _read(path)
            taken = [file for file in path.parent.glob(f"{path.stem}.taken-*.jsonl") if _number(file) <= takes]
            by_stream[unquote(match["stream"])] = [letter for file in taken for letter in _read(file)[1]] + own
    return dict(sorted(by_stream.items()))


def _with_reason(stream_letters: Letters, reason: str) -> Letters:
    return [letter for letter in stream_letters if reason in letter["reason"]]


def _one_name(stream: str | None, of_stream: str | None) -> str | None:
    if None not in (stream, of_stream):
        raise HeadgateError("the stream is given twice", hint="leave out --stream")
    return of_stream if stream is None else stream


def _number(path: Path) -> int:
    """The number of the replay that set a file aside; if the main file does not count it, that replay crashed."""
    return int(path.stem.rpartition("-")[2])


def _read(path: Path) -> tuple[int, Letters]:
    """How many replays a file counts, and its letters."""
    try:
        *lines, _torn = path.read_text(encoding="utf-8").split("\n")
        header, *stream_letters = map(json.loads, lines)
        return header["takes"], stream_letters
    except FileNotFoundError:  # a replay removed it in the meantime
        return 0, []
    except (ValueError, KeyError, TypeError) as error:
        raise HeadgateError(
            "a line is not a dead letter", where=str(path), hint="correct the line or move the file away"
        ) from error


def _newest(stream_letters: Letters, rows: int | None) -> Letters:
    return stream_letters if rows is None else stream_letters[max(0, len(stream_letters) - rows) :]


def _show_reasons(by_stream: dict[str, Letters]) -> None:
    table = plain_table("stream", "reason", "letters", "newest")
    table.columns[2].justify = "right"
    for name, stream_letters in by_stream.items():
        newest = {letter["reason"]: letter["arrival"] for letter in stream_letters}
        for reason, count in Counter(letter["reason"] for letter in stream_letters).most_common():
            table.add_row(Text(name), Text(reason), f"{count:,}", _moment(newest[reason]))
    show(table)


def _show_letters(stream_letters: Letters, rows: int) -> None:
    table = plain_table("arrival", "reason", "offset", "tuple")
    newest = _newest(stream_letters, rows)
    for letter in newest:
        row = json.dumps(letter["row"], ensure_ascii=False) if "row" in letter else letter.get("text", "")
        table.add_row(
            _moment(letter["arrival"]), Text(letter["reason"]), plain_value(letter.get("offset")), Text(str(row))
        )
    show(table)
    if len(newest) < len(stream_letters):
        note(f"the newest {len(newest):,} of {len(stream_letters):,} letters; --rows says how many, --json prints all")


def _moment(arrival: float) -> str:
    return datetime.fromtimestamp(arrival, UTC).isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")
