"""The state machine that is the engine: it takes one message at a time and returns tasks and replies.

Each message comes with its own `now`. One thread owns the machine (`engine.owner`), or a simulation drives it
(`tests/spark/chaos`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headgate.core import Scheduler
from headgate.model import HeadgateError, closed
from headgate.spark.machine import messages as m
from headgate.spark.machine.catalog import Catalog
from headgate.spark.machine.commands import Commands
from headgate.spark.machine.context import MachineContext, Out
from headgate.spark.machine.declarations import Declarations
from headgate.spark.machine.delivery import Delivery
from headgate.spark.machine.dropping import Dropping
from headgate.spark.machine.interfaces import RememberedQuery, StreamFacts
from headgate.spark.machine.lag_limits import LagLimits
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.maintenance import Maintenance
from headgate.spark.machine.policy_changes import PolicyChanges
from headgate.spark.machine.preparation import Preparation
from headgate.spark.machine.repositioning import Repositioning
from headgate.spark.machine.run_history import RunHistory
from headgate.spark.machine.runs import Runs
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.shutdown import Shutdown
from headgate.spark.machine.spark_restart import SparkRestart
from headgate.spark.machine.spark_watch import SparkWatch
from headgate.spark.machine.starting import Starting
from headgate.spark.machine.starting_together import StartingTogether
from headgate.spark.machine.target_watch import TargetWatch
from headgate.spark.machine.views import Views
from headgate.spark.machine.warming import Warming


class Machine:
    """All state that changes while an engine runs. `handle` is its only entry point."""

    def __init__(
        self,
        scheduler: Scheduler,
        facts: StreamFacts,
        *,
        workers: int,
        remembered: Mapping[str, RememberedQuery] | None = None,
        catalog: Mapping[str, Mapping[str, Any]] | None = None,
        commits: int = 0,
        held: bool = False,
        explain: Callable[[Exception], str] = str,
    ) -> None:
        self.context = MachineContext(explain)
        self.scheduling = Scheduling(self.context, scheduler, facts)
        self.delivery = Delivery(self.context)
        self.context.newest_commit = commits
        self.history = RunHistory(self.scheduling, self.context.record)
        self.runs = Runs(self.context, self.scheduling, self.delivery, self.history, workers)
        self.preparation = Preparation(self.context, self.scheduling, self.runs, facts)
        self.lag_limits = LagLimits(self.context, self.scheduling)
        self.maintenance = Maintenance(self.context, self.runs, self.delivery, self.preparation)
        self.catalog = Catalog(self.context, catalog or {})
        self.policy_changes = PolicyChanges(self.context, self.scheduling, self.runs, self.preparation, self.catalog)
        self.repositioning = Repositioning(self.scheduling, self.preparation)
        self.declarations = Declarations(self.scheduling, self.catalog, self.lag_limits, facts)
        self.dropping = Dropping(self.scheduling, self.declarations, self.catalog, self.delivery, self.preparation)
        self.starting = Starting(self.scheduling, self.preparation, self.delivery, self.lag_limits, self.policy_changes)
        self.starting_together = StartingTogether(
            self.scheduling, self.starting, self.preparation, self.delivery, self.policy_changes
        )
        self.commands = Commands(
            self.scheduling,
            self.preparation,
            self.delivery,
            self.lag_limits,
            self.repositioning,
            self.starting,
            self.policy_changes,
            self.runs,
        )
        self.context.remembered = dict(remembered or {})
        self.runs.held = held
        self.spark_restart = SparkRestart(self.context, self.scheduling, self.runs, self.preparation, self.delivery)
        self.spark_watch = SparkWatch(self.context, self.runs)
        self.target_watch = TargetWatch(self.scheduling, self.runs)
        self.views = Views(
            self.scheduling,
            self.runs,
            self.delivery,
            self.lag_limits,
            self.policy_changes,
            self.target_watch,
            self.spark_watch,
        )
        self.warming = Warming(self.scheduling)
        self.shutdown = Shutdown(self.context, self.runs, self.delivery, self.maintenance, self.views, self.warming)
        self._connect()
        self._handlers = self._all_handlers()
        self.declarations.handle = lambda command: self._handlers[type(command)](command)

    def _connect(self) -> None:
        """Set the calls from parts to those that are built after them."""
        self.runs.note_results = self.target_watch.committed
        self.runs.prepare = lambda life: self.preparation.prepare(life, "tries again")
        self.delivery.suspend = self.runs.suspend
        self.delivery.note_delivery = self.history.delivered
        self.delivery.wait_for_sink = self._wait_for_sink
        self.delivery.go_on = self._go_on
        self.declarations.table_declared = self.starting.table_declared
        self.dropping.forget_arrivals = self.history.forget
        self.spark_restart.start = self.starting.try_again
        self.shutdown.leave_spark = self.spark_restart.close
        self.policy_changes.changed = self.starting.try_all_again
        self.starting.stop = self.commands.stop_if_there
        self.starting.remove = self.commands.remove

    def _all_handlers(self) -> dict[type, Callable[[Any], None]]:
        """The handler of each type of message."""
        return {
            m.Answer: self.context.answered,
            m.Appended: self._appended,
            m.TimePassed: lambda message: None,
            m.SparkDied: self.spark_restart.died,
            m.SparkSeen: self.spark_watch.seen,
            m.Close: self.shutdown.begin,
            m.SetPolicy: lambda command: self.policy_changes.set_policy(command.policy, command.fuse, command.ticket),
            m.Begin: self._begin,
            m.AddQueries: self.starting_together.add,
            **self.declarations.handlers,
            **self.dropping.handlers,
            **self.commands.handlers,
            **self.views.handlers,
            **self.warming.handlers,
        }

    @property
    def due(self) -> float:
        """When the next timer is due; infinity if there is none."""
        return self.context.due

    def handle(self, message: m.Message, now: float) -> list[Out]:
        """Process one message. A command that is refused changes nothing."""
        self.context.now = max(now, self.context.now)
        try:
            if isinstance(message, m.Command) and self.shutdown.refuses(message):
                raise closed()
            self._handlers[type(message)](message)
            if isinstance(message, m.Answer):
                self.spark_restart.watch(message)
        except HeadgateError as error:
            if not isinstance(message, m.Command):
                raise
            self.context.reply(message.ticket, error=error)
        self.context.fire_timers()
        for _ in range(3):  # a policy may raise: then the former one decides, and after that the last resort
            self.policy_changes.watch_policy()
            self.runs.assign()
            if not self.policy_changes.watch_policy():
                break
        self.target_watch.watch()
        self.maintenance.watch()
        self.views.watch()
        self.shutdown.watch()
        return self.context.take_output()

    def _begin(self, command: m.Begin) -> None:
        self.runs.held = False
        self.context.reply(command.ticket)

    # -- data --------------------------------------------------------------------------------------------------

    def _appended(self, message: m.Appended) -> None:
        if message.stream not in self.scheduling.ends:
            return  # it is still being declared, or has been dropped meanwhile
        self.scheduling.appended(message.stream, message.end, message.chunks)
        self.history.arrived(message.stream, message.chunks)
        for life in self.lag_limits.must_skip(message.stream):
            if life.settled and not life.deferred:  # otherwise the next append asks again
                self.repositioning.skip(life)

    def _wait_for_sink(self, life: Life) -> None:
        """Stop running a query whose outbox is full; other queries go on."""
        if life.state is QueryState.RUNNING:
            self.scheduling.leave(life)
            self.context.change_state(life, QueryState.WAITING, "its sink has too much to take")

    def _go_on(self, life: Life) -> None:
        self.context.when_settled(
            life,
            lambda: self.preparation.prepare(life, "its sink has room") if life.state is QueryState.WAITING else None,
        )

    def failed(self, message: m.Message, error: Exception) -> list[Out]:
        """Handle a bug in the engine itself: log it, and give up only what the message was about."""
        reason = f"internal error: {type(error).__name__}: {error}"
        self.context.log("error", "internal error", message=type(message).__name__, error=error)
        if isinstance(message, m.Command):
            hint = "the engine goes on; please report it"
            self.context.reply(message.ticket, error=HeadgateError(reason, hint=hint))
        if isinstance(message, m.Answer):
            self.runs.give_up(message.task, reason)
        return self.context.take_output()
