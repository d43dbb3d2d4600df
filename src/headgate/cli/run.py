"""`headgate run`: run a workload on Spark and show its live status."""

from __future__ import annotations

import math
import shlex
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from headgate.cli import options
from headgate.cli.background import Background
from headgate.cli.console import examples, note, show, show_json, stdout
from headgate.cli.ending import end
from headgate.cli.live_display import counted_runs, display, missed_targets, source_failures
from headgate.cli.number_format import read_duration
from headgate.cli.signals import Interruption, exit_code, noted
from headgate.cli.spark_start import start_spark
from headgate.cli.status_table import judged, status_table
from headgate.cli.timed_changes import TimedChanges
from headgate.cli.warming import WarmingDisplay
from headgate.cli.workload_plan import note_plan, show_plan
from headgate.model import HeadgateError
from headgate.model.number_text import duration as duration_text
from headgate.plan.fusion import Fuse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headgate.spark.engine.engine import Progress
    from headgate.spark.session import Session
    from headgate.spark.status import Status
    from headgate.spark.workload import Schedule
    from headgate.spark.workload_changes import Changes
    from headgate.workload import Workload

EXAMPLES = examples(
    "run FILE",
    'run FILE --policy "hnr, train=500" --workers 4 --fuse off --for 60s --json',
    "run FILE --dry-run",
    "run --dir out/plant",
    "run FILE --master spark://host:7077 --dir /data/plant",
)
MOST_MISSED = 10  # lines of missed targets at the end
POLL_INTERVAL = 0.05  # seconds between two looks at whether the run is over

File = Annotated[
    Path | None,
    typer.Argument(
        help="Workload file (TOML); without one, --dir goes on with what it has.", show_default=False, metavar="FILE"
    ),
]
PolicyOption = Annotated[
    str | None,
    typer.Option(
        "--policy",
        "-p",
        help='The policy with its settings, as "bsd, train=10" or ./mine.py:Mine.',
        show_default="express",
        metavar="POLICY",
        autocompletion=options.policy_names,
    ),
]
Workers = Annotated[int, typer.Option("--workers", help="Runs at a time.", metavar="N")]
Master = Annotated[str, typer.Option("--master", help="Which Spark: this machine, or a cluster.", metavar="URL")]
Dir = Annotated[
    Path | None,
    typer.Option("--dir", help="Where everything is kept; out/NAME if not given.", show_default=False, metavar="DIR"),
]
For = Annotated[
    str | None,
    typer.Option(
        "--for", help='How long to run, as "60 s"; Spark\'s start does not count.', show_default=False, metavar="TIME"
    ),
]
Warm = Annotated[
    str | None,
    typer.Option(
        "--warm",
        help='Warm Spark up on made-up rows before sources are read, for at most so long, as "20 s".',
        show_default=False,
        metavar="TIME",
    ),
]
Record = Annotated[
    Path | None,
    typer.Option("--record", help="Record the decisions for replay and why.", show_default=False, metavar="FILE"),
]


DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what the file would change in the directory.")]


def run(
    file: File = None,
    policy: PolicyOption = None,
    workers: Workers = 2,
    fuse: options.FuseOption = None,
    master: Master = "local[*]",
    directory: Dir = None,
    lasting: For = None,
    as_json: options.AsJson = False,
    record: Record = None,
    warm: Warm = None,
    dry_run: DryRun = False,
    equal_inverts: options.EqualInverts = False,
) -> None:
    """Run a workload on Spark and show how it does.

    A directory remembers what was declared: a second run goes on where the first one stood, also without the file, and
    a file that has changed since makes the difference. Ends when --for is over, when all sources have ended and nothing
    waits, or at Ctrl-C. Runs under way get a few seconds and are cancelled then, which loses nothing: what waits is
    kept. A second Ctrl-C ends it at once.
    """
    from headgate.spark import arguments
    from headgate.spark.store.directory import check_directory

    limit = math.inf if lasting is None else read_duration(lasting, "--for")
    warm_limit = 0.0 if warm is None else read_duration(warm, "--warm")
    arguments.workers(workers, "--workers")
    if policy is not None:
        options.check_policies([policy])
    options.check_output(record, "--record")
    workload = None if file is None else options.load(file, fuse=fuse)
    place = _directory(workload, directory, dry_run=dry_run)
    check_directory(place)
    settings: dict[str, Any] = {"directory": place, "workers": workers, "policy": policy, "fuse": _fuse(workload, fuse)}
    if workload is None:
        _check_used(place)
    else:
        assert file is not None
        _check(workload, file, policy, place, workers)
        changes = _changes(workload, file, settings)
        if dry_run:
            show_plan(changes, place, as_json=as_json)
            return
        note_plan(changes, place)
    status, interruption = _run(workload, master, settings, limit, warm_limit, record, quiet=as_json)
    if as_json:
        show_json(status.to_json(equal_inverts))
    else:
        _show(str(place) if workload is None else workload.name, status, equal_inverts)
    _note_failures_and_paths(status, place, record, interruption)
    if interruption:
        raise typer.Exit(exit_code())


def _directory(workload: Workload | None, directory: Path | None, *, dry_run: bool) -> Path:
    if workload is None and dry_run:
        raise HeadgateError("--dry-run shows what a file would change, and there is none", hint="give FILE")
    if directory is not None:
        return directory
    if workload is None:
        raise HeadgateError(
            "there is nothing to run", hint="give a workload file, or --dir of a directory that was used"
        )
    return Path("out") / workload.name


def _fuse(workload: Workload | None, fuse: str | None) -> Fuse | None:
    """Which queries share jobs, if somebody says: a file that says nothing leaves it to the directory."""
    if workload is not None and (fuse is not None or workload.fuse is not Fuse.OFF):
        return workload.fuse
    return None if fuse is None else options.choice(Fuse, fuse, "value for --fuse")


def _check_used(place: Path) -> None:
    """Refuse a directory in which nothing was declared."""
    from headgate.spark.machine.definitions import STREAMS
    from headgate.spark.workload_changes import stored_state

    if not stored_state(place).catalog.get(STREAMS):
        raise HeadgateError(
            "nothing was declared in this directory", where=str(place), hint="give a workload file: headgate run FILE"
        )


def _changes(workload: Workload, file: Path, settings: dict[str, Any]) -> Changes:
    from headgate.spark.workload_changes import planned_changes

    try:
        return planned_changes(workload, settings["directory"], settings["policy"], settings["fuse"])
    except HeadgateError as error:
        raise error.at(str(file)) from None


def _check(workload: Workload, file: Path, policy: str | None, place: Path, workers: int) -> None:
    """Refuse what is wrong with the file, by its line, before Spark takes its time to start."""
    from headgate.policies.isolation_checks import check_isolation
    from headgate.policies.registry import create
    from headgate.sim.policy_fit import classes_of, policy_problems
    from headgate.spark.engine.stored_settings import usable_policy
    from headgate.spark.machine.policy_changes import SHORTEST_JOB
    from headgate.spark.workload_changes import stored_state
    from headgate.spark.workload_checks import engine_problems
    from headgate.workload.workload_locations import WorkloadLocations, by_line

    places = WorkloadLocations.of_file(file)
    problems = engine_problems(workload, places, directory=place)
    chosen = policy or usable_policy(stored_state(place))[0]
    problems += policy_problems(workload, places, [chosen])
    if len(problems) > 1:
        note(f"headgate: {len(problems)} things are wrong; headgate check {shlex.quote(str(file))} --engine tells all")
    for error in by_line(problems):
        raise error
    check_isolation(create(chosen), classes_of(workload), workers, SHORTEST_JOB, "worker")


def _run(
    workload: Workload | None,
    master: str,
    settings: dict[str, Any],
    limit: float,
    warm_limit: float,
    record: Path | None,
    *,
    quiet: bool,
) -> tuple[Status, Interruption]:
    """Run the workload; return the last status, and whether a signal ended it."""
    from headgate.spark.workload import Schedule, ended_before, left_out

    changes = () if workload is None else workload.changes
    with ExitStack() as stack:
        if record is not None:
            settings["record"] = stack.enter_context(record.open("w", encoding="utf-8")).write
        spark = start_spark(master, settings["directory"] / "spark.log")
        # In another thread, so that a signal is answered at once whatever Spark does.
        warming = WarmingDisplay(warm_limit)
        session = warming.wait(Background(lambda: _open(workload, spark, settings, warm_limit, warming.told)))
        interruption = stack.enter_context(noted())
        for name in ended_before(session):
            note(f"stream '{name}' ended in an earlier run and gives nothing more; choose another --dir to repeat it")
        if unfit := left_out(changes):
            note(f"left out {unfit} changes of rates, costs or selectivities: only the simulator can make them")
        note(f"running {settings['directory'] if workload is None else workload.name}: Ctrl-C stops it")
        try:
            seconds = _watch(session, Schedule.of(changes), limit, interruption, quiet=quiet)
        finally:
            status = end(session, spark.stop)
        return replace(status, seconds=seconds), interruption


def _open(
    workload: Workload | None, spark: SparkSession, settings: dict[str, Any], warm: float, progress: Progress
) -> Session:
    from headgate.spark.workload import open_directory, open_workload

    try:
        if workload is None:
            return open_directory(spark=spark, warm=warm, progress=progress, **settings)
        return open_workload(workload, spark=spark, warm=warm, progress=progress, **settings)
    except BaseException:
        spark.stop()
        raise


def _watch(session: Session, schedule: Schedule, limit: float, interruption: Interruption, *, quiet: bool) -> float:
    """Poll the session until the run is over; return how many seconds that took."""
    began = time.monotonic()
    with display(session.directory / "spark.log", quiet=quiet, prints_results=_prints(session)) as shown:
        changes = TimedChanges(session, schedule, shown.note)
        while True:
            seconds = time.monotonic() - began
            changes.advance(seconds)
            over = seconds >= limit or (session.sources.thread.ended and session.engine.drained())
            if over or interruption:
                return seconds
            shown.update(session.status, seconds)
            time.sleep(min(POLL_INTERVAL, max(0.0, limit - seconds)))


def _prints(session: Session) -> bool:
    """Whether a query's sink prints results."""
    return any(line.sink.startswith("console") for line in session.status().queries)


def _show(name: str, status: Status, equal_inverts: bool) -> None:
    queries = len(status.queries)
    lasted = f"{duration_text(round(status.seconds, 1))} under {status.policy}"
    title = f"{name}: {lasted}, {queries} {'query' if queries == 1 else 'queries'}, {counted_runs(status)}"
    show(Text(title, "bold"), "", *status_table(status, stdout().width))
    starving = status.report().starvation.rising
    sentences = [judged(status, equal_inverts), f"starving: {', '.join(starving)}" if starving else ""]
    if any(sentences):
        show("", Text("; ".join(filter(None, sentences))))
    if missed := missed_targets(status):
        more = [f"… and {len(missed) - MOST_MISSED:,} more; --json tells all"] if len(missed) > MOST_MISSED else []
        show("", *map(Text, [*missed[:MOST_MISSED], *more]))


def _note_failures_and_paths(status: Status, place: Path, record: Path | None, interruption: Interruption) -> None:
    """Print what failed, what is left to do, and where results and logs are."""
    for failure in source_failures(status):
        note(failure)
    for stream, text in status.source_notes.items():
        note(f"stream '{stream}': {text}")
    for line in status.queries:
        if line.error:
            note(f"query '{line.name}' is {line.state}: {line.error}")
        if line.skipped:
            note(f"query '{line.name}' fell too far behind and skipped {line.skipped:,} tuples")
    shown = shlex.quote(str(place))
    letters = sum(status.dead_letters.values())
    if letters:
        note(f"{letters:,} dead {'letter' if letters == 1 else 'letters'}: headgate dead {shown}")
    if record is not None:
        note(f"wrote {record}")
    waiting = sum(line.waiting for line in status.queries)
    left = f"{waiting:,} {'tuple waits' if waiting == 1 else 'tuples wait'}" if waiting else ""
    parts = (
        "headgate: interrupted" if interruption else "",
        f"{left} and will be done when you run it again" if left else "",
        f"results{' so far' if left else ''}: headgate results {shown} QUERY",
    )
    note("; ".join(filter(None, parts)))
