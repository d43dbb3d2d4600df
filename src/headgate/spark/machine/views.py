"""Answers about the engine: snapshots of it and its queries, and waiting until it is drained or a source may go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from headgate.metrics.measures.latency import Slice
from headgate.metrics.measures.targets import TargetStatus
from headgate.model import Query, QueryClass, unknown
from headgate.spark.machine import messages as m
from headgate.spark.machine.cost_views import cost_view
from headgate.spark.machine.counts import Counted
from headgate.spark.machine.delivery import Delivery
from headgate.spark.machine.lag_limits import LagLimits
from headgate.spark.machine.lifecycle import Life, QueryState, Transition
from headgate.spark.machine.network_views import network_view
from headgate.spark.machine.plan_views import plan_view
from headgate.spark.machine.policy_changes import PolicyChanges
from headgate.spark.machine.recent_results import Committed
from headgate.spark.machine.runs import Runs
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.spark_watch import SparkWatch
from headgate.spark.machine.target_watch import TargetWatch
from headgate.spark.machine.worker_load import Load

NO_LOAD = Load()
UNDER_WAY = (QueryState.CHECKING, QueryState.CUTTING, QueryState.WAITING, QueryState.STOPPED)


@dataclass(frozen=True, slots=True)
class QueryView:
    """A snapshot of one query."""

    query: Query
    columns: Any
    priority: float  # of its class
    state: str
    error: str
    waiting: int
    oldest_wait: float
    runs: int
    jobs: int
    tuples_in: int
    tuples_out: int
    rate: float  # tuples per second that it has taken lately
    late: int
    skipped: int
    undelivered: int  # bytes of results that its sink has yet to take
    recent: tuple[Committed, ...]  # its newest results
    classes: tuple[tuple[float, str], ...]  # the classes that it has been in: (from when, which)
    dropped: tuple[Slice, ...] = ()  # counts of results of the last ten minutes that are not among the newest
    target: TargetStatus | None = None  # how it does by its target, if it has one
    last_commit: float | None = None  # when a run of it was last committed
    owes_since: float | None = None  # since when something could have been committed; None: nothing waits or runs
    usual_gap: float | None = None  # seconds that a commit usually takes from then on; None before the first
    backfill: tuple[int, int] | None = None  # of the kept tuples that it reads first: how many it has read, of how many
    by_stream: Mapping[str, tuple[int, float]] = field(
        default_factory=dict
    )  # `waiting`, `oldest_wait`, if it reads several

    @property
    def results(self) -> Committed:
        """Its newest results."""
        return Committed.join(self.recent)


@dataclass(frozen=True, slots=True)
class Overview:
    """A snapshot of the engine."""

    policy: str
    policy_error: str
    spark_error: str
    runs: int
    jobs: int
    decided: int  # runs that the scheduler has decided
    classes: Mapping[str, QueryClass]
    queries: tuple[QueryView, ...]
    doing: tuple[str, ...]
    newest: tuple[Transition, ...]  # the newest state transitions
    cancelled_runs: int = 0  # runs that gave way to something more important
    cancelled_share: float = 0.0  # of the time of all runs
    fuse: str = "class"  # which queries share jobs
    counted: tuple[Counted, ...] = ()  # what was done since the start, by namespace and class
    load: Load = NO_LOAD
    spark_note: str = ""  # what is wrong with Spark though it is there: cores that are held, executors that are missing


@dataclass(slots=True)
class _Waiting:
    """The tickets of callers who wait."""

    for_drain: list[int] = field(default_factory=list)
    for_room: list[tuple[int, str]] = field(default_factory=list)  # with the stream


class Views:
    """Answers questions, at once or when a condition has come true."""

    def __init__(
        self,
        scheduling: Scheduling,
        runs: Runs,
        delivery: Delivery,
        lag_limits: LagLimits,
        policy_changes: PolicyChanges,
        target_watch: TargetWatch,
        spark_watch: SparkWatch,
    ) -> None:
        self._context = scheduling.context
        self._scheduling, self._runs, self._delivery = scheduling, runs, delivery
        self._lag_limits, self._policy_changes, self._target_watch = lag_limits, policy_changes, target_watch
        self._spark_watch = spark_watch
        self._waiting = _Waiting()
        self.handlers: Mapping[type, Callable[[Any], None]] = {
            m.Describe: self._describe,
            m.DescribeAll: self._describe_all,
            m.DescribePlan: self._describe_plan,
            m.DescribeNetwork: lambda command: self._context.reply(
                command.ticket, network_view(self._scheduling.scheduler, self._context.lives.values())
            ),
            m.DescribeCosts: lambda command: self._context.reply(command.ticket, cost_view(self._scheduling.scheduler)),
            m.Drain: lambda command: self._waiting.for_drain.append(command.ticket),
            m.IsDrained: lambda command: self._context.reply(command.ticket, self.drained),
            m.WaitForRoom: self._wait_for_room,
            m.FindLaggingQuery: lambda command: self._context.reply(
                command.ticket, self._lag_limits.lagging_query(command.stream)
            ),
            m.CancelWait: self._cancel_wait,
        }

    @property
    def drained(self) -> bool:
        """Whether no tuple waits, no run is active, and sinks have taken all they can. Open windows may hold tuples."""
        lives = self._context.lives.values()
        if self._runs.restart_reason or self._runs.active_runs or not self._scheduling.scheduler.idle:
            return False
        if any(
            life.state in UNDER_WAY or life.checking_windows or self._scheduling.backlog_size(life) for life in lives
        ):
            return False
        self._delivery.flush()
        return self._delivery.empty

    def watch(self) -> None:
        """Answer callers whose condition has come true."""
        if self._waiting.for_drain and self.drained:
            for ticket in self._waiting.for_drain:
                self._context.reply(ticket, True)
            self._waiting.for_drain.clear()
        for ticket, stream in list(self._waiting.for_room):
            if self._lag_limits.lagging_query(stream) is None:
                self._waiting.for_room.remove((ticket, stream))
                self._context.reply(ticket)

    def refuse_all(self, error: Exception) -> None:
        """Answer all waiting callers with an error."""
        for ticket in [*self._waiting.for_drain, *(ticket for ticket, _ in self._waiting.for_room)]:
            self._context.reply(ticket, error=error)
        self._waiting = _Waiting()

    def _wait_for_room(self, command: m.WaitForRoom) -> None:
        if command.stream not in self._scheduling.ends:
            raise unknown("stream", command.stream, self._scheduling.ends)
        self._waiting.for_room.append((command.ticket, command.stream))

    def _cancel_wait(self, command: m.CancelWait) -> None:
        self._waiting.for_drain = [ticket for ticket in self._waiting.for_drain if ticket != command.ticket]
        self._waiting.for_room = [wait for wait in self._waiting.for_room if wait[0] != command.ticket]

    def _describe(self, command: m.Describe) -> None:
        self._context.reply(command.ticket, self._view(self._context.life(command.name)))

    def _describe_plan(self, command: m.DescribePlan) -> None:
        life = self._context.life(command.name)
        self._context.reply(command.ticket, plan_view(self._scheduling.scheduler, life))

    def _describe_all(self, command: m.DescribeAll) -> None:
        self._context.reply(command.ticket, self.overview())

    def overview(self) -> Overview:
        scheduler = self._scheduling.scheduler
        network = scheduler.network
        doing = {slot: active_run.run for slot, active_run in self._runs.active_runs.items()}
        slots = range(max(self._runs.workers, max(doing, default=-1) + 1))
        return Overview(
            policy=str(scheduler.policy),
            policy_error=self._policy_changes.failed,
            spark_error=self._runs.restart_reason or self._runs.restart_error,
            runs=self._runs.runs,
            jobs=self._runs.jobs,
            decided=scheduler.runs,
            classes=dict(network.classes),
            queries=tuple(self._view(life) for life in self._context.lives.values() if life.is_known),
            doing=tuple(
                f"{', '.join(map(str, doing[slot].units))}: {doing[slot].tuples:,} tuples" if slot in doing else ""
                for slot in slots
            ),
            newest=tuple(self._context.newest),
            cancelled_runs=self._runs.cancelled_runs,
            cancelled_share=self._runs.cancelled_seconds / (self._runs.run_seconds or 1.0),
            fuse=scheduler.fuse.value,
            counted=self._context.counters.now(),
            load=self._runs.load(),
            spark_note=self._spark_watch.note,
        )

    def _view(self, life: Life) -> QueryView:
        waiting, oldest = self._scheduling.waiting(life)
        tally = life.tally
        return QueryView(
            query=life.query,
            columns=life.columns,
            priority=self._scheduling.scheduler.network.classes[life.query.query_class].priority,
            state=life.state.value,
            error=life.error,
            waiting=waiting,
            oldest_wait=oldest,
            runs=tally.runs,
            jobs=tally.jobs,
            tuples_in=tally.tuples_in,
            tuples_out=tally.tuples_out,
            rate=tally.newly_taken.rate(self._context.now, life.added),
            late=tally.late,
            skipped=life.skipped,
            undelivered=0 if life.outbox is None else life.outbox.size,
            recent=tally.recent.chunks(),
            dropped=tally.recent.dropped(self._context.now),
            target=self._target_watch.status(life),
            classes=tuple(tally.classes),
            last_commit=tally.pace.last,
            owes_since=self._owes_since(life, waiting),
            usual_gap=tally.pace.usual,
            backfill=self._scheduling.backfill(life),
            by_stream=self._scheduling.waiting_by_stream(life),
        )

    def _owes_since(self, life: Life, waiting: int) -> float | None:
        """Since when a query could have committed something; nobody waits for one that does not run, nor for a hold."""
        if life.state is not QueryState.RUNNING or self._runs.held:
            return None
        since = life.tally.pace.owes_since(self._scheduling.waiting_since(life) if waiting else inf)
        return None if since is None else max(since, life.state_since)
