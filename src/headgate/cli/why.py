"""`headgate why`: why a result was late, who delayed a class, or why a decision was made."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli import why_output
from headgate.cli.console import examples, show_json
from headgate.cli.history_source import FilePolicies, load_given, read_source, read_trace
from headgate.cli.number_format import read_duration, read_moment
from headgate.cli.options import AsJson
from headgate.cli.remote import insight
from headgate.cli.remote.server import ask_server, is_named
from headgate.model import HeadgateError, Why

if TYPE_CHECKING:
    from headgate.insight.why import Explainer, Explanation

EXAMPLES = examples(
    "why fire out/plant",
    "why fire out/plant --at 12.5s",
    "why fire t.jsonl --last --json",
    'why out/plant --inversions --over "5 min"',
    "why t.jsonl --decision 250",
    "--server http://127.0.0.1:8440 why fire",
)

At = Annotated[
    str | None,
    typer.Option(
        "--at", help='The result on its way then, as "12.5 s" from the start.', show_default=False, metavar="TIME"
    ),
]
Worst = Annotated[bool, typer.Option("--worst", help="The result that took longest; so if nothing else is asked.")]
Last = Annotated[bool, typer.Option("--last", help="The newest result.")]
Decision = Annotated[
    int | None,
    typer.Option("--decision", help="Explain the decision of this number, from 1.", show_default=False, metavar="N"),
]
Inversions = Annotated[
    bool, typer.Option("--inversions", help="Who delayed classes that answer later than less important ones.")
]
Over = Annotated[
    str | None,
    typer.Option(
        "--over",
        help="With --inversions: the newest so much of the record; the last minute if left out.",
        show_default=False,
        metavar="TIME",
    ),
]
Equal = Annotated[bool, typer.Option("--equal", help="With --inversions: equal response times count, too.")]


def why(
    query: Annotated[
        str | None,
        typer.Argument(
            help="A query; left out with --decision or --inversions.", show_default=False, metavar="[QUERY]"
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Argument(
            help="The directory of a run, also while it runs, or a trace that --record wrote.",
            show_default=False,
            metavar="DIR|TRACE",
        ),
    ] = None,
    at: At = None,
    worst: Worst = False,
    last: Last = False,
    decision: Decision = None,
    inversions: Inversions = False,
    over: Over = None,
    equal: Equal = False,
    policy: FilePolicies = None,
    as_json: AsJson = False,
) -> None:
    """Say what a result of a query waited for, run by run and in one sentence.

    The directory of a run keeps its last ten minutes; without one, the server that --server or HEADGATE_SERVER names is
    asked. With --inversions: which runs delayed a class that answers later
    than a less important one, and what starving queries wait behind. With --decision: the numbers of the unit that was
    chosen, and of the runner-up.
    """
    asked = {"--at": at is not None, "--worst": worst, "--last": last, "--decision": decision is not None}
    given = [name for name, said in {**asked, "--inversions": inversions}.items() if said]
    if len(given) > 1:
        raise HeadgateError(f"{' and '.join(given)} exclude each other", hint="keep one of them")
    for name, said in {"--over": over is not None, "--equal": equal}.items():
        if said and not inversions:
            raise HeadgateError(f"{name} belongs to --inversions", hint="add --inversions, or leave it out")
    if _ask_server(query, source, inversions, decision):
        _of_server(query, at, last, inversions, over, as_json)
        return
    if query is None:
        raise HeadgateError("QUERY and DIR are missing", hint="write headgate why QUERY DIR, or name a --server")
    if decision is not None:
        _decision(_only(query, source, f"--decision {decision}"), decision, policy or (), as_json)
    elif inversions:
        _inversions(_only(query, source, "--inversions"), over, equal, policy or (), as_json)
    else:
        _result(query, source, at, last, policy or (), as_json)


def _ask_server(query: str | None, source: Path | None, inversions: bool, decision: int | None) -> bool:
    """Whether to ask a server: one is named, and no directory or trace."""
    if decision is not None:
        if query is None:
            raise HeadgateError("--decision needs a directory or a trace", hint="write headgate why DIR --decision N")
        return False
    given = query if inversions else source
    return is_named() and ask_server(given, "DIR")


def _of_server(
    query: str | None, at: str | None, last: bool, inversions: bool, over: str | None, as_json: bool
) -> None:
    if inversions:
        insight.inversions(over, as_json)
    elif query is None:
        raise HeadgateError("QUERY is missing", hint="write headgate why QUERY, or add --inversions")
    else:
        insight.why(query, at, last, as_json)


def _only(path: str, other: Path | None, option: str) -> Path:
    """The directory or trace, which stands alone."""
    if other is not None:
        query, source = (other, path) if Path(path).exists() and not other.exists() else (path, other)
        raise HeadgateError(
            f"{option.split()[0]} asks about no query, found '{query}'", hint=f"write headgate why {source} {option}"
        )
    return Path(path)


def _result(
    query: str, source: Path | None, at: str | None, last: bool, policies: list[str] | tuple[()], as_json: bool
) -> None:
    if source is None:
        raise HeadgateError(
            "one argument is missing", hint=f"write headgate why QUERY {query}, or add --decision N or --inversions"
        )
    moment = None if at is None else read_moment(at, "--at")
    explanation = _explained(_explainer(source, policies), query, source, moment, last)
    origin = explanation[0].history.origin
    if as_json:
        from headgate.insight.json_trees import explanation_tree

        show_json(explanation_tree(explanation[1], origin))
    else:
        why_output.show_explanation(explanation[1], origin)


def _explained(
    explainer: Explainer, query: str, source: Path, moment: float | None, last: bool
) -> tuple[Explainer, Explanation]:
    try:
        if moment is not None:
            return explainer, explainer.at(query, moment)
        return explainer, explainer.pick(query, "last" if last else "worst")
    except HeadgateError as error:
        raise error.at(str(source)) from None


def _explainer(source: Path, policies: list[str] | tuple[()]) -> Explainer:
    from headgate.insight.why import Explainer

    return Explainer(read_source(source, load_given(policies)))


def _inversions(source: Path, over: str | None, equal: bool, policies: list[str] | tuple[()], as_json: bool) -> None:
    from headgate.insight.inversions import MINUTE, find_inversions, tree

    stretch = MINUTE if over is None else read_duration(over, "--over")
    explainer = _explainer(source, policies)
    found = find_inversions(explainer, stretch, equal=equal)
    if as_json:
        show_json(tree(found, explainer.history.origin))
    else:
        why_output.show_inversions(found)


def _decision(source: Path, number: int, policies: list[str] | tuple[()], as_json: bool) -> None:
    if number < 1:
        raise HeadgateError(f"decisions are counted from 1, found {number}", hint="write 1 for the first")
    told = _recorded(source, number) if source.is_dir() else _replayed(source, number, policies)
    if as_json:
        show_json({"decision": number, **asdict(told)})
    else:
        why_output.show_decision(number, told)


def _replayed(trace: Path, number: int, policies: list[str] | tuple[()]) -> Why:
    from headgate.core.trace import explain_decision

    given = load_given(policies)
    return read_trace(trace, lambda lines: explain_decision(lines, number, given))


def _recorded(directory: Path, number: int) -> Why:
    runs = read_source(directory).runs_so_far()
    found = next((run.why for run in runs if run.decision == number and run.why is not None), None)
    if found is None:
        first, last = min(run.decision for run in runs), max(run.decision for run in runs)
        raise HeadgateError(
            f"there is no decision {number}", where=str(directory), hint=f"the record has those from {first} to {last}"
        )
    return found
