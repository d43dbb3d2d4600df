"""`headgate dead --replay`: append dead letters to their streams again; no engine may have the directory open."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from headgate.cli.console import note, show
from headgate.cli.tables import plain_table
from headgate.model import HeadgateError

if TYPE_CHECKING:
    from headgate.spark.ingest.dead_letter_replay import LetterReplay
    from headgate.spark.store.directory import DataDirectory


def replay(directory: Path, streams: Iterable[str], reason: str, as_json: bool) -> None:
    """Replay the dead letters of some streams, and show how many were accepted, refused again, or left."""
    with _opened(directory) as data:
        done = [
            replayed
            for replayed in _replayed(data, streams, reason)
            if replayed.taken or replayed.dead_again or replayed.left
        ]
    if as_json:
        for replayed in done:
            typer.echo(json.dumps(_to_json(replayed), ensure_ascii=False))
    elif not done:
        note("no dead letters")
    else:
        _show(done)


def _opened(directory: Path) -> DataDirectory:
    from headgate.spark.store.directory import DataDirectory

    try:
        return DataDirectory(directory)
    except HeadgateError as error:
        hint = "stop it first, or call replay of its session"
        raise HeadgateError(error.message, where=error.where, hint=hint) from None


def _replayed(data: DataDirectory, streams: Iterable[str], reason: str) -> Iterator[LetterReplay]:
    from headgate.spark.ingest.dead_letter_replay import replay
    from headgate.spark.store.dead_letters import DeadLetters
    from headgate.spark.store.log.stream_log import StreamLog

    for stream in streams:
        log = StreamLog.reopen(data.stream(stream))
        try:
            yield replay(log, DeadLetters(data.letters(stream)), time.time(), reason)
        finally:
            log.close()


def _to_json(done: LetterReplay) -> dict[str, object]:
    return {"stream": done.stream, "taken": done.taken, "dead_again": done.dead_again, "left": done.left}


def _show(done: Iterable[LetterReplay]) -> None:
    table = plain_table("stream", "letters", "what became of them")
    table.columns[1].justify = "right"
    for replayed in done:
        outcomes = {"taken": replayed.taken}
        outcomes |= {f"dead again: {reason}": count for reason, count in replayed.dead_again.most_common()}
        outcomes |= {f"left: {reason}": count for reason, count in replayed.left.most_common()}
        for outcome, count in outcomes.items():
            if count:
                table.add_row(Text(replayed.stream), f"{count:,}", Text(outcome))
    show(table)
