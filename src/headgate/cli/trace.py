"""`headgate replay` and `headgate why`: repeat a recorded trace, explain one of its decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.text import Text

from headgate.cli.console import examples, note, show, show_json
from headgate.cli.number_format import NOTHING, duration, number
from headgate.cli.options import AsJson
from headgate.cli.tables import plain_table
from headgate.model import HeadgateError, Why

if TYPE_CHECKING:
    from headgate.core.trace import TraceReplay

REPLAY_EXAMPLES = examples("simulate FILE --policy hnr --record t.jsonl", "replay t.jsonl")
WHY_EXAMPLES = examples("why t.jsonl 1", "why t.jsonl 250 --json")
MOST_DIFFERENCES = 5
_TIMES = frozenset({"wait", "cost", "global_cost", "ideal_time", "remaining_time"})

TraceFile = Annotated[
    Path, typer.Argument(help="A trace that simulate --record wrote.", show_default=False, metavar="TRACE")
]
FilePolicies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        "-p",
        help="Where a policy of your own is that the trace names, as ./mine.py:Mine; repeat for more.",
        show_default=False,
        metavar="POLICY",
    ),
]
Answer = TypeVar("Answer")


def replay(trace: TraceFile, policy: FilePolicies = None, as_json: AsJson = False) -> None:
    """Repeat a recorded trace and say whether every decision is the same; exit 1 if not."""
    from headgate.core.trace import replay_trace

    given = _load(policy or ())
    replayed = _read(trace, lambda lines: replay_trace(lines, given))
    if as_json:
        show_json(asdict(replayed) | {"same": replayed.same})
    else:
        _show_replayed(trace, replayed)
    if not replayed.same:
        raise typer.Exit(1)


def why(
    trace: TraceFile,
    decision: Annotated[int, typer.Argument(help="Number of the decision, from 1.", show_default=False)],
    policy: FilePolicies = None,
    as_json: AsJson = False,
) -> None:
    """Explain one decision of a trace: the numbers of the unit that won, and of the runner-up."""
    from headgate.core.trace import explain_decision

    if decision < 1:
        raise HeadgateError(f"decisions are counted from 1, found {decision}", hint="write 1 for the first")
    given = _load(policy or ())
    why_chosen = _read(trace, lambda lines: explain_decision(lines, decision, given))
    if as_json:
        show_json({"decision": decision, **asdict(why_chosen)})
    else:
        _show_why(decision, why_chosen)


def _load(policies: Iterable[str]) -> list[str]:
    """Load policies of files, and return their names."""
    from headgate.policy_files import load_policies

    files = {text: load_policies(text) for text in policies}
    for text, loaded in files.items():
        if not loaded:
            raise HeadgateError(
                f"--policy: '{text}' is not a policy of a file", hint="leave it out: the trace says which it is"
            )
    return [file.name for loaded in files.values() for file in loaded]


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


def _show_why(decision: int, why_chosen: Why) -> None:
    rule = f", by {why_chosen.rule}" if why_chosen.rule else ""
    show(Text(f"decision {decision} by {why_chosen.policy}: {why_chosen.winner} ran{rule}"))
    sides = {f"winner: {why_chosen.winner}": why_chosen.numbers}
    if why_chosen.runner_up is not None:
        sides[f"runner-up: {why_chosen.runner_up}"] = why_chosen.runner_up_numbers
    table = plain_table("", *sides)
    for name in dict.fromkeys(name for numbers in sides.values() for name in numbers):
        table.add_row(name.replace("_", " "), *(_number_text(name, numbers) for numbers in sides.values()))
    for column in table.columns[1:]:
        column.justify = "right"
    show(table)


def _number_text(name: str, numbers: dict[str, float]) -> str:
    if name not in numbers:
        return NOTHING
    return duration(numbers[name]) if name in _TIMES else number(numbers[name])
