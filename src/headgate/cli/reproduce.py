"""`headgate reproduce`: the documents' published results run again, published beside measured, with a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli import options
from headgate.cli.console import examples, note, show_json
from headgate.cli.resumed_tasks import run_missing
from headgate.cli.signals import exit_code
from headgate.cli.sweep import Master
from headgate.model import HeadgateError
from headgate.sweep.finished_results import FinishedResults

if TYPE_CHECKING:
    from pyspark import SparkContext

    from headgate.reproduction.catalogue import Catalogue
    from headgate.reproduction.outcome import Outcome
    from headgate.reproduction.plan import Plan, Planned
    from headgate.reproduction.tasks import Task
    from headgate.sweep.spark_tasks import SweepResult

EXAMPLES = examples(
    "reproduce --list",
    "reproduce sharaf F5 F6",
    "reproduce --full --report docs/reproduction.md",
    "reproduce carney --json",
)

DocumentArgument = Annotated[
    str | None, typer.Argument(help="Of this document only.", show_default=False, metavar="DOCUMENT")
]
Ids = Annotated[list[str] | None, typer.Argument(help="These of its results only.", show_default=False, metavar="ID")]
Full = Annotated[bool, typer.Option("--full/--quick", help="Long runs over several seeds, or short ones.")]
ListOption = Annotated[bool, typer.Option("--list", help="Show which results there are, and run nothing.")]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report", help="Write a page (Markdown) with pictures beside it.", show_default=False, metavar="FILE"
    ),
]
Out = Annotated[Path, typer.Option("--out", help="Folder in which finished runs are kept.", metavar="DIR")]
Experiments = Annotated[
    Path | None,
    typer.Option(
        "--experiments", help="Folder of the experiments, if not this checkout's.", show_default=False, metavar="DIR"
    ),
]


def reproduce(
    document: DocumentArgument = None,
    ids: Ids = None,
    full: Full = False,
    list_only: ListOption = False,
    report: Report = None,
    master: Master = "local[*]",
    as_json: options.AsJson = False,
    out: Out = Path("out/reproduce"),
    experiments: Experiments = None,
) -> None:
    """Run the documents' published results again: published beside measured, with a verdict.

    Runs are tasks of one Spark job, and equal ones of several results run once. What is finished is kept: Ctrl-C loses
    nothing, and the same command again runs only what is missing.
    """
    from headgate.reproduction.catalogue import own_folder, read_catalogue
    from headgate.reproduction.plan import plan_reproduction

    catalogue = read_catalogue(experiments or own_folder())
    chosen = catalogue.chosen(document, ids or ())
    if list_only:
        _show_list(chosen, as_json)
        return
    plan = plan_reproduction(chosen, catalogue.workloads, full=full)
    finished = FinishedResults(out)
    failed, complete = _run(plan, finished, master, catalogue.folder.name)
    judged = _judge(plan.planned, finished.of(plan.tasks), failed)
    if report is not None and complete:
        _write_report(report, catalogue, judged, full)
    _show(judged, as_json)
    _end(plan, judged, finished, complete)


@dataclass(frozen=True, slots=True)
class Judged:
    """The experiments that have a verdict, and why others have none."""

    outcomes: Sequence[Outcome]
    failed: Mapping[tuple[str, str], str]  # errors by document and id
    unfinished: Sequence[tuple[str, str]]


def _show_list(chosen: Sequence[Any], as_json: bool) -> None:
    if as_json:
        fields = ("document", "id", "source", "claim")
        show_json({"experiments": [{name: getattr(each, name) for name in fields} for each in chosen]})
        return
    from headgate.cli.reproduce_tables import show_experiments

    show_experiments(chosen)


def _run(plan: Plan, finished: FinishedResults, master: str, package: str) -> tuple[dict[str, str], bool]:
    """Run what is missing; say which experiment is finished as soon as it is."""

    def run(context: SparkContext, missing: Sequence[Task]) -> Iterator[SweepResult]:
        from headgate.reproduction.tasks import run_tasks

        return run_tasks(context, plan.workloads, missing, package)

    present = finished.of(plan.tasks)
    waiting = {planned.name: {*planned.all_keys} - present.keys() for planned in plan.planned}
    users: dict[str, list[str]] = {}
    for name, keys in waiting.items():
        for key in keys:
            users.setdefault(key, []).append(name)

    def told(key: str, error: str) -> str:
        for name in users[key]:
            waiting[name].discard(key)
            if not waiting[name]:
                note(f"{name}: all runs ended")
        return users[key][0]

    return run_missing(plan.tasks, finished, master, run, told=told, what="runs")


def _judge(planned: Sequence[Planned], results: Mapping[str, Mapping[str, Any]], errors: Mapping[str, str]) -> Judged:
    from headgate.reproduction.outcome import Outcome

    outcomes: list[Outcome] = []
    failed: dict[tuple[str, str], str] = {}
    unfinished: list[tuple[str, str]] = []
    for each in planned:
        name = each.experiment.document, each.experiment.id
        error = next((errors[key] for key in each.all_keys if key in errors), None)
        if error is not None:
            failed[name] = error
        elif not each.finished(results):
            unfinished.append(name)
        else:
            try:
                outcomes.append(Outcome.of(each.experiment, each.measurements(results)))
            except (HeadgateError, LookupError, ArithmeticError, TypeError, ValueError) as error_of_compare:
                failed[name] = f"cannot be compared: {error_of_compare!s}"
    return Judged(outcomes, failed, unfinished)


def _write_report(path: Path, catalogue: Catalogue, judged: Judged, full: bool) -> None:
    from headgate.reproduction.report import Circumstances, write_report

    write_report(path, catalogue, judged.outcomes, Circumstances(datetime.now(UTC).date(), full))
    note(f"wrote {path}")
    for outcome in judged.outcomes:
        if outcome.verdict != "reproduced" and not outcome.experiment.paragraph:
            note(f"{outcome.experiment.document} {outcome.experiment.id} has no paragraph that says why")


def _show(judged: Judged, as_json: bool) -> None:
    from headgate.reproduction.outcome import counts

    if as_json:
        show_json(
            {
                "results": [outcome.to_json() for outcome in judged.outcomes],
                "counts": counts(judged.outcomes),
                "failed": [
                    {"document": document, "id": id, "error": error} for (document, id), error in judged.failed.items()
                ],
                "unfinished": [{"document": document, "id": id} for document, id in judged.unfinished],
            }
        )
    elif judged.outcomes:
        from headgate.cli.reproduce_tables import show_outcomes

        show_outcomes(judged.outcomes)


def _end(plan: Plan, judged: Judged, finished: FinishedResults, complete: bool) -> None:
    for (document, id), error in judged.failed.items():
        note(f"failed {document} {id}: {error}")
    if not complete:
        done = len(finished.of(plan.tasks))
        note(f"headgate: interrupted, {done} of {len(plan.tasks)} runs finished; run it again to go on")
        raise typer.Exit(exit_code())
    if judged.failed:
        raise typer.Exit(2)
