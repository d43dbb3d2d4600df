"""`headgate replay`: repeat a recorded trace."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.console import examples, note, show_json
from headgate.cli.history_source import FilePolicies, load_given, read_trace
from headgate.cli.options import AsJson

if TYPE_CHECKING:
    from headgate.core.trace import TraceReplay

REPLAY_EXAMPLES = examples("simulate FILE --policy hnr --record t.jsonl", "replay t.jsonl")
MOST_DIFFERENCES = 5

TraceFile = Annotated[
    Path, typer.Argument(help="A trace that simulate --record wrote.", show_default=False, metavar="TRACE")
]


def replay(trace: TraceFile, policy: FilePolicies = None, as_json: AsJson = False) -> None:
    """Repeat a recorded trace and say whether every decision is the same; exit 1 if not."""
    from headgate.core.trace import replay_trace

    given = load_given(policy or ())
    replayed = read_trace(trace, lambda lines: replay_trace(lines, given))
    if as_json:
        show_json(asdict(replayed) | {"same": replayed.same})
    else:
        _show_replayed(trace, replayed)
    if not replayed.same:
        raise typer.Exit(1)


def _show_replayed(trace: Path, replayed: TraceReplay) -> None:
    counted = f"{replayed.decisions:,} decisions and {replayed.runs:,} runs of {replayed.policy}"
    if replayed.same:
        typer.echo(f"{trace}: {counted} replayed, all the same")
        return
    count = len(replayed.differences)
    typer.echo(f"{trace}: {counted} replayed, {count:,} {'answer differs' if count == 1 else 'answers differ'}")
    for difference in replayed.differences[:MOST_DIFFERENCES]:
        typer.echo(f"  {difference}")
    if count > MOST_DIFFERENCES:
        note(f"and {count - MOST_DIFFERENCES:,} more; --json lists all")
