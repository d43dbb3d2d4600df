"""One life of the engine, without threads and without Spark: the real parts, put together as the engine does it.

Tasks wait in lanes and messages in a mailbox until somebody picks them. Whatever an operation of the disk does to the
process reaches the caller as `Crash`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from tests.spark.chaos.faultydisk import Crash
from tests.spark.chaos.ledger import Ledger, ToldCommits
from tests.spark.chaos.queries import leaves_of
from tests.spark.chaos.standins import Jobs, PlainEvaluator

from headgate.model import HeadgateError
from headgate.plan.fusion import Fuse
from headgate.spark.engine.initial_state import new_machine, new_scheduler
from headgate.spark.engine.owner import BACKGROUND_THREADS, SINK
from headgate.spark.engine.stored_settings import settle
from headgate.spark.execution.committer import Committer
from headgate.spark.execution.log_facts import LogFacts
from headgate.spark.execution.open_sinks import OpenSinks, stored_sinks
from headgate.spark.execution.performer import Performer
from headgate.spark.execution.recovery import complete
from headgate.spark.ingest.streams import StreamIngest
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.machine import messages as m
from headgate.spark.machine.context import Note, Out
from headgate.spark.machine.interfaces import key
from headgate.spark.machine.tasks import (
    BACKGROUND,
    COMMIT,
    WORKER,
    CheckQueries,
    CheckQuery,
    Evaluate,
    Prepare,
    PrepareTogether,
    Reply,
    Task,
    WriteCommit,
)
from headgate.spark.queries.fragment_logs import FragmentLogs
from headgate.spark.queries.layout import Layout
from headgate.spark.queries.running_query import RunningQuery
from headgate.spark.sinks.followers import Followers
from headgate.spark.store.directory import DataDirectory

FULL = 2_000  # bytes that may wait for a sink


class System:
    """Everything that a process holds. `now` is the time; `fault` may raise where a job would begin."""

    def __init__(
        self,
        path: Path,
        ledger: Ledger,
        now: Callable[[], float],
        fault: Callable[[], None],
        *,
        workers: int,
        policy: str | None = None,
        fuse: Fuse | None = None,
        seed: int | None = None,
    ) -> None:
        self.path, self.ledger, self.now = path, ledger, now
        self.workers = workers
        self.mailbox: deque[m.Message] = deque()
        self.lanes: dict[str, deque[Task]] = {}
        self.replies: list[Reply] = []
        self.notes: list[Note] = []
        self.layouts: dict[str, Layout] = {}  # the newest form of each query, for the oracle
        self.owing: set[str] = set()  # queries with committed rows that could not be put inside
        self.spark_is_gone = False
        self._open: list[Callable[[], None]] = []
        try:
            self._build(fault, policy, fuse, seed)
        except Exception:
            self.let_go()
            raise

    def _build(self, fault: Callable[[], None], policy: str | None, fuse: Fuse | None, seed: int | None) -> None:
        self.directory = DataDirectory(self.path)
        self._open.append(self.directory.close)
        self.commits = ToldCommits(self.directory.commits, self.ledger, self.cut_of)
        self._open.append(self.commits.close)
        self.fragment_logs = FragmentLogs(self.directory)
        self._open.append(self.fragment_logs.close)
        self.ledger.recovered(self.commits)
        owed = complete(self.directory, self.commits, stored_sinks(self.directory, _no_table, self.fragment_logs.sink))
        self.settings = settle(self.commits, policy, fuse, seed)
        self.fragment_logs.sweep(self.commits.state.queries)
        self.ingest = StreamIngest(self.directory, self.now)
        self._open.append(self.ingest.close)
        self.sinks = OpenSinks(self.directory, _no_table)
        self._open.append(self.sinks.close)
        followers = Followers()
        jobs = Jobs(fault)
        self.evaluator = PlainEvaluator(
            jobs, self.ingest.logs, self.ingest.streams, self.directory, followers, self.now
        )
        self.committer = Committer(self.commits, self.fragment_logs, followers, self.now, self.directory.aside)
        self.performer = Performer(
            self.evaluator,
            self.committer,
            self.sinks,
            self.fragment_logs,
            self.ingest,
            self._spark_again,
            lambda stream: None,
        )
        self.machine = new_machine(
            new_scheduler(self.settings.policy, self.settings.fuse, self.settings.seed, self.workers, None),
            LogFacts(self.ingest.logs),
            self.directory,
            self.commits,
            owed,
            self.workers,
            held=True,
        )

    def let_go(self) -> None:
        """Close what is open, as far as that goes."""
        while self._open:
            with suppress(Exception, Crash):
                self._open.pop()()

    # -- the owner ---------------------------------------------------------------------------------------------

    def tell(self, message: m.Message) -> None:
        self.mailbox.append(message)

    def handle(self) -> m.Message:
        """Let the machine take the oldest message."""
        message = self.mailbox.popleft()
        for each in self.machine.handle(message, self.now()):
            self._send(each)
        for outbox in self.machine.delivery.outboxes.values():
            outbox.full = FULL
        return message

    def _send(self, each: Out) -> None:
        if isinstance(each, Reply):
            self.replies.append(each)
        elif isinstance(each, Task):
            self.lanes.setdefault(each.lane, deque()).append(each)
        else:
            self.notes.append(each)

    # -- who carries tasks out ---------------------------------------------------------------------------------

    def ready(self) -> list[tuple[str, int]]:
        """The lanes that have tasks, and how many of them may end next."""
        several = {WORKER: self.workers, BACKGROUND: BACKGROUND_THREADS}
        return [(lane, min(several.get(lane, 1), len(tasks))) for lane, tasks in self.lanes.items() if tasks]

    def perform(self, lane: str, place: int = 0, group: int = 1) -> Task:
        """Carry out a task of a lane; its answer goes into the mailbox. Commits go together, if there are more."""
        tasks = self.lanes[lane]
        if lane == COMMIT:
            writes = [cast(WriteCommit, tasks.popleft()) for _ in range(min(group, len(tasks)))]
            self._commit(writes)
            return writes[0]
        task = tasks[place]
        del tasks[place]
        if lane.startswith(SINK) and not tasks:
            del self.lanes[lane]
        self.tell(self._answer(task))
        return task

    def _answer(self, task: Task) -> m.Answer:
        if self.spark_is_gone and isinstance(task, CheckQuery | CheckQueries | Evaluate):
            return m.Answer(task, error=SparkGoneError("Spark's process is gone"))
        try:
            answer = m.Answer(task, self.performer.perform(task))
        except Exception as error:
            return m.Answer(task, error=error)
        if isinstance(task, Prepare):
            self.layouts[task.resume_point.name] = answer.value.layout
        if isinstance(task, PrepareTogether):
            for each, prepared in zip(task.tasks, answer.value, strict=True):
                self.layouts[each.resume_point.name] = prepared.layout
        return answer

    def _commit(self, writes: list[WriteCommit]) -> None:
        try:
            answers = [m.Answer(*each) for each in zip(writes, self.committer.write(writes), strict=True)]
        except Exception as error:
            answers = [m.Answer(task, error=error) for task in writes]
        for answer in answers:
            self.tell(answer)

    def _spark_again(self) -> Mapping[str, str]:
        self.spark_is_gone = False
        return {}

    # -- for the oracle ----------------------------------------------------------------------------------------

    def cut_of(self, name: str) -> Mapping[str, int]:
        """How far the results of a query reach into its streams, by what is committed."""
        generation = self.ledger.living(name)
        assert generation is not None
        positions, layout = generation.positions, self.layouts.get(name)
        if "cut" not in generation.said:
            return {place: positions[place] for place in generation.newest.starts}
        if layout is None or layout.whole:
            raise HeadgateError(f"nothing is known of the pieces of '{name}'")
        if name in self.owing:
            self.ledger.vague.add(name)  # how far its results reach is not in its pieces
        at = {place: positions[key(place)] for place in layout.leaves}
        nothing: Any = None
        stands = RunningQuery(nothing, layout, nothing, {}, at).stream_positions()
        return {key(place): offset for place, offset in stands.items()}

    def ends_of(self, name: str, until: Mapping[str, int] | None) -> Mapping[str, int]:
        """Where the streams of a query end."""
        generation = self.ledger.living(name)
        assert generation is not None
        if until is not None:
            return until
        return {key(place): self.ingest.logs[stream].end for place, stream in leaves_of(generation.newest.text.sql)}


def _no_table(sink: str) -> None:
    """No sink of the simulation is a table."""
