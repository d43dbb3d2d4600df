"""Preparing: a query is placed in its streams, brought into the form that the policy asks for, and let run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.model import HeadgateError, Level
from headgate.spark.engine.context import Desk
from headgate.spark.engine.fragments import Facts, Shape, key
from headgate.spark.engine.lifecycle import Life, State
from headgate.spark.engine.messages import Answer
from headgate.spark.engine.runs import Running
from headgate.spark.engine.scheduling import Scheduling
from headgate.spark.engine.tasks import AIDE, WORKER, Prepare, Prepared, SparkGoneError
from headgate.spark.engine.window_clocks import streams_of

Ended = Callable[[Exception | None], None]  # what went wrong, or None


@dataclass(frozen=True, slots=True)
class Known:
    """What commits of a former life say of a query, and where it stood."""

    said: Mapping[str, Any] = field(default_factory=dict)
    at: Mapping[str, int] = field(default_factory=dict)
    owed: tuple[Any, ...] = ()  # (name, commit, rows): committed rows that could not be put inside yet
    uncalled: int | None = None  # the first commit whose results its callback may not have been given


class Preparing:
    """Lets queries begin and go on."""

    def __init__(self, desk: Desk, scheduling: Scheduling, running: Running, facts: Facts) -> None:
        self.level: Level | None = None  # at which queries are cut; None: each is whole
        self.floors: dict[str, int] = {}  # where streams start, or will when what is being dropped is gone
        self.placed = 0  # how often a query has been placed in its streams
        self._desk, self._scheduling, self._running, self._facts = desk, scheduling, running, facts

    def place(self, life: Life, known: Known) -> None:
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
        life.shape, life.owed = life.whole, list(known.owed)
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
        known: Known | None = None,
        announce: bool = False,
        discard: Shape | None = None,
    ) -> None:
        """Let a query run, in whatever form the policy's level asks for; `ended` hears how that went."""
        assert life.shape is not None
        known, life.again = known or life.again, None
        if life.state is not State.CUTTING:
            self._desk.move(life, State.CUTTING, reason)
        life.entry += 1
        life.missed = {stream: [] for stream in streams_of(life)}
        said = known.said if known is not None and "cut" in known.said else None
        cuts = life.shape.level != self.level or said is not None
        task = Prepare(
            life.standing(),
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
            self._running.hand(task, done)
        else:
            self._desk.give(task, done)

    def _prepared(self, life: Life, task: Prepare, answer: Answer, ended: Ended | None) -> None:
        prepared: Prepared | None = answer.value
        if prepared is not None:
            life.shape, life.positions, life.ends = prepared.shape, prepared.positions, prepared.inside
            life.announced = life.announced or prepared.announced
            life.has_told(prepared.keys)
            for result, written in prepared.steps:
                self._running.note(life, result, written)
            for written in [*(each for _, each in prepared.steps), *prepared.letters]:
                self._running.put_letters(written)
            life.owed = prepared.owed
        error = answer.error or (prepared.error if prepared is not None else None)
        if error is None and life.shape is not None and life.shape.level != self.level:
            self.prepare(life, "", ended)  # another policy has come meanwhile
            return
        refusal = "" if life.outlet is None else life.outlet.error  # of its sink, while it was being prepared
        if error is None and not refusal:
            assert prepared is not None
            try:
                self._scheduling.enter(life, prepared.backlog)
            except HeadgateError as refused:  # a policy that has come meanwhile cannot schedule it
                refusal = self._desk.explain(refused)
        life.missed = {}
        if error is not None:
            life.lost = isinstance(error, SparkGoneError)
            if task.known is not None and life.shape is task.standing.shape and not life.announced:
                life.again = Known(task.known, task.at)  # its pieces could not be opened: it is in them still
            if ended is None:
                self._desk.move(life, State.SUSPENDED, "could not go on", self._desk.explain(error))
            else:
                ended(error)
            return
        if refusal:
            life.lost = life.outlet is not None and life.outlet.lost
            self._desk.move(life, State.SUSPENDED, "failed", refusal)
        else:
            self._desk.move(life, State.RUNNING, "")
            self._running.conclude(life)
        if ended is not None:
            ended(None)
