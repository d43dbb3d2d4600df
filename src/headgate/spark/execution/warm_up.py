"""Warming Spark up: the jobs of real runs on made-up rows, whose results are dropped.

The first job of a form takes ten times as long as later ones: Spark plans it, generates code and compiles it, and Java
interprets that code until it has seen enough of it. Here this happens before there are rows that wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from headgate import logs
from headgate.model import Stream
from headgate.spark.compile.fragments import Fragment
from headgate.spark.compile.frames import WholeQuery
from headgate.spark.execution.fused_jobs import FusedJobs, Rehearsal
from headgate.spark.execution.job_runner import JobRunner
from headgate.spark.execution.made_up_rows import MadeUpLog, Pace, Size
from headgate.spark.jvm.errors import one_line
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.machine.interfaces import ResumePoint
from headgate.spark.machine.tasks import RunCancelledError, WarmUp
from headgate.spark.queries.running_query import RunningQuery

# Every job once on few rows, which prepares it; then on more, as far as the time allows: filters of more than 5,000
# rows are another job. Pairs of a join grow with the square of the rows.
SIZES = (Size(100, 200), Size(1_000, 6_000))
MOST_JOINED = 1_000

_log = logs.logger("engine")


class Warmer:
    """Runs the jobs of one warm-up, one after the other, the most important first."""

    def __init__(
        self, runner: JobRunner, fused_jobs: FusedJobs, streams: Mapping[str, Stream], now: Callable[[], float]
    ) -> None:
        self._runner, self._fused_jobs, self._streams, self._now = runner, fused_jobs, streams, now

    def run(self, task: WarmUp) -> int:
        """Warm up within the time limit; returns how many units have been run at least once."""
        until, warmed = self._now() + task.limit, set()
        steps = [(number, group, size) for size in SIZES for number, group in enumerate(task.groups)]
        try:
            for done, (number, group, size) in enumerate(steps):
                task.progress(done, len(steps))
                left = until - self._now()
                if left <= 0:
                    break
                self._warm(group, size, task.label, left)
                warmed.add(number)
        except RunCancelledError:  # the engine closes
            pass
        return len(warmed)

    def _warm(self, group: Sequence[ResumePoint], size: Size, label: str, limit: float) -> None:
        """Run a unit's job once. What fails on made-up rows may well run on real ones, so it is only logged."""
        queries = tuple(point.name for point in group)
        try:
            rehearsals = list(self._rehearsals(group, size))
            self._runner.run_once(
                f"headgate-{label}",
                f"warming up: {', '.join(queries)}",
                lambda: self._fused_jobs.rehearse(rehearsals),
                label,
                limit,
                queries,
            )
        except (SparkGoneError, RunCancelledError):
            raise
        except Exception as error:
            _log.debug("warming up failed", queries=", ".join(queries), error=one_line(error))

    def _rehearsals(self, group: Sequence[ResumePoint], size: Size) -> Iterator[Rehearsal]:
        """What the queries of a unit run, all on the same made-up logs."""
        queries = [RunningQuery.of(point) for point in group]
        names = sorted({name for query in queries for name in query.streams})
        pace = Pace.of((query.query.plan for query in queries), (self._streams[name] for name in names))
        if pace.joins:
            size = Size(size.before, min(size.taken, MOST_JOINED))
        logs = {name: MadeUpLog.of(self._streams[name], size, pace, self._now()) for name in names}
        for query in queries:
            for fragment in query.fragments:
                if all(source.stream in logs for source in fragment.leaves.values()):
                    yield _rehearsal(query, fragment, logs)


def _rehearsal(query: RunningQuery, fragment: Fragment, logs: Mapping[str, MadeUpLog]) -> Rehearsal:
    """A fragment over made-up logs. Fragments that read others' results are left out: these results are made up too."""
    leaves = {place: logs[source.stream].leaf() for place, source in fragment.leaves.items()}
    local = {fragment.local(place): leaf for place, leaf in leaves.items()}
    whole = None if query.layout.whole else WholeQuery(query.query.plan, fragment.place, leaves)
    return Rehearsal(fragment.prepared, local, logs, whole)
