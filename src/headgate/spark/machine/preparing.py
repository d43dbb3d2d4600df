"""Preparing: a query is placed in its streams, brought into the form that the policy asks for, and let run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.model import HeadgateError, Level
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.fragments import LayoutView, StreamFacts, key
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.messages import Answer
from headgate.spark.machine.runs import Runs
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.tasks import AIDE, WORKER, Prepare, Prepared
from headgate.spark.machine.window_clocks import streams_of

Ended = Callable[[Exception | None], None]  # what went wrong, or None


@dataclass(frozen=True, slots=True)
class RememberedQuery:
    """What commits of a former life say of a query, and where it stood."""

    said: Mapping[str, Any] = field(default_factory=dict)
    at: Mapping[str, int] = field(default_factory=dict)
    owed: tuple[Any, ...] = ()  # (name, commit, rows): committed rows that could not be put inside yet
    uncalled: int | None = None  # the first commit whose results its callback may not have been given


class Preparing:
    """Lets queries begin and go on."""

    def __init__(self, context: MachineContext, scheduling: Scheduling, runs: Runs, facts: StreamFacts) -> None:
        self.level: Level | None = None  # at which queries are cut; None: each is whole
        self.floors: dict[str, int] = {}  # where streams start, or will when what is being dropped is gone
        self.placed = 0  # how often a query has been placed in its streams
        self._context, self._scheduling, self._runs, self._facts = context, scheduling, runs, facts

    def place(self, life: Life, known: RememberedQuery) -> None:
        """Put a query where it stood; a new one at the ends of its streams, or at their starts."""
        assert life.whole is not None
        ends, query = self._scheduling.ends, life.query
        positions, starts, until = {}, {}, {}
        for leaf, source in life.whole.leaves.items():
            fresh = self.start(source.stream) if query.since == "start" else ends[source.stream]
            positions[leaf] = known.at.get(key(leaf), fresh)
            self._facts.require(source.stream, positions[leaf])
            starts[leaf] = known.said.get("starts", {}).get(key(leaf), fresh)
            if query.once:
                until[leaf] = known.said.get("until", {}).get(key(leaf), ends[source.stream])
        life.positions, life.starts, life.until = positions, starts, until
        life.layout, life.owed = life.whole, list(known.owed)
        self.placed += 1

    def start(self, stream: str) -> int:
        """The smallest offset of a stream that can still be read."""
        return max(self._facts.start(stream), self.floors.get(stream, 0))

    def prepare(
        self,
        life: Life,
        reason: str,
        ended: Ended | None = None,
        *,
        known: RememberedQuery | None = None,
        announce: bool = False,
        discard: LayoutView | None = None,
    ) -> None:
        """Let a query run, in whatever form the policy's level asks for; `ended` hears how that went."""
        assert life.layout is not None
        known, life.again = known or life.again, None
        if life.state is not QueryState.CUTTING:
            self._context.move(life, QueryState.CUTTING, reason)
        life.entry += 1
        life.missed = {stream: [] for stream in streams_of(life)}
        said = known.said if known is not None and "cut" in known.said else None
        cuts = life.layout.level != self.level or said is not None
        task = Prepare(
            life.resume_point(),
            self.level,
            {stream: self._scheduling.ends[stream] for stream in streams_of(life)},
            known=said,
            at={} if known is None else known.at,
            announce=announce,
            told=frozenset(life.told),
            owed=tuple(life.owed),
            discard=discard,
            by=WORKER if cuts else AIDE,
        )

        def done(answer: Answer) -> None:
            self._prepared(life, task, answer, ended)

        if cuts:
            self._runs.hand(task, done)
        else:
            self._context.give(task, done)

    def _prepared(self, life: Life, task: Prepare, answer: Answer, ended: Ended | None) -> None:
        prepared: Prepared | None = answer.value
        if prepared is not None:
            life.layout, life.positions, life.ends = prepared.layout, prepared.positions, prepared.inside
            life.announced = life.announced or prepared.announced
            life.has_told(prepared.keys)
            for result, written in prepared.steps:
                self._runs.note(life, result, written)
            for written in [*(each for _, each in prepared.steps), *prepared.letters]:
                self._runs.put_letters(written)
            life.owed = prepared.owed
        error = answer.error or (prepared.error if prepared is not None else None)
        if error is None and life.layout is not None and life.layout.level != self.level:
            self.prepare(life, "", ended)  # another policy has come meanwhile
            return
        refusal = "" if life.outbox is None else life.outbox.error  # of its sink, while it was being prepared
        if error is None and not refusal:
            assert prepared is not None
            try:
                self._scheduling.enter(life, prepared.backlog)
            except HeadgateError as refused:  # a policy that has come meanwhile cannot schedule it
                refusal = self._context.explain(refused)
        life.missed = {}
        if error is not None:
            life.lost = isinstance(error, SparkGoneError)
            if task.known is not None and life.layout is task.resume_point.layout and not life.announced:
                life.again = RememberedQuery(task.known, task.at)  # its pieces could not be opened: it is in them still
            if ended is None:
                self._context.move(life, QueryState.SUSPENDED, "could not go on", self._context.explain(error))
            else:
                ended(error)
            return
        if refusal:
            life.lost = life.outbox is not None and life.outbox.lost
            self._context.move(life, QueryState.SUSPENDED, "failed", refusal)
        else:
            self._context.move(life, QueryState.RUNNING, "")
            self._runs.conclude(life)
        if ended is not None:
            ended(None)
