"""`headgate run`: run a workload on Spark and show its live status."""

from __future__ import annotations

import math
import shlex
import signal
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from headgate import logs
from headgate.cli import options
from headgate.cli.console import INTERRUPTED, examples, note, show, show_json, stdout
from headgate.cli.live_display import counted_runs, display, source_failures
from headgate.cli.number_format import duration as duration_text
from headgate.cli.number_format import read_duration
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
EXECUTORS = 20.0  # seconds within which a cluster should give one

_logger = logs.logger("cli")

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
    str | None, typer.Option("--for", help='How long to run, as "60 s".', show_default=False, metavar="TIME")
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

    Ends when --for is over, when all sources have ended and nothing waits, or at Ctrl-C: then running jobs end first.
    A second run on the same directory goes on where the first one stood.
    """
    from headgate.spark import arguments
    from headgate.spark.store.directory import DataDirectory

    limit = math.inf if lasting is None else read_duration(lasting, "--for")
    arguments.workers(workers, "--workers")
    if policy is not None:
        options.check_policies([policy])
    options.check_output(record, "--record")
    workload = options.load(file, fuse=fuse)
    place = Path("out") / workload.name if directory is None else directory
    _check(workload, file, policy, place)
    DataDirectory(place).close()  # refuses one that is in use or not ours before Spark takes its time to start
    settings = {"directory": place, "workers": workers, **({} if policy is None else {"policy": policy})}
    if fuse is not None or workload.fuse is not Fuse.OFF:  # a file that says nothing leaves it to the engine
        settings["fuse"] = workload.fuse
    status, stopped = _run(workload, master, settings, limit, record, quiet=as_json)
    if as_json:
        show_json(status.to_json())
    else:
        _show(workload, status)
    _note_failures_and_paths(status, place, record)
    if stopped:
        raise typer.Exit(INTERRUPTED)


def _check(workload: Workload, file: Path, policy: str | None, place: Path) -> None:
    """Refuse what is wrong with the file, by its line, before Spark takes its time to start."""
    from headgate.sim.policy_fit import policy_problems
    from headgate.spark.engine.stored_settings import DEFAULT_POLICY
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
) -> tuple[Status, bool]:
    """Run the workload; return the last status, and whether Ctrl-C ended it."""
    from headgate.spark.workload import Schedule, ended_before, left_out, open_workload

    interrupts = Interrupts()
    with ExitStack() as stack:
        if record is not None:
            settings["record"] = stack.enter_context(record.open("w", encoding="utf-8")).write
        spark = start_spark(master, settings["directory"] / "spark.log")
        stack.callback(spark.stop)
        session = open_workload(workload, spark=spark, **settings)
        with interrupts, stack.pop_all() as rest:
            rest.callback(session.close)
            for name in ended_before(session):
                note(
                    f"stream '{name}' ended in an earlier run and gives nothing more; choose another --dir to repeat it"
                )
            if unfit := left_out(workload.changes):
                note(f"left out {unfit} changes of rates, costs or selectivities: only the simulator can make them")
            note(f"running {workload.name}: Ctrl-C stops it")
            seconds = _watch(session, Schedule.of(workload), limit, interrupts, quiet=quiet)
            if interrupts.seen:
                note("stopping: running jobs end first")
        return replace(session.close(), seconds=seconds), interrupts.seen  # closed by now: how it stood at the end


def _watch(session: Session, schedule: Schedule, limit: float, interrupts: Interrupts, *, quiet: bool) -> float:
    """Poll the session until the run is over; return how many seconds that took."""
    began = time.monotonic()
    with display(session.directory / "spark.log", quiet=quiet, prints_results=_prints(session)) as shown:
        while True:
            seconds = time.monotonic() - began
            for refused in schedule.advance(session, seconds):
                shown.note(refused)
            over = seconds >= limit or (session.sources.thread.ended and session.engine.drained())
            if over or interrupts.seen:
                return seconds
            shown.update(session.status, seconds)
            time.sleep(min(POLL_INTERVAL, max(0.0, limit - seconds)))


def _prints(session: Session) -> bool:
    """Whether a query's sink prints results."""
    return any(line.sink.startswith("console") for line in session.status().queries)


class Interrupts:
    """Notes Ctrl-C and a polite kill instead of breaking off; a second one breaks off.

    PySpark's own handler would cancel the jobs that are to end. What was there when this was made comes back.
    """

    def __init__(self) -> None:
        self.seen = False
        self._before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def __enter__(self) -> Interrupts:
        for number in self._before:
            signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.seen:
            raise KeyboardInterrupt
        self.seen = True


def start_spark(master: str, log: Path) -> SparkSession:
    """Start Spark; its output and that of the JVM go to a log file."""
    from headgate.spark.jvm.settings import start
    from headgate.spark.jvm.spark_logs import spark_log_to

    note("starting Spark …")
    began = time.monotonic()
    spark = start(master, log)
    spark_log_to(spark, log)
    _logger.info("spark started", master=master, seconds=time.monotonic() - began, log=log)
    if not master.startswith("local"):
        _note_missing_executors(spark, master)
    return spark


def _note_missing_executors(spark: SparkSession, master: str) -> None:
    """Print a note if a cluster grants no executor for a while: Spark would wait silently."""
    context: Any = spark.sparkContext
    until = time.monotonic() + EXECUTORS
    while context._jsc.sc().getExecutorMemoryStatus().size() < 2:  # the driver counts
        if time.monotonic() > until:
            memory = context.getConf().get("spark.executor.memory", "1g")
            note(
                f"no executor from {master} after {EXECUTORS:g} s, waiting on: it needs a worker with a free core and "
                f"{memory} of memory (spark.executor.memory, in spark-defaults.conf or PYSPARK_SUBMIT_ARGS)"
            )
            return
        time.sleep(0.1)


def _show(workload: Workload, status: Status) -> None:
    queries = len(status.queries)
    lasted = f"{duration_text(round(status.seconds, 1))} under {status.policy}"
    title = f"{workload.name}: {lasted}, {queries} {'query' if queries == 1 else 'queries'}, {counted_runs(status)}"
    show(Text(title, "bold"), "", *status_table(status, stdout().width))
    starving = status.report().starvation.rising
    sentences = [judged(status), f"starving: {', '.join(starving)}" if starving else ""]
    if any(sentences):
        show("", Text("; ".join(filter(None, sentences))))


def _note_failures_and_paths(status: Status, place: Path, record: Path | None) -> None:
    """Print what failed, and where results and logs are."""
    for failure in source_failures(status):
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
    note(f"results: headgate results {shown} QUERY")
