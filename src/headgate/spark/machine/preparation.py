"""Preparing a query to run: set its positions, cut or join it as the policy demands, and add it to the scheduler."""

from __future__ import annotations

from collections.abc import Callable

from headgate.model import HeadgateError, Level
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.interfaces import LayoutView, RememberedQuery, StreamFacts, key
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.messages import Answer
from headgate.spark.machine.runs import Runs
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.tasks import BACKGROUND, WORKER, Prepare, Prepared, RunCancelledError
from headgate.spark.machine.window_clocks import streams_of

Ended = Callable[[Exception | None], None]  # gets the error, or None


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
        assert life.layout is not None
        remembered, life.reopen_from = remembered or life.reopen_from, None
        if life.state is not QueryState.CUTTING:
            self._context.change_state(life, QueryState.CUTTING, reason)
        life.entry_number += 1
        life.arrived_meanwhile = {stream: [] for stream in streams_of(life)}
        description = remembered.description if remembered is not None and "cut" in remembered.description else None
        cuts = life.layout.level != self.level or description is not None
        task = Prepare(
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

        def done(answer: Answer) -> None:
            self._prepared(life, task, answer, ended)

        if cuts:
            self._runs.submit_when_free(task, done)
        else:
            self._context.submit(task, done)

    def _prepared(self, life: Life, task: Prepare, answer: Answer, ended: Ended | None) -> None:
        prepared: Prepared | None = answer.value
        if prepared is not None:
            self._apply(life, prepared)
        error = answer.error or (prepared.error if prepared is not None else None)
        if error is not None:
            self._failed(life, task, error, ended)
            return
        if life.layout is not None and life.layout.level != self.level:
            self.prepare(life, "", ended)  # the policy has changed meanwhile
            return
        refusal = "" if life.outbox is None else life.outbox.error  # its sink has failed meanwhile
        if not refusal:
            assert prepared is not None
            try:
                self._scheduling.enter(life, prepared.backlog)
            except HeadgateError as refused:  # the policy has changed meanwhile, and cannot schedule it
                refusal = self._context.explain(refused)
        life.arrived_meanwhile = {}
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
        life.arrived_meanwhile = {}
        life.awaits_spark = isinstance(error, SparkGoneError)
        if task.reopen is not None and life.layout is task.resume_point.layout and not life.description_committed:
            # Its fragments could not be opened: the next preparation must open them.
            life.reopen_from = RememberedQuery(task.reopen, task.reopen_at)
        if ended is None:
            self._context.change_state(life, QueryState.SUSPENDED, "could not go on", self._context.explain(error))
        else:
            ended(error)
