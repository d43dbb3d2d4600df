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
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from headgate.cli import options
from headgate.cli.background import Background
from headgate.cli.console import examples, note, show, show_json
from headgate.cli.ending import end
from headgate.cli.number_format import duration as duration_text
from headgate.cli.number_format import read_duration
from headgate.cli.signals import Interruption, exit_code, noted
from headgate.cli.spark_start import start_spark
from headgate.cli.status_table import judged, status_table
from headgate.plan.fusion import Fuse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headgate.spark.session import Session
    from headgate.spark.status import Status
    from headgate.spark.workload import Schedule
    from headgate.workload import Workload

EXAMPLES = examples(
    "run FILE",
    'run FILE --policy "hnr, train=500" --workers 4 --fuse off --for 60s --json',
    "run FILE --master spark://host:7077 --dir /data/plant",
)
POLL_INTERVAL = 0.05  # seconds between two looks at whether the run is over
UPDATE = 0.5  # seconds between two pictures
_BESIDE = (
    7  # lines of a picture that are neither rows nor workers: title, three of heading, what is left out, two empty
)

PolicyOption = Annotated[
    str | None,
    typer.Option(
        "--policy",
        "-p",
        help='The policy with its settings, as "bsd, train=10" or ./mine.py:Mine.',
        show_default="mbd, inversion=dsp",
        metavar="POLICY",
        autocompletion=options.policy_names,
    ),
]
Workers = Annotated[int, typer.Option("--workers", help="Runs at a time.", metavar="N")]
Master = Annotated[str, typer.Option("--master", help="Which Spark: this machine, or a cluster.", metavar="URL")]
Dir = Annotated[
    Path | None,
    typer.Option(
        "--dir", help="Where data and results are kept; out/NAME if not given.", show_default=False, metavar="DIR"
    ),
]
For = Annotated[
    str | None,
    typer.Option(
        "--for", help='How long to run, as "60 s"; Spark\'s start does not count.', show_default=False, metavar="TIME"
    ),
]
Record = Annotated[
    Path | None,
    typer.Option("--record", help="Record the decisions for replay and why.", show_default=False, metavar="FILE"),
]


def run(
    file: options.File,
    policy: PolicyOption = None,
    workers: Workers = 2,
    fuse: options.FuseOption = None,
    master: Master = "local[*]",
    directory: Dir = None,
    lasting: For = None,
    as_json: options.AsJson = False,
    record: Record = None,
) -> None:
    """Run a workload on Spark and show how it does.

    Ends when --for is over, when all sources have ended and nothing waits, or at Ctrl-C. Runs under way get a few
    seconds and are cancelled then, which loses nothing: what waits is kept, and a second run on the same directory
    goes on where the first one stood. A second Ctrl-C ends it at once.
    """
    from headgate.spark import arguments
    from headgate.spark.store.directory import check_directory

    limit = math.inf if lasting is None else read_duration(lasting, "--for")
    arguments.workers(workers, "--workers")
    if policy is not None:
        options.check_policies([policy])
    options.check_output(record, "--record")
    workload = options.load(file, fuse=fuse)
    place = Path("out") / workload.name if directory is None else directory
    _check(workload, file, policy, place)
    check_directory(place)
    settings = {"directory": place, "workers": workers, **({} if policy is None else {"policy": policy})}
    if fuse is not None or workload.fuse is not Fuse.OFF:  # a file that says nothing leaves it to the engine
        settings["fuse"] = workload.fuse
    status, interruption = _run(workload, master, settings, limit, record, quiet=as_json)
    if as_json:
        show_json(status.to_json())
    else:
        _show(workload, status)
    _note_failures_and_paths(status, place, record, interruption)
    if interruption:
        raise typer.Exit(exit_code())


def _check(workload: Workload, file: Path, policy: str | None, place: Path) -> None:
    """Refuse what is wrong with the file, by its line, before Spark takes its time to start."""
    from headgate.sim.policy_fit import policy_problems
    from headgate.spark.engine.engine import DEFAULT_POLICY
    from headgate.spark.workload_checks import engine_problems
    from headgate.workload.workload_locations import WorkloadLocations

    places = WorkloadLocations.of_file(file)
    problems = engine_problems(workload, places, directory=place)
    problems += policy_problems(workload, places, [DEFAULT_POLICY if policy is None else policy])
    if len(problems) > 1:
        note(f"headgate: {len(problems)} things are wrong; headgate check {shlex.quote(str(file))} --engine tells all")
    for error in places.by_line(problems):
        raise error


def _run(
    workload: Workload, master: str, settings: dict[str, Any], limit: float, record: Path | None, *, quiet: bool
) -> tuple[Status, Interruption]:
    """Run the workload; return the last status, and whether a signal ended it."""
    from headgate.spark.workload import Schedule, ended_before, left_out

    with ExitStack() as stack:
        if record is not None:
            settings["record"] = stack.enter_context(record.open("w", encoding="utf-8")).write
        spark = start_spark(master, settings["directory"] / "spark.log")
        # In another thread, so that a signal is answered at once whatever Spark does.
        session = Background(lambda: _open(workload, spark, settings)).result()
        interruption = stack.enter_context(noted())
        for name in ended_before(session):
            note(f"stream '{name}' ended in an earlier run and gives nothing more; choose another --dir to repeat it")
        if unfit := left_out(workload.changes):
            note(f"left out {unfit} changes of rates, costs or selectivities: only the simulator can make them")
        note(f"running {workload.name}: Ctrl-C stops it")
        try:
            seconds = _watch(session, Schedule.of(workload), limit, interruption, quiet=quiet)
        finally:
            status = end(session, spark.stop)
        return replace(status, seconds=seconds), interruption


def _open(workload: Workload, spark: SparkSession, settings: dict[str, Any]) -> Session:
    from headgate.spark.workload import open_workload

    try:
        return open_workload(workload, spark=spark, **settings)
    except BaseException:
        spark.stop()
        raise


def _watch(session: Session, schedule: Schedule, limit: float, interruption: Interruption, *, quiet: bool) -> float:
    """Poll the session until the run is over; return how many seconds that took."""
    began = time.monotonic()
    console = Console(stderr=True, highlight=False)
    with ExitStack() as stack:
        live = None
        if console.is_terminal and not quiet:
            live = stack.enter_context(Live(console=console, auto_refresh=False, transient=True))
        following = 0.0
        changes = Changes(session, schedule)
        while True:
            seconds = time.monotonic() - began
            changes.advance(seconds)
            over = seconds >= limit or (session.source_thread.ended and session.engine.drained())
            if over or interruption:
                return seconds
            if live is not None and seconds >= following:
                live.update(_picture(session.status(), seconds, console.height), refresh=True)
                took = time.monotonic() - began - seconds
                following = seconds + max(UPDATE, 10 * took)  # looking must not cost what it looks at
            time.sleep(min(POLL_INTERVAL, max(0.0, limit - seconds)))


class Changes:
    """Applies changes that are due, in another thread: one may wait until runs have ended, and --for must not."""

    def __init__(self, session: Session, schedule: Schedule) -> None:
        self._session, self._schedule = session, schedule
        self._under_way: Background[list[str]] | None = None

    def advance(self, seconds: float) -> None:
        """Begin the changes that are due so many seconds after the start, and note those that were refused."""
        if self._under_way is not None and self._under_way.ended(0.0):
            for refused in self._under_way.result():
                note(refused)
            self._under_way = None
        if self._under_way is None and self._schedule.is_due(seconds):
            self._under_way = Background(lambda: self._schedule.advance(self._session, seconds))


def _picture(status: Status, seconds: float, height: int) -> Group:
    workers = [Text(f"worker {number}: {doing or 'idle'}") for number, doing in enumerate(status.doing)]
    failures = [Text(failure) for failure in _source_failures(status)]
    table = status_table(status, height - len(workers) - len(failures) - _BESIDE)
    running = sum(line.state == "running" for line in status.queries)
    head = Text(
        f"{seconds:.0f} s under {status.policy}, {_counted(status)}, {running} queries running; {judged(status)}"
    )
    return Group(head, table, Text(judged(status)), *workers, *failures)


def _source_failures(status: Status) -> list[str]:
    return [f"the source of stream '{stream}' failed: {error}" for stream, error in status.source_errors.items()]


def _show(workload: Workload, status: Status) -> None:
    queries = len(status.queries)
    lasted = f"{duration_text(round(status.seconds, 1))} under {status.policy}"
    title = f"{workload.name}: {lasted}, {queries} {'query' if queries == 1 else 'queries'}, {_counted(status)}"
    show(Text(title, "bold"), "", status_table(status))
    starving = status.report().starvation.rising
    sentences = [judged(status), f"starving: {', '.join(starving)}" if starving else ""]
    if any(sentences):
        show("", Text("; ".join(filter(None, sentences))))


def _counted(status: Status) -> str:
    return f"{status.runs:,} runs, {status.spark_jobs:,} Spark jobs"


def _note_failures_and_paths(status: Status, place: Path, record: Path | None, interruption: Interruption) -> None:
    """Print what failed, what is left to do, and where results and logs are."""
    for failure in _source_failures(status):
        note(failure)
    for stream, text in status.source_notes.items():
        note(f"stream '{stream}': {text}")
    for line in status.queries:
        if line.error:
            note(f"query '{line.name}' is suspended: {line.error}")
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
