"""Runs: the scheduler decides them, workers evaluate them, then results are committed and costs are reported back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

from headgate.model import HeadgateError, Outcome, Run, WorkerId
from headgate.model.names import namespace
from headgate.spark.jvm.gone import SparkChangedError, SparkGoneError
from headgate.spark.machine.active_run import ActiveRun
from headgate.spark.machine.context import MachineContext, Then
from headgate.spark.machine.delivery import Delivery
from headgate.spark.machine.interfaces import key, keyed
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.messages import Answer
from headgate.spark.machine.recent_results import Floats
from headgate.spark.machine.response_times import response_times
from headgate.spark.machine.run_history import RunHistory
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.tasks import (
    HIGHEST_POOL,
    OTHER_POOL,
    CancelRun,
    CancelRuns,
    CheckWindows,
    DiscardFragmentLogs,
    Evaluate,
    PortionResult,
    Prepare,
    PrepareTogether,
    RunCancelledError,
    Task,
    WriteCommit,
    WrittenCommit,
)
from headgate.spark.machine.window_clocks import streams_of
from headgate.spark.machine.worker_load import Load, Payer, WorkerLoad

TRIES = 5  # how often a run is repeated after its commit failed, before its queries are suspended
_CANCELLED = "cancelled, as the engine closes"
_GAVE_WAY = "cancelled for something more important"
_STOPPED = "cancelled, as its queries are stopped"
ALONE = 60.0  # seconds that the job of a query may take that runs alone, as everybody waits for it
_TO_BLAME = (
    "Spark's Java process died {} times while this query ran, the last time with nothing beside it; "
    "it may need more memory than there is: let it make smaller values, or give Spark more memory, and resume it"
)
ANSWERS = 1000  # response times of a query's run that a policy is told at most, evenly chosen
FIRST_WAIT = 0.1  # seconds before the first repetition; each further one waits twice as long


class Runs:
    """The active runs. A worker is free again as soon as it has handed over its results, before they are committed."""

    def __init__(
        self,
        context: MachineContext,
        scheduling: Scheduling,
        delivery: Delivery,
        history: RunHistory,
        workers: int,
    ) -> None:
        self.workers = workers
        self.runs = 0  # committed so far
        self.jobs = 0  # that Spark has run for them
        self.active_runs: dict[WorkerId, ActiveRun] = {}
        self.closing = False  # if set, no run is started
        self.held = False  # if set, no run is started until `Begin`
        self.cancelled = False  # if set, active runs end as if they had not begun
        self.restart_reason = ""  # why Spark is being restarted; while it is, no run is started
        self.restart_error = ""  # why Spark could not be restarted
        self.end_reason = ""  # why Spark was ended on purpose; until it has been started again
        self.blameless = False  # then no run is to blame for its end
        self.note_results: Callable[
            [Life, float, Floats], None
        ]  # judges them by the query's target; set by the machine
        self.prepare: Callable[[Life], None]  # prepares a query to run again; set by the machine
        self.cancelled_runs = 0  # for something more important
        self.cancelled_seconds = 0.0  # that they had run
        self.run_seconds = 0.0  # of all runs
        self._free = workers
        self._ask_again_at = inf  # when the policy wants to be asked again, even without a message
        self._tasks: deque[tuple[Task, Then, Payer | None]] = deque()  # that wait for a worker
        self._alone: deque[tuple[ActiveRun, Evaluate, Payer]] = deque()  # the first one runs or is the next to
        self._load = WorkerLoad(workers)
        self._context, self._scheduling, self._delivery, self._history = context, scheduling, delivery, history

    # -- workers -----------------------------------------------------------------------------------------------

    def submit_when_free(self, task: Task, then: Then, payer: Payer | None = None) -> None:
        """Submit a task as soon as a worker is free; such tasks come before new runs."""
        self._tasks.append((task, then, payer))

    def load(self) -> Load:
        """What the workers' time went to lately."""
        return self._load.now(self._context.now, self._scheduling.scheduler.queued + len(self._tasks))

    def assign(self) -> None:
        """Give every free worker a waiting task or a new run."""
        self._leave_out_stopped()
        while self._free and not self._alone:
            if not self._tasks and (self.closing or self.held or self.restart_reason or not self._begin()):
                return
            if self._tasks:
                self._submit(*self._tasks.popleft())
        if self._alone:
            self._run_alone()
        else:
            self._make_room()

    def _run_alone(self) -> None:
        """Run a query that may make Java die once nothing else runs, so that nothing else can be the reason."""
        if self._free == self.workers and not self.restart_reason:
            active_run, task, payer = self._alone[0]
            self._submit(task, partial(self._evaluated, active_run), payer)

    def _leave_out_stopped(self) -> None:
        """End runs that were to be alone and have not begun, if all their queries are to be stopped meanwhile."""
        while self._alone and self._free == self.workers:
            active_run, _, _ = self._alone[0]
            if active_run.committed or not active_run.for_nobody:
                return
            self._alone.popleft()
            active_run.evaluating = False
            self._end_cancelled(active_run)

    def _make_room(self) -> None:
        """Cancel a run for something more important, if no worker is free and the scheduler finds it worth it."""
        run = self._scheduling.scheduler.to_cancel(self._context.now)
        if run is not None and not self.closing and not self.active_runs[run.worker].committed:
            self._context.submit(CancelRun(str(run.id)), lambda answer: None)

    def cancel_stopping(self, life: Life) -> None:
        """Cancel the runs of a query that is to be stopped, unless they do something for others, or have committed."""
        for active_run in self.active_runs.values():
            if life in active_run.members and active_run.for_nobody and not active_run.committed:
                self._context.submit(CancelRun(str(active_run.run.id)), lambda answer: None)

    def _submit(self, task: Task, then: Then, payer: Payer | None) -> None:
        work = self._load.began(self._context.now, payer)

        def done(answer: Answer) -> None:
            self._load.ended(work, self._context.now)
            self._free += 1
            then(answer)

        self._free -= 1
        self._context.submit(task, done)

    def _begin(self) -> bool:
        """Start a run if the scheduler has one."""
        slot = next(number for number in range(len(self.active_runs) + 1) if number not in self.active_runs)
        scheduler, now = self._scheduling.scheduler, self._context.now
        before = scheduler.decisions
        run = scheduler.next(slot, now)
        self._load.decided(now, scheduler.decisions - before)
        if not isinstance(run, Run):
            if now < run.until < self._ask_again_at:
                self._ask_again_at = run.until
                self._context.call_at(run.until, self._ask_again)
            return False
        active_run = self.active_runs[slot] = ActiveRun.of(run, self._context.lives)
        self._history.began(active_run)
        waiting_since = now if scheduler.taken is None else max(scheduler.taken.oldest, scheduler.taken.released or 0.0)
        for life in active_run.members:
            life.under_way += 1
            life.tally.pace.run_began(max(waiting_since, life.added, life.state_since))
        self._next_step(active_run)
        return True

    def _ask_again(self) -> None:
        """The policy wanted to be asked again now; `assign` does so after every message."""
        self._ask_again_at = inf

    # -- one run -----------------------------------------------------------------------------------------------

    def _next_step(self, active_run: ActiveRun) -> None:
        if self.cancelled:
            self._finish(active_run, _CANCELLED)
            return
        try:
            portions = active_run.portions()
        except HeadgateError as error:
            self._fail(active_run, str(error))
            return
        if portions:
            pool = OTHER_POOL if self._scheduling.scheduler.is_lower(active_run.run.units[0]) else HIGHEST_POOL
            alone = any(self._context.lives[portion.name].suspicion.runs_alone for portion in portions)
            limit = ALONE if alone else None
            self._evaluate(active_run, Evaluate(str(active_run.run.id), active_run.groups(portions), pool, limit))
        else:
            self._finish(active_run)

    def _evaluate(self, active_run: ActiveRun, task: Evaluate) -> None:
        active_run.evaluating = True
        unit = active_run.run.units[0]
        payer = namespace(unit.queries[0]), unit.payer
        if task.limit is not None:
            self._alone.append((active_run, task, payer))
        else:
            self.submit_when_free(task, lambda answer: self._evaluated(active_run, answer), payer)

    def _evaluated(self, active_run: ActiveRun, answer: Answer) -> None:
        self._alone = deque(waiting for waiting in self._alone if waiting[1] is not answer.task)
        if not active_run.evaluating:  # it was abandoned
            return
        active_run.evaluating = False
        active_run.seconds = self._context.now - active_run.run.began
        if isinstance(answer.error, RunCancelledError):
            if self.cancelled:
                self._finish(active_run, _CANCELLED)
            elif active_run.committed:  # it was too late to give way: steps before this one count
                assert isinstance(answer.task, Evaluate)
                # Under another label: Spark refuses all further jobs of what was cancelled.
                self._evaluate(active_run, replace(answer.task, label=f"{answer.task.label}-again"))
            else:
                self._end_cancelled(active_run)
            return
        if not active_run.steps:
            self._scheduling.scheduler.freed(active_run.run, self._context.now)
        if isinstance(answer.error, SparkGoneError):
            self._spark_died(active_run, answer)
            return
        if answer.error is not None:
            self._fail(active_run, self._context.explain(answer.error))
            return
        results: list[PortionResult] = answer.value
        failed = [result for result in results if result.error]
        good = [result for result in results if not result.error]
        if not good and not active_run.committed:
            self._fail(active_run, failed[0].error)
            return
        for result in failed:
            self.suspend(self._context.lives[result.portion.name], result.error)
        if good:
            self._context.submit(
                self._commit(active_run.run, good), lambda answer: self._committed(active_run, good, answer)
            )
        else:
            self._next_step(active_run)

    def _commit(self, run: Run, results: list[PortionResult]) -> WriteCommit:
        """The commit of the results of one step."""
        lives = self._context.lives
        unreported: dict[tuple[str, Any], Any] = {}
        for result in results:
            for failure in result.failures:
                if failure.key not in lives[result.portion.name].reported:
                    unreported.setdefault((result.portion.name, failure.key), failure)
        return WriteCommit(
            run=run.id,
            units=tuple(map(str, run.units)),
            positions={
                result.portion.name: {key(place): last for place, (_, last) in result.portion.offsets.items()}
                for result in results
            },
            outputs={result.portion.name: result.output for result in results if result.output is not None},
            intermediate={
                name: result.intermediate
                for result in results
                if (name := result.portion.fragment.feeds_name) is not None and result.intermediate is not None
            },
            failures=tuple((name, min(streams_of(lives[name])), failure) for (name, _), failure in unreported.items()),
            follower_tables={
                result.portion.name: result.follower_tables for result in results if result.follower_tables
            },
        )

    def _committed(self, active_run: ActiveRun, results: list[PortionResult], answer: Answer) -> None:
        if answer.error is not None:
            self._try_again(active_run, self._context.explain(answer.error))
            return
        written: WrittenCommit = answer.value
        self.runs += 1
        self._context.counters.committed(active_run, self._context.now)
        lives = [self._context.lives[result.portion.name] for result in results]
        for life, result, times in zip(lives, results, response_times(lives, results, written.at), strict=True):
            life.positions.update({place: last for place, (_, last) in result.portion.offsets.items()})
            if result.failures:
                life.report({failure.key for failure in result.failures})
            life.failures = 0
            life.suspicion.committed()
            active_run.response_times[life.name] = self._add(life, result, written, times)
            self._history.committed(active_run, result, written)
            if (name := result.portion.fragment.feeds_name) is not None and result.intermediate is not None:
                if name in written.unappended:
                    life.unappended.append((name, *written.unappended[name]))
                else:
                    life.fragment_log_ends[name] += result.intermediate_count
        self.put_letters(written)
        active_run.committed += results
        error = "" if written.error is None else self._context.explain(written.error)
        for life in active_run.members:
            if life.unappended:
                self.suspend(life, error or "rows could not be appended to a fragment log")
        self._next_step(active_run)

    def add_result(self, life: Life, result: PortionResult, written: WrittenCommit) -> None:
        """Count what was committed for one query, and put its results into the outbox."""
        (times,) = response_times((life,), (result,), written.at)
        self._add(life, result, written, times)

    def _add(self, life: Life, result: PortionResult, written: WrittenCommit, times: Floats) -> tuple[float, ...]:
        """The same; returns its response times if the policy wants them."""
        tally, gives = life.tally, result.portion.fragment.feeds_name is None
        tally.runs += 1
        tally.pace.committed(written.at)
        tally.jobs += result.jobs
        self.jobs += result.jobs
        tally.tuples_in += result.arrived
        tally.newly_taken.add(written.at, result.arrived)
        tally.tuples_out += result.count if gives else 0
        tally.late += result.late
        self._context.counters.gave(life, result, times)
        tally.recent.add(written.at, times)
        self.note_results(life, written.at, times)
        if result.output is not None:
            self._delivery.put(life, written.number, result.output, result.size)
        if not self._scheduling.scheduler.wants_answers:
            return ()
        return tuple(times[:: 1 + times.size // ANSWERS].tolist())  # policies look at averages

    def put_letters(self, written: WrittenCommit) -> None:
        """Put the dead letters of a commit into the outboxes of their streams."""
        self._delivery.put_letters(written.number, written.letters)

    def _end_cancelled(self, active_run: ActiveRun) -> None:
        """End a run that was cancelled, for something more important or for nobody: its tuples wait again."""
        self.run_seconds += active_run.seconds
        reason = _STOPPED if active_run.for_nobody else _GAVE_WAY
        if reason == _GAVE_WAY:
            self.cancelled_runs += 1
            self.cancelled_seconds += active_run.seconds
            for life in active_run.members:
                life.tally.cancelled += 1
        self._context.counters.ended(active_run, cancelled=reason == _GAVE_WAY)
        del self.active_runs[active_run.run.worker]
        outcome = Outcome(active_run.run, active_run.seconds, reason)
        self._scheduling.scheduler.cancelled(outcome, self._context.now)
        self._history.ended(active_run, outcome, cancelled=True)
        self._log(active_run.run, len(active_run.members), outcome)
        self._leave_members(active_run, outcome)

    def _finish(self, active_run: ActiveRun, error: str | None = None) -> None:
        """End a run: everything is committed, or the rest has failed."""
        scheduler = self._scheduling.scheduler
        self.run_seconds += active_run.seconds
        self._context.counters.ended(active_run, failed=error is not None)
        outcome = Outcome(active_run.run, self._context.now - active_run.run.began, error)
        if error is None:
            outcome = active_run.outcome(scheduler.measured.fixed(active_run.run), scheduler.wants_answers)
        del self.active_runs[active_run.run.worker]
        scheduler.finished(outcome, self._context.now)
        self._history.ended(active_run, outcome)
        self._log(active_run.run, len(active_run.members), outcome)
        self._leave_members(active_run, outcome)

    def _leave_members(self, active_run: ActiveRun, outcome: Outcome) -> None:
        """Let the queries of a run go that is over: they may be waited for."""
        for life in active_run.members:
            life.under_way -= 1
            if not life.busy:
                life.tally.pace.runs_ended()
            if life.when_idle is not None:
                if not life.busy:
                    act, life.when_idle = life.when_idle, None
                    act()
            elif life.state is QueryState.RUNNING:
                if outcome.produced:
                    self._scheduling.release_closed_windows(life)
                self.conclude(life)
        for life in active_run.members:
            self._context.settle(life)

    def _log(self, run: Run, queries: int, outcome: Outcome) -> None:
        error = {} if outcome.error is None else {"error": outcome.error}
        self._context.log(
            "debug", "run ended", run=run.id, queries=queries, tuples=run.tuples, seconds=outcome.seconds, **error
        )

    # -- the end of the engine ---------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Have the Spark jobs of active runs cancelled; their tuples stay where they are, for the next time."""
        self.cancelled = True
        self._context.submit(CancelRuns(), lambda answer: None)

    def abandon(self) -> None:
        """No longer wait for runs that do not end even though they are cancelled, as while Spark plans a job."""
        self._tasks.clear()
        self._alone.clear()
        for active_run in [run for run in self.active_runs.values() if run.evaluating]:
            active_run.evaluating = False
            self._finish(active_run, _CANCELLED)

    def leave(self) -> None:
        """Wait for no run: Spark does not end them."""
        if not self.cancelled:
            self.cancel()
        self.abandon()

    # -- failures ----------------------------------------------------------------------------------------------

    def _fail(self, active_run: ActiveRun, error: str) -> None:
        """End a run that failed, and suspend all its queries."""
        for life in active_run.members:
            self.suspend(life, error)
        self._finish(active_run, error)

    def _spark_died(self, active_run: ActiveRun, answer: Answer) -> None:
        """End a run during which Spark died; its queries continue when Spark is back, unless one is to blame."""
        assert answer.error is not None
        error = self._context.explain(answer.error)
        if not self.blameless and not isinstance(answer.error, SparkChangedError):
            self._suspect(answer.task)
        for life in active_run.members:
            if life.state is QueryState.RUNNING:
                life.awaits_spark = True
                self.suspend(life, error)
        self._finish(active_run, error)

    def _suspect(self, task: Task) -> None:
        """Java died during an evaluation: note its queries, and suspend one that was the only one again."""
        portions = [portion for group in task.groups for portion in group] if isinstance(task, Evaluate) else []
        for life in [self._context.lives[portion.name] for portion in portions]:
            if life.suspicion.java_died():
                self.suspend(life, _TO_BLAME.format(life.suspicion.deaths))

    def _try_again(self, active_run: ActiveRun, error: str) -> None:
        """End a run whose commit failed: nothing of it counts, and it is repeated after a while."""
        for life in active_run.members:
            life.failures += 1
            if life.failures > TRIES:
                self.suspend(life, error)
            elif life.state is QueryState.RUNNING:
                self._scheduling.leave(life)
                self._context.change_state(life, QueryState.WAITING, "the commit of a run failed", error)
                wait = FIRST_WAIT * 2 ** (life.failures - 1)
                self._context.call_at(self._context.now + wait, lambda life=life: self._retry(life))  # type: ignore[misc]
        self._finish(active_run, error)

    def _retry(self, life: Life) -> None:
        if life.state is QueryState.WAITING and life.failures and not self.closing and not self.restart_reason:
            self._context.when_settled(life, lambda: self.prepare(life) if life.state is QueryState.WAITING else None)

    def give_up(self, task: Task, error: str) -> None:
        """Suspend the queries that a task was for, and end their active runs."""
        portions = [portion for group in task.groups for portion in group] if isinstance(task, Evaluate) else []
        names = {portion.name for portion in portions} | set(task.positions if isinstance(task, WriteCommit) else ())
        if isinstance(task, Prepare | CheckWindows):
            names.add(task.resume_point.name)
        if isinstance(task, PrepareTogether):
            names |= {each.resume_point.name for each in task.tasks}
        for active_run in list(self.active_runs.values()):
            if names & {life.name for life in active_run.members}:
                self._fail(active_run, error)
        for life in [self._context.lives[name] for name in names if name in self._context.lives]:
            if life.state is QueryState.CUTTING:
                self._context.change_state(life, QueryState.SUSPENDED, "failed", error)
            self.suspend(life, error)

    def suspend(self, life: Life, error: str) -> None:
        """Stop running a query until it is resumed; a done query is suspended if its sink fails."""
        if life.state in (QueryState.RUNNING, QueryState.WAITING, QueryState.PAUSED, QueryState.DONE):
            self._scheduling.leave(life)
            self._context.change_state(life, QueryState.SUSPENDED, "failed", error)

    def _concluded(self, answer: Answer) -> None:
        if answer.error is not None:  # the next start finds nothing left to read, and ends it again
            self._context.log("warning", "that a query is done could not be committed", error=answer.error)

    def conclude(self, life: Life) -> None:
        """End a one-time query that has read everything; its results stay, and it never runs again."""
        if life.state is not QueryState.RUNNING or not life.has_read_all or life.busy:
            return
        self._scheduling.leave(life)
        assert life.unfragmented is not None
        former, life.layout = life.layout, life.unfragmented
        life.positions = {leaf: life.positions[leaf] for leaf in life.unfragmented.leaves}  # none in fragment logs
        said = life.description(done=True)
        task = WriteCommit(
            queries={life.name: said}, positions={life.name: keyed(life.positions)}, ended_queries=(life.name,)
        )
        self._context.submit(task, self._concluded)
        if former is not None and not former.whole:
            self._context.submit(DiscardFragmentLogs(former), lambda answer: None)
        life.fragment_log_ends = {}
        self._context.change_state(life, QueryState.DONE, "has read all")
