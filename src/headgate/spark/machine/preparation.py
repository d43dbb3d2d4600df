"""Preparing a query to run: set its positions, cut or join it as the policy demands, and add it to the scheduler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headgate.model import HeadgateError, Level
from headgate.plan.places import Place
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.machine.context import Ended, MachineContext
from headgate.spark.machine.interfaces import Chunks, LayoutView, RememberedQuery, StreamFacts, key
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.messages import Answer
from headgate.spark.machine.runs import Runs
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.tasks import BACKGROUND, WORKER, Prepare, Prepared, PrepareTogether, RunCancelledError
from headgate.spark.machine.window_clocks import streams_of


@dataclass(frozen=True, slots=True)
class ToPrepare:
    """A query that is to run, and what else `prepare` would be told of it."""

    life: Life
    ended: Ended
    remembered: RememberedQuery
    commit_description: bool


class Preparation:
    """Starts and restarts queries."""

    def __init__(self, context: MachineContext, scheduling: Scheduling, runs: Runs, facts: StreamFacts) -> None:
        self.level: Level | None = None  # at which queries are cut; None: each is one fragment
        self.stream_starts: dict[str, int] = {}  # where streams start once tuples being dropped are gone
        self.placements = 0  # how many times `place` was called
        self._context, self._scheduling, self._runs, self._facts = context, scheduling, runs, facts

    def place(self, life: Life, remembered: RememberedQuery) -> None:
        """Set a query's positions: those of commits, or for a new query the ends or starts of its streams."""
        assert life.unfragmented is not None
        ends, query = self._scheduling.ends, life.query
        positions, starts, until = {}, {}, {}
        for leaf, source in life.unfragmented.leaves.items():
            fresh = self.start(source.stream) if query.since == "start" else ends[source.stream]
            positions[leaf] = remembered.positions.get(key(leaf), fresh)
            self._facts.require(source.stream, positions[leaf])
            starts[leaf] = remembered.description.get("starts", {}).get(key(leaf), fresh)
            if query.once:
                until[leaf] = remembered.description.get("until", {}).get(key(leaf), ends[source.stream])
        life.positions, life.starts, life.until = positions, starts, until
        if query.since == "start":
            life.backfill = {leaf: ends[source.stream] for leaf, source in life.unfragmented.leaves.items()}
        life.layout, life.unappended = life.unfragmented, list(remembered.unappended)
        self.placements += 1

    def start(self, stream: str) -> int:
        """The smallest offset of a stream that a new query can read."""
        return max(self._facts.start(stream), self.stream_starts.get(stream, 0))

    def prepare(
        self,
        life: Life,
        reason: str,
        ended: Ended | None = None,
        *,
        remembered: RememberedQuery | None = None,
        commit_description: bool = False,
        discard: LayoutView | None = None,
    ) -> None:
        """Bring a query to the level of the policy and let it run; `ended` is called with the error, or None."""
        task = self._task(life, reason, remembered, commit_description=commit_description, discard=discard)

        def done(answer: Answer) -> None:
            if (backlog := self._ready_to_enter(life, task, answer.value, answer.error, ended)) is not None:
                self._enter(life, backlog, ended)

        if task.lane == WORKER:
            self._runs.submit_when_free(task, done)
        else:
            self._context.submit(task, done)

    def needs_cut(self, life: Life, remembered: RememberedQuery) -> bool:
        """Whether a query must be cut or joined before it can run, or its fragments be opened."""
        assert life.layout is not None
        return life.layout.level != self.level or "cut" in remembered.description

    def prepare_all(self, wanted: Sequence[ToPrepare], reason: str) -> None:
        """Let queries run that need not be cut: one commit has their descriptions, and they enter together."""
        tasks = [
            self._task(each.life, reason, each.remembered, commit_description=each.commit_description)
            for each in wanted
        ]

        def done(answer: Answer) -> None:
            values = answer.value if answer.error is None else [None] * len(tasks)
            entering: list[tuple[ToPrepare, Mapping[Place, Chunks]]] = []
            for each, task, prepared in zip(wanted, tasks, values, strict=True):
                backlog = self._ready_to_enter(each.life, task, prepared, answer.error, each.ended)
                if backlog is not None:
                    entering.append((each, backlog))
            self._enter_all(entering)

        self._context.submit(PrepareTogether(tuple(tasks)), done)

    def _task(
        self,
        life: Life,
        reason: str,
        remembered: RememberedQuery | None,
        *,
        commit_description: bool = False,
        discard: LayoutView | None = None,
    ) -> Prepare:
        assert life.layout is not None
        remembered, life.reopen_from = remembered or life.reopen_from, None
        if life.state is not QueryState.CUTTING:
            self._context.change_state(life, QueryState.CUTTING, reason)
        life.entry_number += 1
        self._scheduling.keep_arrivals(life)
        description = remembered.description if remembered is not None and "cut" in remembered.description else None
        cuts = life.layout.level != self.level or description is not None
        return Prepare(
            life.resume_point(),
            self.level,
            {stream: self._scheduling.ends[stream] for stream in streams_of(life)},
            reopen=description,
            reopen_at={} if remembered is None else remembered.positions,
            commit_description=commit_description or life.paused,
            reported=frozenset(life.reported),
            unappended=tuple(life.unappended),
            discard=discard,
            lane_name=WORKER if cuts else BACKGROUND,
        )

    def _ready_to_enter(
        self, life: Life, task: Prepare, prepared: Prepared | None, failed: Exception | None, ended: Ended | None
    ) -> Mapping[Place, Chunks] | None:
        """Take over what a preparation has done; returns the backlog of a query that can enter the scheduler now."""
        if prepared is not None:
            self._apply(life, prepared)
        error = failed or (prepared.error if prepared is not None else None)
        if error is not None:
            self._failed(life, task, error, ended)
            return None
        if life.layout is not None and life.layout.level != self.level:
            self.prepare(life, "", ended)  # the policy has changed meanwhile
            return None
        assert prepared is not None
        return prepared.backlog

    def _enter_all(self, entering: Sequence[tuple[ToPrepare, Mapping[Place, Chunks]]]) -> None:
        fine = [(each.life, backlog) for each, backlog in entering if not _sink_error(each.life)]
        try:
            self._scheduling.enter_all(fine)
        except HeadgateError:  # the policy has changed meanwhile: it may schedule some
            for each, backlog in entering:
                self._enter(each.life, backlog, each.ended)
            return
        for each, _ in entering:
            self._entered(each.life, _sink_error(each.life), each.ended)

    def _enter(self, life: Life, backlog: Mapping[Place, Chunks], ended: Ended | None) -> None:
        refusal = _sink_error(life)
        if not refusal:
            try:
                self._scheduling.enter(life, backlog)
            except HeadgateError as refused:  # the policy has changed meanwhile, and cannot schedule it
                refusal = self._context.explain(refused)
        self._entered(life, refusal, ended)

    def _entered(self, life: Life, refusal: str, ended: Ended | None) -> None:
        """Let a query run that is in the scheduler, or suspend one that was refused there."""
        self._scheduling.forget_arrivals(life)
        if refusal:
            life.awaits_spark = life.outbox is not None and life.outbox.awaits_spark
            self._context.change_state(life, QueryState.SUSPENDED, "failed", refusal)
        else:
            self._context.change_state(life, QueryState.RUNNING, "")
            self._runs.conclude(life)
        if ended is not None:
            ended(None)

    def _apply(self, life: Life, prepared: Prepared) -> None:
        """Take over the layout and positions of a prepared query, and what was committed meanwhile."""
        life.layout, life.positions = prepared.layout, prepared.positions
        life.fragment_log_ends = prepared.fragment_log_ends
        life.description_committed = life.description_committed or prepared.description_committed
        life.paused = life.paused and not prepared.description_committed
        life.report(prepared.keys)
        for result, commit in prepared.steps:
            self._runs.add_result(life, result, commit)
        for commit in [*(commit for _, commit in prepared.steps), *prepared.letters]:
            self._runs.put_letters(commit)
        life.unappended = prepared.unappended

    def _failed(self, life: Life, task: Prepare, error: Exception, ended: Ended | None) -> None:
        if isinstance(error, RunCancelledError):  # the engine closes, and prepares it again next time
            return
        self._scheduling.forget_arrivals(life)
        life.awaits_spark = isinstance(error, SparkGoneError)
        if task.reopen is not None and life.layout is task.resume_point.layout and not life.description_committed:
            # Its fragments could not be opened: the next preparation must open them.
            life.reopen_from = RememberedQuery(task.reopen, task.reopen_at)
        if ended is None:
            self._context.change_state(life, QueryState.SUSPENDED, "could not go on", self._context.explain(error))
        else:
            ended(error)


def _sink_error(life: Life) -> str:
    """Why a query cannot run: its sink has failed meanwhile."""
    return "" if life.outbox is None else life.outbox.error
