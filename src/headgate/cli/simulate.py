"""`headgate simulate`: one workload under some policies, side by side."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer
from rich.text import Text

from headgate.cli import options
from headgate.cli.console import examples, interrupted, note, show, show_json, stdout
from headgate.cli.progress import Bar
from headgate.cli.report_tables import MARK, marked, report_tables
from headgate.cli.signals import raised
from headgate.cli.targets_table import targets_table
from headgate.model import HeadgateError
from headgate.model.number_text import duration as duration_text

if TYPE_CHECKING:
    from headgate.metrics import Records, Report
    from headgate.workload import Workload

DEFAULT = ("fcfs", "hnr")
EXAMPLES = examples(
    "simulate FILE --policy hr --policy hnr",
    'simulate FILE --policy "bsd, train=10" --plot out.png',
    'simulate FILE --duration "10 s" --seed 7 --json',
    "simulate FILE --policy hnr --record t.jsonl",
    'simulate FILE --policy hnr --duration "10 h" --aggregate',
)

RecordsOption = Annotated[
    Path | None,
    typer.Option("--records", help="Write one row per result: .parquet or .csv.", show_default=False, metavar="FILE"),
]
RecordOption = Annotated[
    Path | None,
    typer.Option(
        "--record",
        help="Record the decisions for replay and why; a file per policy.",
        show_default=False,
        metavar="FILE",
    ),
]
AggregateOption = Annotated[
    bool,
    typer.Option(
        "--aggregate",
        help="Count results as they come instead of keeping them, for very long runs: percentiles are up to 0.5 % off.",
    ),
]


def simulate(
    file: options.File,
    policy: options.Policies = None,
    as_json: options.AsJson = False,
    plot: options.Plot = None,
    records: RecordsOption = None,
    record: RecordOption = None,
    seed: options.Seed = None,
    duration: options.Duration = None,
    fuse: options.FuseOption = None,
    bin: options.Bin = None,
    equal_inverts: options.EqualInverts = False,
    path: options.SimulationPath = "auto",
    aggregate: AggregateOption = False,
) -> None:
    """Simulate a workload under one or more policies and show how they did.

    Without --policy: fcfs and hnr. All policies see the same arrivals, costs and filter outcomes. Ctrl-C ends it and
    shows the policies that are finished. Where compiled code computed them, the first line says so.
    """
    chosen = options.check_policies(policy or DEFAULT)
    options.check_path(path)
    if aggregate and (plot or records or record):
        option = "--plot" if plot else "--records" if records else "--record"
        raise HeadgateError(f"{option} needs results, and --aggregate keeps none", hint="leave one of them out")
    width = options.check_bin(bin)
    options.check_plot(plot)
    options.check_output(records, "--records", ("parquet", "csv"))
    options.check_output(record, "--record")
    workload = options.load_simulated(file, seed, duration, fuse, bin=width, any_size=aggregate)
    options.check_isolated(chosen, workload)
    how = _How(trace_files(record, chosen), width, path, aggregate, equal_inverts)
    runs, complete = _simulate_all(workload, chosen, how)
    if runs:
        _report(workload, runs, as_json)
        write_outputs(workload, {policy: run.records for policy, run in runs.items()}, plot, records, width)
    if not complete:
        raise interrupted(len(runs), len(chosen))


@dataclass(frozen=True, slots=True)
class _How:
    """What options say about simulating and measuring."""

    traces: Mapping[str, Path]
    bin: float
    path: str
    aggregate: bool
    equal_inverts: bool


@dataclass(frozen=True, slots=True)
class _Simulated:
    """What a simulation gave; the report is computed when all are done."""

    records: Records
    report: Callable[[], Report]


def trace_files(record: Path | None, policies: Sequence[str]) -> dict[str, Path]:
    """Where each policy's decisions go: with several policies, their names go before the extension.

    >>> [str(path) for path in trace_files(Path("t.jsonl"), ["hr", "bsd, train=10"]).values()]
    ['t.hr.jsonl', 't.bsd-train-10.jsonl']
    """
    if record is None:
        return {}
    if len(policies) == 1:
        return {policies[0]: record}
    names: list[str] = []
    for policy in policies:
        name = re.sub(r"[^\w.]+", "-", policy).strip("-.")
        names.append(name if name not in names else f"{name}-{len(names) + 1}")
    return {
        policy: record.with_name(f"{record.stem}.{name}{record.suffix}")
        for policy, name in zip(policies, names, strict=True)
    }


def write_outputs(
    workload: Workload, runs: Mapping[str, Records], plot: Path | None, records: Path | None, bin: float
) -> None:
    """Write the picture and the table of results, if options ask for them."""
    if plot is not None:
        from headgate.metrics.pictures.response_times import draw

        draw(runs, plot, workload=workload.name, bin=bin)
        note(f"wrote {plot}")
    if records is not None:
        _write_records(runs, records)
        note(f"wrote {records}")


def show_reports(
    workload: Workload, reports: Mapping[str, Report], by: str | None = None, compiled: Sequence[str] = ()
) -> None:
    """Show what was simulated, and for which policies by compiled code; the tables of measures; what marks mean."""
    path = ""
    if compiled:
        path = ", compiled" if len(compiled) == len(reports) else f", compiled: {', '.join(compiled)}"
    show(Text(_title(workload) + path, "bold"))
    for table in report_tables(reports, stdout().width, by):
        show("", table)
    if marked(reports, by):
        show("", f"{MARK} best of its column")
    if (met := targets_table(workload, reports)) is not None:
        show("", "how much of the time each target was met", "", met)


def _title(workload: Workload) -> str:
    queries, cores = len(workload.queries), workload.cores
    return (
        f"{workload.name}: {duration_text(workload.duration)}, {queries} {'query' if queries == 1 else 'queries'} "
        f"on {cores} {'core' if cores == 1 else 'cores'}, seed {workload.seed}"
    )


def _simulate_all(workload: Workload, policies: Sequence[str], how: _How) -> tuple[dict[str, _Simulated], bool]:
    """The records of the policies that finished, and whether all of them did."""
    runs: dict[str, _Simulated] = {}
    try:
        with raised(), Bar(len(policies)) as bar:
            for number, policy in enumerate(policies):
                runs[policy] = _simulate_one(workload, policy, how, bar, number)
                if policy in how.traces:
                    note(f"wrote {how.traces[policy]}")
    except KeyboardInterrupt:
        return runs, False
    return runs, True


def _simulate_one(workload: Workload, policy: str, how: _How, bar: Bar, number: int) -> _Simulated:
    from headgate import sim
    from headgate.metrics import measure

    def progress(share: float) -> None:
        bar.at(number + share, policy)

    if how.aggregate:
        counted = sim.aggregate(workload, policy, progress=progress, bin=how.bin, path=how.path)
        return _Simulated(counted.records, partial(counted.report, equal_inverts=how.equal_inverts))
    trace = how.traces.get(policy)
    with ExitStack() as files:
        lines: TextIO | None = files.enter_context(trace.open("w", encoding="utf-8")) if trace else None
        records = sim.simulate(workload, policy, trace=lines, progress=progress, bin=how.bin, path=how.path)
    return _Simulated(records, partial(measure, records, how.bin, equal_inverts=how.equal_inverts))


def _report(workload: Workload, runs: Mapping[str, _Simulated], as_json: bool) -> None:
    reports = {policy: run.report() for policy, run in runs.items()}
    paths = {policy: run.records.path for policy, run in runs.items()}
    if as_json:
        trees = {policy: {"path": paths[policy], **report.to_json()} for policy, report in reports.items()}
        show_json({"workload": workload.name, "policies": trees})
    else:
        show_reports(workload, reports, compiled=[policy for policy, path in paths.items() if path == "compiled"])


def _write_records(runs: Mapping[str, Records], path: Path) -> None:
    """Write the results of one run as a table; of several with a column that names the policy."""
    import pyarrow as pa

    from headgate.metrics.records import result_table

    tables = [run.table() for run in runs.values()]
    if len(runs) > 1:
        labels = [pa.array([policy] * len(rows), pa.string()) for policy, rows in zip(runs, tables, strict=True)]
        tables = [rows.add_column(0, "policy", label) for rows, label in zip(tables, labels, strict=True)]
    result_table.write(pa.concat_tables(tables), path)
