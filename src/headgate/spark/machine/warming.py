"""Warming up: which units are run on made-up rows, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headgate.spark.machine.interfaces import ResumePoint
from headgate.spark.machine.lifecycle import QueryState
from headgate.spark.machine.messages import Answer, Warm
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.tasks import CancelRun, WarmUp


class Warming:
    """Hands out warm-ups. They change no state: no position, no cost, no result."""

    def __init__(self, scheduling: Scheduling) -> None:
        self._context, self._scheduling = scheduling.context, scheduling
        self._labels: set[str] = set()  # of those under way
        self.handlers: Mapping[type, Callable[[Any], None]] = {Warm: self._warm}

    def cancel(self) -> None:
        """End what is under way: the engine closes."""
        for label in self._labels:
            self._context.submit(CancelRun(label), lambda answer: None)

    def _warm(self, command: Warm) -> None:
        label = f"warm-{self._context.new_id()}"
        self._labels.add(label)

        def ended(answer: Answer) -> None:
            self._labels.discard(label)
            if answer.error is not None:  # if Spark has died, it is started again as after any task
                self._context.log("debug", "warming up ended early", why=self._context.explain(answer.error))
            self._context.reply(command.ticket, answer.value or 0)

        task = WarmUp(label, tuple(self._groups()), command.limit, command.progress)
        self._context.submit(task, ended)

    def _groups(self) -> Iterator[tuple[ResumePoint, ...]]:
        """The running queries of each unit, those of the most important class first, and each query once."""
        scheduler, lives = self._scheduling.scheduler, self._context.lives
        classes = scheduler.network.classes
        seen: set[str] = set()
        for unit in sorted(scheduler.units, key=lambda unit: -classes[unit.payer].priority):
            group = [lives[name] for name in unit.queries if name in lives and name not in seen]
            running = [life.resume_point() for life in group if life.state is QueryState.RUNNING and life.entered]
            seen.update(unit.queries)
            if running:
                yield tuple(running)
