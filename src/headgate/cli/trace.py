"""`headgate replay` and `headgate why`: what a recorded trace can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.text import Text

from headgate.cli.console import examples, note, show, show_json
from headgate.cli.options import AsJson
from headgate.cli.tables import plain_table
from headgate.cli.units import NOTHING, duration, number
from headgate.model import HeadgateError, Why

if TYPE_CHECKING:
    from headgate.core.trace import Replayed

REPLAY_EXAMPLES = examples("simulate FILE --policy hnr --record t.jsonl", "replay t.jsonl")
WHY_EXAMPLES = examples("why t.jsonl 1", "why t.jsonl 250 --json")
MOST_DIFFERENCES = 5
_TIMES = frozenset({"wait", "cost", "global_cost", "ideal_time", "remaining_time"})

TraceFile = Annotated[
    Path, typer.Argument(help="A trace that simulate --record wrote.", show_default=False, metavar="TRACE")
]
Answer = TypeVar("Answer")


def replay(trace: TraceFile, as_json: AsJson = False) -> None:
    """Repeat a recorded trace and say whether every decision is the same; exit 1 if not."""
    from headgate.core.trace import replay

    replayed = _read(trace, replay)
    if as_json:
        show_json(asdict(replayed) | {"same": replayed.same})
    else:
        _show_replayed(trace, replayed)
    if not replayed.same:
        raise typer.Exit(1)


def why(
    trace: TraceFile,
    decision: Annotated[int, typer.Argument(help="Number of the decision, from 1.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Explain one decision of a trace: the numbers of the unit that won, and of the runner-up."""
    from headgate.core.trace import explain_decision

    if decision < 1:
        raise HeadgateError(f"decisions are counted from 1, found {decision}", hint="write 1 for the first")
    told = _read(trace, lambda lines: explain_decision(lines, decision))
    if as_json:
        show_json({"decision": decision, **asdict(told)})
    else:
        _show_why(decision, told)


def _read(trace: Path, ask: Callable[[Iterable[str]], Answer]) -> Answer:
    try:
        with trace.open(encoding="utf-8") as lines:
            return ask(lines)
    except UnicodeDecodeError:
        raise HeadgateError(
            "this is not a trace", where=str(trace), hint="give the file of simulate --record"
        ) from None
    except HeadgateError as error:
        raise error.at(str(trace)) from None


def _show_replayed(trace: Path, replayed: Replayed) -> None:
    counted = f"{replayed.decisions:,} decisions and {replayed.runs:,} runs of {replayed.policy}"
    if replayed.same:
        typer.echo(f"{trace}: {counted} replayed, all the same")
        return
    found = len(replayed.differences)
    typer.echo(f"{trace}: {counted} replayed, {found:,} {'answer differs' if found == 1 else 'answers differ'}")
    for difference in replayed.differences[:MOST_DIFFERENCES]:
        typer.echo(f"  {difference}")
    if found > MOST_DIFFERENCES:
        note(f"and {found - MOST_DIFFERENCES:,} more; --json lists all")


def _show_why(decision: int, told: Why) -> None:
    show(Text(f"decision {decision} by {told.policy}: {told.winner} ran, by {told.rule}"))
    sides = {f"winner: {told.winner}": told.numbers}
    if told.runner_up is not None:
        sides[f"runner-up: {told.runner_up}"] = told.runner_up_numbers
    table = plain_table("", *sides)
    for name in dict.fromkeys(name for numbers in sides.values() for name in numbers):
        table.add_row(name.replace("_", " "), *(_told(name, numbers) for numbers in sides.values()))
    for each in table.columns[1:]:
        each.justify = "right"
    show(table)


def _told(name: str, numbers: dict[str, float]) -> str:
    if name not in numbers:
        return NOTHING
    return duration(numbers[name]) if name in _TIMES else number(numbers[name])
