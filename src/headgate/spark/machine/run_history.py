"""Writes down what the scheduler decides and what becomes of it: the history that `headgate why` reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headgate.core.trace import header
from headgate.history.records import Answer, Arrivals, Delivery, Record, RunRecord, RunStart, Setting
from headgate.model import Outcome
from headgate.spark.machine.active_run import ActiveRun
from headgate.spark.machine.outbox import Outbox
from headgate.spark.machine.recent_results import Floats
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.tasks import PortionResult, WrittenCommit

FEW = 8  # results that are looked at faster one by one
EVERY = 1.0  # seconds whose arrivals are written down together at most
PER_QUERY = 0.01  # seconds more between two settings, whose size grows with the queries


class RunHistory:
    """Turns runs, arrivals and deliveries into records, which `write` gets."""

    def __init__(self, scheduling: Scheduling, write: Callable[[Record], None]) -> None:
        self._scheduling, self._context, self._write = scheduling, scheduling.context, write
        self._scheduler = scheduling.scheduler
        self._scheduler.explaining = True
        self._origin: float | None = None
        self._network: Any = None  # that the last setting was of
        self._policy = ""
        self._next_setting = 0.0
        self._begun: dict[int, RunStart] = {}
        self._answers: dict[int, dict[str, Answer]] = {}
        self._commits: dict[int, int] = {}
        self._chunks: dict[str, list[tuple[float, int]]] = {}
        self._flushed = 0.0

    # -- runs --------------------------------------------------------------------------------------------------

    def began(self, active_run: ActiveRun) -> None:
        """The scheduler has started a run."""
        self._note_setting()
        run, scheduler = active_run.run, self._scheduler
        taken = scheduler.taken
        start = RunStart(
            id=run.id,
            worker=run.worker,
            unit=" and ".join(map(str, run.units)),
            query_class=run.units[0].payer,
            queries=tuple(life.name for life in active_run.members),
            tuples=run.tuples,
            oldest=run.began if taken is None else taken.oldest,
            began=run.began,
            predicted=scheduler.predicted(run.worker),
            released=None if taken is None else taken.released,
            takes=run.takes,
            decision=scheduler.decisions,
            recorded_why=scheduler.why,
        )
        self._begun[run.id] = start
        self._write(start)

    def committed(self, active_run: ActiveRun, result: PortionResult, written: WrittenCommit) -> None:
        """A step of a run was committed."""
        number = active_run.run.id
        self._commits[number] = written.number
        if not result.count or result.portion.fragment.feeds_name is not None:
            return
        # Infinity if the end of a stream closed a window.
        arrivals, own, now = np.asarray(result.arrivals), result.own_arrivals, self._context.now
        if not len(arrivals):
            return
        start = self._begun.get(number)
        released = None if start is None else start.released
        if len(arrivals) <= FEW and not len(own):
            few = [min(arrival, now) for arrival in arrivals.tolist()]
            answer = Answer(result.count, sum(few) / len(few), min(few), released)
        else:
            answer = _answer(result.count, np.minimum(arrivals, now), own, released)
        self._answers.setdefault(number, {})[result.portion.name] = answer

    def ended(self, active_run: ActiveRun, outcome: Outcome, cancelled: bool = False) -> None:
        """A run is over."""
        run = active_run.run
        answers, commit = self._answers.pop(run.id, {}), self._commits.pop(run.id, None)
        start = self._begun.pop(run.id, None)
        if start is None:  # it ended already
            return
        self._write(
            RunRecord.of_start(
                start,
                evaluated=min(run.began + active_run.seconds, self._context.now),
                ended=self._context.now,
                jobs=0.0 if outcome.work is None else outcome.work.jobs,
                read=0.0 if outcome.work is None else outcome.work.read,
                answers=answers,
                commit=commit,
                cancelled=cancelled,
                error=outcome.error,
                operators=tuple((done.operator, done.tuples_in, done.tuples_out) for done in outcome.operators),
                recorded_why=None,  # it was written with the start
            )
        )
        self._flush()

    # -- tuples and results ------------------------------------------------------------------------------------

    def arrived(self, stream: str, chunks: Any) -> None:
        """Tuples have come to a stream."""
        self._chunks.setdefault(stream, []).extend((arrival, count) for arrival, count in chunks)
        if self._context.now >= self._flushed + EVERY:
            self._flush()

    def forget(self, stream: str) -> None:
        """A stream is gone: of its newest tuples nothing is written."""
        self._chunks.pop(stream, None)

    def delivered(self, outbox: Outbox) -> None:
        """A sink has taken a query's results."""
        self._note_setting()
        now = self._context.now
        commit, size = outbox.newest_in_delivery, outbox.size_in_delivery
        self._write(Delivery(now, outbox.query, commit, now - outbox.taken_at, size))

    def _flush(self) -> None:
        self._note_setting()
        self._flushed = self._context.now
        for stream, chunks in self._chunks.items():
            self._write(Arrivals(self._flushed, stream, tuple(chunks)))
        self._chunks = {}

    def _note_setting(self) -> None:
        """Write down what is scheduled, if that has changed."""
        scheduler = self._scheduler
        now, policy = self._context.now, f"{scheduler.policy}, fuse {scheduler.fuse.value}"
        if now < self._next_setting or (scheduler.network is self._network and policy == self._policy):
            return
        self._network, self._policy = scheduler.network, policy
        self._next_setting = now + EVERY + PER_QUERY * len(scheduler.network.queries)
        if self._origin is None:
            self._origin = now
        self._write(Setting(now, self._origin, header(scheduler)))


def _answer(count: int, arrivals: Floats, own: Floats, released: float | None) -> Answer:
    first, longest, mean = float(arrivals.min()), 0.0, 0.0
    if len(own) == len(arrivals):
        windows = np.maximum(arrivals - own, 0.0)
        longest, mean = float(windows[arrivals == first].max()), float(windows.mean())
    return Answer(count, float(arrivals.sum()) / len(arrivals), first, released, longest, mean)
