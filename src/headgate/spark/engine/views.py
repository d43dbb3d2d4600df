"""Views: what callers want to know, now or when it is so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headgate.model import Query, QueryClass, unknown
from headgate.spark.engine import messages as m
from headgate.spark.engine.backpressure import Limits
from headgate.spark.engine.delivery import Delivering
from headgate.spark.engine.lifecycle import Life, State, Transition
from headgate.spark.engine.policy_changes import Steering
from headgate.spark.engine.runs import Running
from headgate.spark.engine.scheduling import Scheduling

UNDER_WAY = (State.CHECKING, State.CUTTING, State.WAITING, State.STOPPED)


@dataclass(frozen=True, slots=True)
class QueryView:
    """One query at one moment."""

    query: Query
    columns: Any
    state: str
    error: str
    waiting: int
    oldest_wait: float
    runs: int
    jobs: int
    tuples_in: int
    tuples_out: int
    dead_letters: int
    late: int
    skipped: int
    undelivered: int  # bytes of results that its sink has yet to take
    times: tuple[np.ndarray[Any, np.dtype[np.float64]], ...]  # response times, in chunks

    @property
    def responses(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Seconds from each of its newest results' last tuple to its commit."""
        return np.concatenate(self.times) if self.times else np.empty(0)


@dataclass(frozen=True, slots=True)
class Overview:
    """The engine at one moment."""

    policy: str
    policy_error: str
    spark_error: str
    runs: int
    jobs: int
    decided: int  # runs that the scheduler has decided
    classes: Mapping[str, QueryClass]
    queries: tuple[QueryView, ...]
    doing: tuple[str, ...]
    newest: tuple[Transition, ...]  # changes of queries' states
    costs: Mapping[str, tuple[float, float]]  # of each query: seconds for a tuple, seconds for a run
    run_overhead: float
    train: Any
    rates: Mapping[str, float]


@dataclass(slots=True)
class _Waiting:
    drains: list[int] = field(default_factory=list)
    rooms: list[tuple[int, str]] = field(default_factory=list)


class Views:
    """Answers questions, some of them later."""

    def __init__(
        self, scheduling: Scheduling, running: Running, delivering: Delivering, limits: Limits, steering: Steering
    ) -> None:
        self._desk = scheduling.desk
        self._scheduling, self._running, self._delivering = scheduling, running, delivering
        self._limits, self._steering = limits, steering
        self._waiting = _Waiting()
        self.handlers: Mapping[type, Callable[[Any], None]] = {
            m.Describe: self._describe,
            m.Survey: self._survey,
            m.Drain: lambda asked: self._waiting.drains.append(asked.ticket),
            m.IsDrained: lambda asked: self._desk.reply(asked.ticket, self.drained),
            m.MakeRoom: self._make_room,
            m.WhoHolds: lambda asked: self._desk.reply(asked.ticket, self._limits.holder(asked.stream)),
            m.GiveUp: self._give_up,
        }

    @property
    def drained(self) -> bool:
        """Nothing waits and nothing runs, and the sinks have what they can take. Open windows may hold tuples."""
        lives = self._desk.lives.values()
        if self._running.away or self._running.flights or not self._scheduling.scheduler.idle:
            return False
        if any(life.state in UNDER_WAY or life.looking or self._scheduling.behind(life) for life in lives):
            return False
        self._delivering.flush()
        return self._delivering.empty

    def watch(self) -> None:
        """Answer what has come true."""
        if self._waiting.drains and self.drained:
            for ticket in self._waiting.drains:
                self._desk.reply(ticket, True)
            self._waiting.drains.clear()
        for ticket, stream in list(self._waiting.rooms):
            if self._limits.holder(stream) is None:
                self._waiting.rooms.remove((ticket, stream))
                self._desk.reply(ticket)

    def refuse_all(self, error: Exception) -> None:
        """Nothing that somebody waits for will come true."""
        for ticket in [*self._waiting.drains, *(ticket for ticket, _ in self._waiting.rooms)]:
            self._desk.reply(ticket, error=error)
        self._waiting = _Waiting()

    def _make_room(self, asked: m.MakeRoom) -> None:
        if asked.stream not in self._scheduling.ends:
            raise unknown("stream", asked.stream, self._scheduling.ends)
        self._waiting.rooms.append((asked.ticket, asked.stream))

    def _give_up(self, asked: m.GiveUp) -> None:
        self._waiting.drains = [ticket for ticket in self._waiting.drains if ticket != asked.ticket]
        self._waiting.rooms = [each for each in self._waiting.rooms if each[0] != asked.ticket]

    def _describe(self, asked: m.Describe) -> None:
        self._desk.reply(asked.ticket, self._view(self._desk.life(asked.name)))

    def _survey(self, asked: m.Survey) -> None:
        self._desk.reply(asked.ticket, self.overview())

    def overview(self) -> Overview:
        scheduler = self._scheduling.scheduler
        network, measured = scheduler.network, scheduler.measured
        doing = {slot: flight.run for slot, flight in self._running.flights.items()}
        slots = range(max(self._running.workers, max(doing, default=-1) + 1))
        return Overview(
            policy=str(scheduler.policy),
            policy_error=self._steering.failed,
            spark_error=self._running.away or self._running.gone,
            runs=self._running.runs,
            jobs=self._running.jobs,
            decided=scheduler.runs,
            classes=dict(network.classes),
            queries=tuple(self._view(life) for life in self._desk.lives.values() if life.whole is not None),
            doing=tuple(
                f"{', '.join(map(str, doing[slot].units))}: {doing[slot].tuples} tuples" if slot in doing else ""
                for slot in slots
            ),
            newest=tuple(self._desk.newest),
            costs={
                name: (
                    sum(measured.operators[number].cost for number in numbers),
                    sum(measured.operators[number].overhead for number in numbers),
                )
                for name, numbers in network.operators.items()
            },
            run_overhead=measured.run_overhead,
            train=measured.train,
            rates=dict(measured.rates),
        )

    def _view(self, life: Life) -> QueryView:
        waiting, oldest = self._scheduling.waiting(life)
        tally = life.tally
        return QueryView(
            query=life.query,
            columns=life.columns,
            state=life.state.value,
            error=life.error,
            waiting=waiting,
            oldest_wait=oldest,
            runs=tally.runs,
            jobs=tally.jobs,
            tuples_in=tally.tuples_in,
            tuples_out=tally.tuples_out,
            dead_letters=tally.dead_letters,
            late=tally.late,
            skipped=life.skipped,
            undelivered=0 if life.outlet is None else life.outlet.size,
            times=tally.times.seen(),
        )
