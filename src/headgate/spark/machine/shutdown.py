"""Shutdown: active runs end, sinks take what waits for them, and no further commands are accepted."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from headgate.model import closed
from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.delivery import Delivery
from headgate.spark.machine.lifecycle import TRANSIENT
from headgate.spark.machine.maintenance import Maintenance
from headgate.spark.machine.messages import Answer, CancelWait, Close, Command, DescribeAll, DescribeCosts
from headgate.spark.machine.runs import Runs
from headgate.spark.machine.tasks import FindPositions, Maintain, OpenStream, Prepare, PrepareTogether
from headgate.spark.machine.views import Views
from headgate.spark.machine.warming import Warming

GRACE = 2.0  # seconds that cancelled runs get to end
# Tasks that write to logs: nobody else may open them meanwhile.
_WRITING = (Prepare, PrepareTogether, FindPositions, OpenStream)


class Shutdown:
    """Closes an engine in three steps: runs end, sinks take what waits, the commit log is shortened.

    A run that takes longer than the caller's patience is cancelled: it was not committed, so nothing is lost, and the
    next engine on the directory does it again. A sink that takes longer is abandoned; the reply names its query.
    """

    def __init__(
        self,
        context: MachineContext,
        runs: Runs,
        delivery: Delivery,
        maintenance: Maintenance,
        views: Views,
        warming: Warming,
    ) -> None:
        self._context, self._runs, self._delivery = context, runs, delivery
        self._maintenance, self._views, self._warming = maintenance, views, warming
        self.leave_spark: Callable[[], None]  # no longer waits for a Spark that is to be restarted; set by the machine
        self._tickets: list[int] = []
        self._patience = 0.0
        self._cancel_at = self._abandon_at = inf  # when active runs are cancelled, and when no longer waited for
        self._deadline: float | None = None  # for the sinks; set once all runs have ended
        self._maintaining = False
        self._answer: tuple[list[str], Exception | None] | None = None

    def refuses(self, message: Command) -> bool:
        """Whether a command comes too late. The state of the engine can still be asked for."""
        return bool(self._tickets) and not isinstance(message, Close | DescribeAll | DescribeCosts | CancelWait)

    def begin(self, command: Close) -> None:
        self._tickets.append(command.ticket)
        if len(self._tickets) == 1:
            self._runs.closing, self._patience = True, command.patience
            self._cancel_at = self._context.now + command.run_patience
            self._abandon_at = self._cancel_at + GRACE
            for moment in (self._cancel_at, self._abandon_at):
                self._context.call_at(moment, lambda: None)
            self._views.refuse_all(closed())
            self._warming.cancel()
            self.leave_spark()
        if self._answer is not None:
            self._reply()

    def watch(self) -> None:
        """Take the next step if the one before it is complete."""
        if not self._tickets or self._maintaining or self._answer is not None:
            return
        if self._deadline is None:
            self._hurry()
            if self._runs_remain:
                return
            self._deadline = self._context.now + self._patience
            self._context.call_at(self._deadline, lambda: None)
        self._delivery.flush()
        if (self._delivery.empty or self._context.now >= self._deadline) and not self._maintenance.busy:
            self._maintaining = True
            self._context.submit(Maintain(self._maintenance.newest_unneeded, last=True), self._maintained)

    def _hurry(self) -> None:
        """Cancel or abandon runs whose time is over."""
        if not self._runs_remain:
            return
        if self._context.now >= self._cancel_at and not self._runs.cancelled:
            self._context.log("info", "runs are cancelled at the end", runs=len(self._runs.active_runs))
            self._runs.cancel()
        if self._context.now >= self._abandon_at:
            self._runs.abandon()

    @property
    def _runs_remain(self) -> bool:
        if self._runs.active_runs:
            return True
        if self._runs.cancelled:
            return self._context.awaits(*_WRITING)
        return any(life.state in TRANSIENT for life in self._context.lives.values())

    def _maintained(self, answer: Answer) -> None:
        left = sorted({outbox.query for outbox in self._delivery.in_delivery})
        for life in [self._context.lives[name] for name in left if name in self._context.lives]:
            self._runs.suspend(life, f"its sink was left behind at the end, after {self._patience:g} s")
        if left:
            self._context.log("warning", "closed without waiting for sinks", queries=", ".join(left))
        self._answer = left, answer.error
        self._reply()

    def _reply(self) -> None:
        assert self._answer is not None
        for ticket in self._tickets:
            self._context.reply(ticket, *self._answer)
        self._tickets = [0]  # still closing, but no caller waits
