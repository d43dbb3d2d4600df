"""`headgate compare`: every policy that fits a workload, ranked by one measure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from headgate.cli import options
from headgate.cli.console import examples, interrupted, note, show, show_json
from headgate.cli.progress import Bar
from headgate.cli.regret import candidates_of, in_words, regrets
from headgate.cli.signals import raised
from headgate.cli.simulate import show_reports
from headgate.model import HeadgateError

if TYPE_CHECKING:
    from headgate.cli.parallel_simulations import Finished
    from headgate.metrics import Report
    from headgate.workload import Workload

EXAMPLES = examples(
    "compare FILE",
    "compare FILE --by classes.critical.response_time.p95 --plot ranking.png",
    'compare FILE --policy hnr --policy "bsd, train=10" --jobs 2 --json',
    'compare FILE --policy "adaptive, select=ucb" --regret --by response_time.mean',
)

By = Annotated[str, typer.Option("--by", help="The measure that ranks, by its dotted path.", metavar="MEASURE")]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", help="Processes at a time; one per core if not given.", show_default=False, metavar="N"
    ),
]
RegretOption = Annotated[
    bool,
    typer.Option("--regret", help="Simulate the candidates of adaptive too, and tell how far it is from the best."),
]
PlotOption = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        help="Draw the ranking, and response times over time, to this file: .png, .svg or .pdf.",
        show_default=False,
        metavar="FILE",
    ),
]


def compare(
    file: options.File,
    by: By = "slowdown.mean",
    policy: options.Policies = None,
    jobs: Jobs = None,
    as_json: options.AsJson = False,
    plot: PlotOption = None,
    regret: RegretOption = False,
    seed: options.Seed = None,
    duration: options.Duration = None,
    fuse: options.FuseOption = None,
    bin: options.Bin = None,
    equal_inverts: options.EqualInverts = False,
) -> None:
    """Simulate every policy that fits a workload, in parallel, and rank them by a measure.

    Ctrl-C ends it and ranks what is finished. Measures of a class or query are reached by its name.
    """
    given = options.check_policies(policy or [])
    width = options.check_bin(bin)
    options.check_plot(plot)
    if jobs is not None and jobs < 1:
        raise HeadgateError(f"--jobs must be at least 1, found {jobs}", hint="leave it out for one per core")
    workload = options.load_simulated(file, seed, duration, fuse, bin=width)
    check_measure(workload, by)
    options.check_isolated(given, workload)
    chosen, left_out = (given, {}) if given else _fitting(workload)
    candidates = candidates_of(chosen) if regret else {}
    chosen = list(dict.fromkeys([*chosen, *(name for names in candidates.values() for name in names)]))
    finished, complete = _run(workload, chosen, jobs, width, plot is not None, equal_inverts)
    ranking = rank({policy: result.report for policy, result in finished.items() if result.report}, by)
    failed = {policy: result.error for policy, result in finished.items() if result.error}
    found = regrets(candidates, ranking, by)
    if as_json:
        tree = _as_json(workload, by, ranking, left_out, failed, chosen)
        show_json({**tree, "regret": {each.policy: each.to_json() for each in found}} if regret else tree)
    else:
        _show(workload, ranking, by, left_out if ranking or complete else {}, failed)
        for each in found:
            show("", Text(in_words(each, by)))
    if plot is not None and ranking:
        _draw(workload, ranking, by, finished, plot, width)
    if not complete:
        raise interrupted(len(finished), len(chosen))
    if failed and not ranking:
        raise typer.Exit(2)


def check_measure(workload: Workload, by: str) -> None:
    """Refuse a measure that no run of the workload has, before the first run."""
    from headgate.metrics import QueryRecords, Records, measure, smaller_is_better

    nothing = [QueryRecords(query.name, 1.0, query.qos, [(0.0, query.query_class)]) for query in workload.queries]
    measure(Records(nothing, {query_class.name: query_class.priority for query_class in workload.classes})).value(by)
    smaller_is_better(by)


def rank(reports: Mapping[str, Report], by: str) -> dict[str, Report]:
    """Reports from the best to the worst; those without the measure last, equal ones by name."""
    from headgate.metrics import smaller_is_better

    sign = 1.0 if smaller_is_better(by) else -1.0

    def place(policy: str) -> tuple[float, str]:
        value = reports[policy].value(by)
        return (math.inf if value is None else sign * value, policy)

    return {policy: reports[policy] for policy in sorted(reports, key=place)}


def _fitting(workload: Workload) -> tuple[list[str], dict[str, str]]:
    from headgate.cli.policy_fit import misfit
    from headgate.policies.registry import policies

    registered = policies()
    left_out = {name: reason for name, policy in registered.items() if (reason := misfit(policy, workload))}
    return [name for name in registered if name not in left_out], left_out


def _run(
    workload: Workload, policies: Sequence[str], jobs: int | None, bin: float, keep: bool, equal_inverts: bool
) -> tuple[dict[str, Finished], bool]:
    """The results of the policies that finished, and whether all of them did."""
    from headgate.cli.parallel_simulations import run_all

    finished: dict[str, Finished] = {}
    try:
        with raised(), Bar(len(policies), patience=0.0) as bar:
            for policy, result in run_all(workload, policies, jobs, bin, keep, equal_inverts):
                finished[policy] = result
                bar.at(len(finished), policy)
    except KeyboardInterrupt:
        return finished, False
    return finished, True


def _show(
    workload: Workload, ranking: Mapping[str, Report], by: str, left_out: Mapping[str, str], failed: Mapping[str, str]
) -> None:
    if ranking:
        show_reports(workload, ranking, by)
    for policy, reason in left_out.items():
        note(f"left out {policy}: {reason}")
    for policy, error in failed.items():
        note(f"failed {policy}: {error}")


def _draw(
    workload: Workload, ranking: Mapping[str, Report], by: str, finished: Mapping[str, Finished], plot: Path, bin: float
) -> None:
    from headgate.metrics import measure_at
    from headgate.metrics.pictures.ranking import Ranking, draw

    values = {policy: report.value(by) for policy, report in ranking.items()}
    kept = {policy: records for policy in ranking if (records := finished[policy].records)}
    draw(Ranking(workload.name, measure_at(by), values), kept, plot, bin=bin)
    note(f"wrote {plot}")


def _as_json(
    workload: Workload,
    by: str,
    ranking: Mapping[str, Report],
    left_out: Mapping[str, str],
    failed: Mapping[str, str],
    asked: Sequence[str],
) -> dict[str, Any]:
    return {
        "workload": workload.name,
        "by": by,
        "ranking": [{"policy": policy, "value": report.value(by)} for policy, report in ranking.items()],
        "policies": {policy: report.to_json() for policy, report in ranking.items()},
        "left_out": dict(left_out),
        "failed": dict(failed),
        "unfinished": [policy for policy in asked if policy not in ranking and policy not in failed],
    }
