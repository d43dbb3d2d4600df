"""Commands of callers about queries that exist. Each is carried out completely or refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from headgate.core import QueryMoved
from headgate.model import ConflictError, HeadgateError, Query
from headgate.model.target_checks import check_not_contradicted
from headgate.spark.machine import messages as m
from headgate.spark.machine.delivery import Delivery
from headgate.spark.machine.interfaces import RememberedQuery
from headgate.spark.machine.lag_limits import LagLimits
from headgate.spark.machine.lifecycle import Life, QueryState, check_possible
from headgate.spark.machine.policy_changes import PolicyChanges
from headgate.spark.machine.preparation import Preparation
from headgate.spark.machine.repositioning import Repositioning
from headgate.spark.machine.runs import Runs
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.starting import Starting
from headgate.spark.machine.tasks import CheckedQuery, CheckQuery, DiscardFragmentLogs, WriteCommit

STOP_PATIENCE = 2.0  # seconds that a run gets to end whose queries are to be stopped


class Commands:
    """Carries out commands."""

    def __init__(
        self,
        scheduling: Scheduling,
        preparation: Preparation,
        delivery: Delivery,
        lag_limits: LagLimits,
        repositioning: Repositioning,
        starting: Starting,
        policy_changes: PolicyChanges,
        runs: Runs,
    ) -> None:
        self._context, self._runs = scheduling.context, runs
        self._scheduling, self._preparation = scheduling, preparation
        self._delivery, self._lag_limits = delivery, lag_limits
        self._repositioning, self._starting, self._policy_changes = repositioning, starting, policy_changes
        self.handlers: Mapping[type, Callable[[Any], None]] = {
            m.AddQuery: starting.add,
            m.CheckNewQuery: starting.check_new,
            m.Pause: self._pause,
            m.Resume: self._resume,
            m.Replace: self._replace,
            m.Stop: self._stop,
            m.Move: self._move,
        }

    # -- pausing, resuming, moving -----------------------------------------------------------------------------

    def _when_settled(self, command: Any, act: Callable[[Life], None]) -> None:
        """Act on a query once it is settled; it may have been removed by then, which is an error."""

        def late() -> None:
            try:
                act(self._context.life(command.name))
            except HeadgateError as error:
                self._context.reply(command.ticket, error=error)
            except Exception as error:  # a bug; `Machine.failed` would answer another command
                self._context.reply(
                    command.ticket, error=HeadgateError(f"internal error: {error}", hint="please report it")
                )
                raise

        self._context.when_settled(self._context.life(command.name), late)

    def _pause(self, command: m.Pause) -> None:
        life = self._context.life(command.name)
        if life.busy and life.state is QueryState.RUNNING and not life.deferred and not life.writing:
            self._pause_now(command, life)  # the active run is still committed
        else:
            self._when_settled(command, lambda life: self._pause_now(command, life))

    def _pause_now(self, command: m.Pause, life: Life) -> None:
        check_possible("pause", life.name, life.state)
        if life.state is QueryState.PAUSED:
            self._context.reply(command.ticket)
            return
        former, error, failures, awaits_spark = life.state, life.error, life.failures, life.awaits_spark

        def written(refused: Exception | None) -> None:
            if refused is None:
                life.paused = True  # else as commits had it: they may say so since a resume that failed
            else:
                life.failures, life.awaits_spark = failures, awaits_spark
                self._go_back(life, former, error, "could not be paused")
            self._context.reply(command.ticket, error=refused)

        self._scheduling.leave(life)
        life.failures, life.awaits_spark = 0, False
        self._context.write_description(life, life.description(paused=True), written)
        # Commands that wait come after the commit.
        self._context.change_state(life, QueryState.PAUSED, "paused", command.reason)

    def _go_back(self, life: Life, former: QueryState, error: str, reason: str) -> None:
        """Return a query to its former state, since a commit says that it is not paused."""
        if life.state is not QueryState.PAUSED:  # another command has come meanwhile
            return
        if life.busy:  # the runs that were active end first
            self._context.when_settled(life, lambda: self._go_back(life, former, error, reason))
        elif former in (QueryState.RUNNING, QueryState.WAITING):
            self._preparation.prepare(life, reason)
        else:
            self._context.change_state(life, former, reason, error)

    def _resume(self, command: m.Resume) -> None:
        def written(refused: Exception | None) -> None:
            life = self._context.lives.get(command.name)
            if life is not None and refused is None:
                life.paused = False
            self._context.reply(command.ticket, error=refused)

        def resume(life: Life) -> None:
            check_possible("resume", life.name, life.state)
            if life.state is QueryState.SCHEDULED:
                self._starting.begin(life, command.ticket)
            elif life.state is QueryState.INCOMPLETE:
                self._starting.try_again(life, command.ticket)
            elif life.state in (QueryState.RUNNING, QueryState.DONE):
                self._delivery.offer_again(life)  # its sink may have refused results
                self._context.reply(command.ticket)  # it is running already, or has nothing left to do
            elif self._delivery.offer_again(life):
                life.failures = 0
                if life.paused:
                    self._context.write_description(life, life.description(), written)
                else:
                    self._context.reply(command.ticket)
                if life.state is not QueryState.WAITING:
                    self._context.change_state(life, QueryState.WAITING, "first its sink takes what it refused")
            else:
                life.failures = 0
                self._preparation.prepare(life, "resumed", lambda error: self._resumed(life, command.ticket, error))

        self._when_settled(command, resume)

    def _resumed(self, life: Life, ticket: int | None, error: Exception | None) -> None:
        if error is not None:
            self._context.change_state(life, QueryState.SUSPENDED, "could not go on", self._context.explain(error))
        self._context.reply(ticket, error=error if life.paused else None)  # commits say that it is paused still

    def _move(self, command: m.Move) -> None:
        def move(life: Life) -> None:
            check_possible("move", life.name, life.state)
            self._scheduling.check_class(command.query_class)
            classes = self._scheduling.scheduler.network.classes
            check_not_contradicted(life.query, classes[command.query_class])
            former = life.query.query_class

            def written(refused: Exception | None) -> None:
                life.may_become = ()
                if refused is not None:
                    self._change_class(life, former)
                self._context.reply(command.ticket, error=refused)

            life.may_become = (life.query,)
            self._change_class(life, command.query_class)
            self._context.write_description(life, life.description(paused=life.paused), written)

        life = self._context.life(command.name)
        if life.state is QueryState.RUNNING and not life.deferred and not life.writing:
            move(life)
        else:
            self._when_settled(command, move)

    def _change_class(self, life: Life, query_class: str) -> None:
        if life.entered:
            self._scheduling.tell(QueryMoved(life.name, query_class))
        life.query = replace(life.query, query_class=query_class)
        life.tally.classes.append((self._context.now, query_class))
        self._lag_limits.limits_changed()

    # -- replacing a query's SQL -------------------------------------------------------------------------------

    def _replace(self, command: m.Replace) -> None:
        life = self._context.life(command.query.name)
        check_possible_later("replace", life)
        by_name = m.Stop(command.ticket, command.query.name)  # `_when_settled` needs a ticket and a name

        def checked(answer: m.Answer) -> None:
            if answer.error is not None:
                self._context.reply(command.ticket, error=answer.error)
                return
            try:
                self._when_settled(by_name, lambda life: self._replace_now(command, life, answer.value))
            except HeadgateError as error:  # it was stopped meanwhile
                self._context.reply(command.ticket, error=error)

        self._context.submit(CheckQuery(command.query), checked)

    def _replace_now(self, command: m.Replace, life: Life, checked: CheckedQuery) -> None:
        check_possible("replace", life.name, life.state)
        check_columns(life.name, life.columns, checked.columns)
        self._scheduling.check_reads(command.query)
        self._scheduling.check_logs(command.query)
        query = replace(life.query, plan=command.query.plan, sql=command.query.sql)  # the rest may have changed
        self._policy_changes.check(query)
        if life.reopen_from is not None:  # rows wait between its fragments, which are not open
            hint = "resume it, then replace its SQL"
            raise ConflictError(f"query '{life.name}' goes on from before, and has not begun yet", hint=hint)
        if life.state is QueryState.SCHEDULED:
            self._replace_scheduled(command, life, query, checked)
            return

        def ended(error: Exception | None) -> None:
            life.may_become = ()
            self._context.reply(command.ticket, error=error)

        life.may_become = (life.query, query)
        self._repositioning.replace(life, query, checked, ended)

    def _replace_scheduled(self, command: m.Replace, life: Life, query: Query, checked: CheckedQuery) -> None:
        before = life.query, life.unfragmented

        def written(refused: Exception | None) -> None:
            life.may_become = ()
            if refused is not None:
                life.query, life.unfragmented = before
            else:
                self._context.remembered[life.name] = RememberedQuery(life.description())
            self._context.reply(command.ticket, error=refused)

        life.may_become = (life.query,)
        life.query, life.unfragmented = query, checked.unfragmented
        self._context.write_description(life, life.description(), written)

    # -- stopping a query --------------------------------------------------------------------------------------

    def _stop(self, command: m.Stop) -> None:
        life = self._context.life(command.name)
        if life.busy:
            life.stopping = True
            self._cancel_later(life)
        self._stop_when_settled(command)

    def _cancel_later(self, life: Life) -> None:
        """Cancel the runs of a query that is to be stopped, again and again until it is idle."""

        def cancel() -> None:
            if life.stopping and life.busy:
                self._runs.cancel_stopping(life)
                self._cancel_later(life)

        self._context.call_at(self._context.now + STOP_PATIENCE, cancel)

    def _stop_when_settled(self, command: m.Stop) -> None:
        def stop(life: Life) -> None:
            life.stopping = False
            check_possible("stop", life.name, life.state)
            self._scheduling.leave(life)
            self.remove(life, command.ticket, None)

        self._when_settled(command, stop)

    def stop_if_there(self, life: Life) -> None:
        """Stop a query whose end has come; what came before is still evaluated."""
        if self._context.lives.get(life.name) is life:
            self._stop_when_settled(m.Stop(0, life.name))

    def remove(self, life: Life, ticket: int | None, refused: Exception | None) -> None:
        """Write a commit that removes a query; `refused` is the reason if the query could not start.

        If that fails, the query stays: one that could not start is suspended, since a commit describes it.
        """
        former, error = life.state, life.error
        self._context.change_state(life, QueryState.STOPPED, "stopped" if refused is None else "refused")

        def written(answer: m.Answer) -> None:
            if answer.error is not None and refused is not None:
                self._context.change_state(
                    life, QueryState.SUSPENDED, "could not go on", self._context.explain(refused)
                )
                self._context.reply(ticket, life.name)
                return
            if answer.error is not None:
                self._context.reply(ticket, error=answer.error)
                if former is QueryState.RUNNING:
                    self._preparation.prepare(life, "could not be stopped")
                else:
                    self._context.change_state(life, former, "could not be stopped", error)
                return
            if life.layout is not None and not life.layout.whole:
                self._context.submit(DiscardFragmentLogs(life.layout), lambda answer: gone())
            else:
                gone()

        def gone() -> None:
            self._context.remembered.pop(life.name, None)
            self._delivery.close(life, closed)

        def closed() -> None:
            """Only now the name is free: a new query of that name is checked against what this one has left."""
            self._context.remove(life, "stopped" if refused is None else "refused")
            self._lag_limits.limits_changed()
            self._context.reply(ticket, error=refused)

        self._context.submit(WriteCommit(queries={life.name: None}, ended_queries=(life.name,)), written)


def check_possible_later(command: str, life: Life) -> None:
    """Refuse a command now if the query's state, which nothing under way will change, does not allow it."""
    if life.settled:
        check_possible(command, life.name, life.state)


def check_columns(name: str, before: Any, now: Any) -> None:
    """Refuse SQL whose results have other columns than those that a query has given so far."""
    if now != before:
        raise ConflictError(
            f"query '{name}' gives {_listed(before)}, the new SQL {_listed(now)}",
            hint="give the same columns, or stop it and start another one",
        )


def _listed(columns: Any) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in columns)
