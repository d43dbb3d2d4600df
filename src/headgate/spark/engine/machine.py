"""The engine as a state machine: messages in, tasks and replies out.

It is pure in the sense of the scheduling core: each message comes with its own `now`; nothing here reads a clock,
starts a thread, opens a file or knows Spark. One thread owns it (`owner`), or a simulation drives it
(`tests/spark/chaos`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headgate.core import Scheduler
from headgate.model import HeadgateError, closed
from headgate.spark.engine import messages as m
from headgate.spark.engine.backpressure import Limits
from headgate.spark.engine.commands import Commands
from headgate.spark.engine.context import Desk, Out
from headgate.spark.engine.delivery import Delivering
from headgate.spark.engine.fragments import Facts
from headgate.spark.engine.lifecycle import Life, State
from headgate.spark.engine.maintenance import Retaining
from headgate.spark.engine.policy_changes import Steering
from headgate.spark.engine.preparing import Known, Preparing
from headgate.spark.engine.repositioning import Relocating
from headgate.spark.engine.runs import Running
from headgate.spark.engine.scheduling import Scheduling
from headgate.spark.engine.shutdown import Closing
from headgate.spark.engine.spark_restart import Reviving
from headgate.spark.engine.views import Views


class Machine:
    """Everything that changes while an engine runs. `handle` is its one entrance."""

    def __init__(
        self,
        scheduler: Scheduler,
        facts: Facts,
        *,
        workers: int,
        known: Mapping[str, Known] | None = None,
        commits: int = 0,
        explain: Callable[[Exception], str] = str,
    ) -> None:
        self.desk = Desk(explain)
        self.scheduling = Scheduling(self.desk, scheduler, facts)
        self.delivering = Delivering(self.desk)
        self.desk.committed = commits
        self.running = Running(self.desk, self.scheduling, self.delivering, workers)
        self.preparing = Preparing(self.desk, self.scheduling, self.running, facts)
        self.limits = Limits(self.desk, self.scheduling)
        self.retaining = Retaining(self.desk, self.running, self.delivering, self.preparing)
        self.steering = Steering(self.desk, self.scheduling, self.running, self.preparing)
        self.relocating = Relocating(self.scheduling, self.preparing)
        self.commands = Commands(
            self.scheduling,
            self.running,
            self.preparing,
            self.delivering,
            self.limits,
            self.relocating,
            facts,
        )
        self.commands.known = self.retaining.known = dict(known or {})
        self.reviving = Reviving(self.desk, self.scheduling, self.running, self.preparing, self.delivering)
        self.views = Views(self.scheduling, self.running, self.delivering, self.limits, self.steering)
        self.closing = Closing(self.desk, self.running, self.delivering, self.retaining, self.views)
        self.running.prepare = lambda life: self.preparing.prepare(life, "tries again")
        self.delivering.suspend = self.running.suspend
        self.delivering.hold = self._hold
        self.delivering.go_on = self._go_on
        self._handlers: dict[type, Callable[[Any], None]] = {
            m.Answer: self.desk.answered,
            m.Appended: self._appended,
            m.TimePassed: lambda message: None,
            m.SparkDied: self.reviving.died,
            m.Close: self.closing.begin,
            m.SetPolicy: lambda asked: self.steering.set_policy(asked.policy, asked.fuse, asked.ticket),
            **self.commands.handlers,
            **self.views.handlers,
        }

    @property
    def due(self) -> float:
        """When it wants to hear of the time again; infinity: whenever there is a message."""
        return self.desk.due

    def handle(self, message: m.Message, now: float) -> list[Out]:
        """Take one message in. A command that is refused changes nothing."""
        self.desk.now = max(now, self.desk.now)
        try:
            if isinstance(message, m.Command) and self.closing.refuses(message):
                raise closed()
            self._handlers[type(message)](message)
            if isinstance(message, m.Answer):
                self.reviving.watch(message)
        except HeadgateError as error:
            if not isinstance(message, m.Command):
                raise
            self.desk.reply(message.ticket, error=error)
        self.desk.ring()
        for _ in range(3):  # a policy may fail when it is asked: then the former one is, and the last resort
            self.steering.watch_policy()
            self.running.assign()
            if not self.steering.watch_policy():
                break
        self.retaining.watch()
        self.views.watch()
        self.closing.watch()
        return self.desk.taken()

    # -- data --------------------------------------------------------------------------------------------------

    def _appended(self, message: m.Appended) -> None:
        self.scheduling.appended(message.stream, message.end, message.chunks)
        for life in self.limits.too_far(message.stream):
            if life.settled and not life.deferred:  # else with the next tuples, if it still lags then
                self.relocating.skip(life)

    def _hold(self, life: Life) -> None:
        """A sink has too much to take: its query waits, alone."""
        if life.state is State.RUNNING:
            self.scheduling.leave(life)
            self.desk.move(life, State.WAITING, "its sink has too much to take")

    def _go_on(self, life: Life) -> None:
        self.desk.when_settled(
            life, lambda: self.preparing.prepare(life, "its sink has room") if life.state is State.WAITING else None
        )

    def failed(self, message: m.Message, error: Exception) -> list[Out]:
        """A fault in the engine itself: only what the message was about is given up, and people are told."""
        reason = f"internal error: {type(error).__name__}: {error}"
        self.desk.tell("error", "internal error", message=type(message).__name__, error=error)
        if isinstance(message, m.Command):
            hint = "the engine goes on; please report it"
            self.desk.reply(message.ticket, error=HeadgateError(reason, hint=hint))
        if isinstance(message, m.Answer):
            self.running.give_up(message.task, reason)
        return self.desk.taken()
