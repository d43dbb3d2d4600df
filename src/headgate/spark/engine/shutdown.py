"""Closing: what is under way ends, results go to their sinks, and nothing more is taken."""

from __future__ import annotations

from headgate.model import closed
from headgate.spark.engine.context import Desk
from headgate.spark.engine.delivery import Delivering
from headgate.spark.engine.lifecycle import PASSING
from headgate.spark.engine.maintenance import Retaining
from headgate.spark.engine.messages import Answer, Close, Command, GiveUp, Survey
from headgate.spark.engine.runs import Running
from headgate.spark.engine.tasks import Tidy
from headgate.spark.engine.views import Views


class Closing:
    """The end of an engine, in three steps: runs end, sinks take what waits, the commit log is shortened.

    A sink that takes longer than the caller's patience is left behind; the answer names it.
    """

    def __init__(
        self, desk: Desk, running: Running, delivering: Delivering, retaining: Retaining, views: Views
    ) -> None:
        self._desk, self._running, self._delivering = desk, running, delivering
        self._retaining, self._views = retaining, views
        self._tickets: list[int] = []
        self._patience = 0.0
        self._deadline: float | None = None  # set when the sinks begin to take what is left
        self._tidying = False
        self._answer: tuple[list[str], Exception | None] | None = None

    def refuses(self, message: Command) -> bool:
        """Whether a command comes too late. How everything stood can still be asked."""
        return bool(self._tickets) and not isinstance(message, Close | Survey | GiveUp)

    def begin(self, asked: Close) -> None:
        self._tickets.append(asked.ticket)
        if len(self._tickets) == 1:
            self._running.still, self._patience = True, asked.patience
            self._views.refuse_all(closed())
        if self._answer is not None:
            self._reply()

    def watch(self) -> None:
        """Take the next step if it is time."""
        if not self._tickets or self._tidying or self._answer is not None:
            return
        if self._deadline is None:
            if self._running.flights or any(life.state in PASSING for life in self._desk.lives.values()):
                return
            self._deadline = self._desk.now + self._patience
            self._desk.at(self._deadline, lambda: None)
        self._delivering.flush()
        if (self._delivering.empty or self._desk.now >= self._deadline) and not self._retaining.busy:
            self._tidying = True
            self._desk.give(Tidy(self._retaining.bound, last=True), self._tidied)

    def _tidied(self, answer: Answer) -> None:
        left = sorted({outlet.query for outlet in self._delivering.slow})
        for life in [self._desk.lives[name] for name in left if name in self._desk.lives]:
            self._running.suspend(life, f"its sink was left behind at the end, after {self._patience:g} s")
        if left:
            self._desk.tell("warning", "closed without waiting for sinks", queries=", ".join(left))
        self._answer = left, answer.error
        self._reply()

    def _reply(self) -> None:
        assert self._answer is not None
        for ticket in self._tickets:
            self._desk.reply(ticket, *self._answer)
        self._tickets = [0]  # still closed, but nobody waits
