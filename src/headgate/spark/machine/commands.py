"""Commands of callers about streams, classes and queries. Each is carried out completely or refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from headgate.core import Declared, PriorityChanged, QueryMoved
from headgate.model import HeadgateError, Query, check_known, check_relation, folded, relation
from headgate.spark.machine import messages as m
from headgate.spark.machine.delivery import Delivery
from headgate.spark.machine.interfaces import StreamFacts, keyed, query_description
from headgate.spark.machine.lag_limits import LagLimits
from headgate.spark.machine.lifecycle import Life, QueryState, check_possible
from headgate.spark.machine.preparation import Preparation, RememberedQuery
from headgate.spark.machine.repositioning import Repositioning
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.tasks import (
    CheckedQuery,
    CheckQuery,
    DiscardFragmentLogs,
    FindUndelivered,
    OpenStream,
    WriteCommit,
)


class Commands:
    """Carries out commands."""

    def __init__(
        self,
        scheduling: Scheduling,
        preparation: Preparation,
        delivery: Delivery,
        lag_limits: LagLimits,
        repositioning: Repositioning,
        facts: StreamFacts,
    ) -> None:
        self.remembered: dict[str, RememberedQuery] = {}  # known from commits, not added again since the start
        self._context = scheduling.context
        self._scheduling, self._preparation = scheduling, preparation
        self._delivery, self._lag_limits, self._facts = delivery, lag_limits, facts
        self._repositioning = repositioning
        self._relations: dict[str, str] = {}  # streams and tables, by their names as SQL reads them
        self.handlers: Mapping[type, Callable[[Any], None]] = {
            m.DeclareStream: self._declare_stream,
            m.DeclareTable: self._declare_table,
            m.DeclareClass: self._declare_class,
            m.AddQuery: self._add,
            m.Pause: self._pause,
            m.Resume: self._resume,
            m.Replace: self._replace,
            m.Stop: self._stop,
            m.Move: self._move,
            m.SetPriority: self._set_priority,
        }

    # -- declarations ------------------------------------------------------------------------------------------

    def _declare_stream(self, command: m.DeclareStream) -> None:
        stream = command.stream
        check_relation("stream", stream.name, self._relations)
        self._relations[folded(stream.name)] = relation("stream", stream.name)

        def opened(answer: m.Answer) -> None:
            if answer.error is not None:
                del self._relations[folded(stream.name)]
            else:
                # Tuples may have been appended already; `Scheduling.appended` ignores news of them that come later.
                self._scheduling.ends[stream.name] = self._facts.end(stream.name)
                self._scheduling.tell(Declared(stream=stream))
            self._context.reply(command.ticket, error=answer.error)

        self._context.submit(OpenStream(stream), opened)

    def _declare_table(self, command: m.DeclareTable) -> None:
        check_relation("table", command.name, self._relations)
        self._relations[folded(command.name)] = relation("table", command.name)
        self._context.reply(command.ticket)

    def _declare_class(self, command: m.DeclareClass) -> None:
        query_class = command.query_class
        former = self._scheduling.scheduler.network.classes.get(query_class.name)
        if former is not None and former != query_class:
            hint = "change its priority with set_priority, or choose another name"
            raise HeadgateError(
                f"class '{query_class.name}' exists already, with priority {former.priority:g}", hint=hint
            )
        if former is None:
            self._scheduling.tell(Declared(query_class=query_class))
            self._lag_limits.limits_changed()
        self._context.reply(command.ticket)

    def _set_priority(self, command: m.SetPriority) -> None:
        check_known("class", command.query_class, self._scheduling.scheduler.network.classes)
        self._scheduling.tell(PriorityChanged(command.query_class, command.priority))
        self._context.reply(command.ticket)

    # -- starting a query --------------------------------------------------------------------------------------

    def _add(self, command: m.AddQuery) -> None:
        query, network = command.query, self._scheduling.scheduler.network
        if query.name in self._context.lives:
            raise HeadgateError(f"query '{query.name}' exists already", hint="stop it first, or choose another name")
        check_known("class", query.query_class, network.classes)
        remembered = self.remembered.get(query.name)
        if remembered is not None:
            _check_same(query, remembered)
        life = Life(query, added=self._context.now)
        life.tally.classes.append((self._context.now, query.query_class))
        self._context.add(life)

        def checked(answer: m.Answer) -> None:
            if answer.error is not None:
                self._refused(life, command.ticket, answer.error)
                return
            self._put(life, answer.value)
            self._lag_limits.limits_changed()
            self._delivery.open(life, query.sink or "parquet", command.lane, command.behind, command.call)
            self._delivery.take_over_undelivered(life)
            if remembered is not None and command.call is not None:
                self._context.submit(FindUndelivered(query.name, query.sink or "parquet"), undelivered_found)
            else:
                start()

        def undelivered_found(answer: m.Answer) -> None:
            if answer.error is not None:
                self._refused(life, command.ticket, answer.error)
                return
            assert life.outbox is not None
            for commit, results, size in answer.value:
                life.outbox.put(commit, results, size, self._context.now)
            self._delivery.pump(life.outbox)
            start()

        def start() -> None:
            if command.end is not None:
                self._context.call_at(command.end, lambda: self._stop_if_there(life))
            if command.start is not None and command.start > self._context.now:
                self._context.change_state(life, QueryState.SCHEDULED, "its start lies ahead")
                self._context.call_at(command.start, lambda: self._begin_if_there(life))
                self._context.reply(command.ticket, life.name)
            else:
                self._begin(life, command.ticket)

        self._context.submit(CheckQuery(query, remembered is not None), checked)

    def _put(self, life: Life, checked: CheckedQuery) -> None:
        life.unfragmented, life.columns = checked.unfragmented, checked.columns
        life.reported = set(checked.reported) | life.reported

    def _refused(self, life: Life, ticket: int | None, error: Exception) -> None:
        """Remove a query that could not start, as if it had never been added."""
        if life.state is not QueryState.STOPPED:
            self._context.change_state(life, QueryState.STOPPED, "refused", self._context.explain(error))
        if life.outbox is not None:
            self._delivery.close(life)
        self._context.remove(life, "refused")
        self._lag_limits.limits_changed()
        self._context.reply(ticket, error=error)

    def _begin(self, life: Life, ticket: int | None = None) -> None:
        """Start a query, at its committed positions if the data directory has any."""
        remembered = self.remembered.get(life.name)
        committed = remembered or RememberedQuery()
        try:
            self._check_policy(life.query)
            self._preparation.place(life, committed)
        except HeadgateError as error:
            self._refused(life, ticket, error)
            return
        if committed.description.get("done"):
            self.remembered.pop(life.name, None)
            self._context.change_state(life, QueryState.DONE, "it was done before")
            self._context.reply(ticket, life.name)
            return

        def ended(error: Exception | None) -> None:
            if error is None:
                self.remembered.pop(life.name, None)
                self._context.reply(ticket, life.name)
            elif remembered is not None:
                self.remembered[life.name] = self._remembered_now(life, remembered)
                self._refused(life, ticket, error)
            else:
                self._remove(life, ticket, error)  # a commit may describe it already

        description = query_description(life.resume_point())
        unchanged = remembered is not None and all(
            remembered.description.get(entry) == description.get(entry) for entry in ("sink", "starts", "until")
        )
        self._preparation.prepare(life, "begins", ended, remembered=committed, commit_description=not unchanged)

    @staticmethod
    def _remembered_now(life: Life, before: RememberedQuery) -> RememberedQuery:
        """What to remember of a query that could not be started again.

        Joining its fragments may have committed runs: the next start continues from there. If its fragments could not
        be opened at all, its committed description and positions still hold.
        """
        before = replace(before, unappended=tuple(life.unappended))
        if "cut" in before.description and life.layout is life.unfragmented and not life.description_committed:
            return before
        return replace(before, description=query_description(life.resume_point()), positions=keyed(life.positions))

    def _check_policy(self, query: Query) -> None:
        """Refuse a query that the policy cannot schedule."""
        scheduler = self._scheduling.scheduler
        network = scheduler.network
        if query.name in network.queries:
            network = network.remove(query.name)
        scheduler.policy.check(network.add(query))

    def _begin_if_there(self, life: Life) -> None:
        if self._context.lives.get(life.name) is life:  # if Spark is checking it again, it starts after that
            self._context.when_settled(life, lambda: self._begin(life) if life.state is QueryState.SCHEDULED else None)

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
        if life.busy and life.state is QueryState.RUNNING and not life.deferred:
            self._pause_now(command, life)  # the active run is still committed
        else:
            self._when_settled(command, lambda life: self._pause_now(command, life))

    def _pause_now(self, command: m.Pause, life: Life) -> None:
        check_possible("pause", life.name, life.state)
        if life.state is not QueryState.PAUSED:
            self._scheduling.leave(life)
            life.failures, life.awaits_spark = 0, False
            self._context.change_state(life, QueryState.PAUSED, "paused")
        self._context.reply(command.ticket)

    def _resume(self, command: m.Resume) -> None:
        def resume(life: Life) -> None:
            check_possible("resume", life.name, life.state)
            if life.state is QueryState.SCHEDULED:
                self._begin(life, command.ticket)
            elif life.state in (QueryState.RUNNING, QueryState.DONE):
                self._delivery.offer_again(life)  # its sink may have refused results
                self._context.reply(command.ticket)  # it is running already, or has nothing left to do
            elif self._delivery.offer_again(life):
                life.failures = 0
                if life.state is not QueryState.WAITING:
                    self._context.change_state(life, QueryState.WAITING, "first its sink takes what it refused")
                self._context.reply(command.ticket)
            else:
                life.failures = 0
                self._preparation.prepare(life, "resumed", lambda error: self._resumed(life, command.ticket, error))

        self._when_settled(command, resume)

    def _resumed(self, life: Life, ticket: int | None, error: Exception | None) -> None:
        if error is not None:
            self._context.change_state(life, QueryState.SUSPENDED, "could not go on", self._context.explain(error))
        self._context.reply(ticket)

    def _move(self, command: m.Move) -> None:
        def move(life: Life) -> None:
            check_possible("move", life.name, life.state)
            check_known("class", command.query_class, self._scheduling.scheduler.network.classes)
            if life.entered:
                self._scheduling.tell(QueryMoved(life.name, command.query_class))
            life.query = replace(life.query, query_class=command.query_class)
            life.tally.classes.append((self._context.now, command.query_class))
            self._lag_limits.limits_changed()
            self._context.reply(command.ticket)

        life = self._context.life(command.name)
        if life.state is QueryState.RUNNING and not life.deferred:
            move(life)
        else:
            self._when_settled(command, move)

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
        if checked.columns != life.columns:
            raise HeadgateError(
                f"query '{life.name}' gives {_listed(life.columns)}, the new SQL {_listed(checked.columns)}",
                hint="give the same columns, or stop it and start another one",
            )
        query = replace(command.query, query_class=life.query.query_class, sink=life.query.sink)
        self._check_policy(query)
        if life.state is QueryState.SCHEDULED:
            if life.name in self.remembered:  # its committed positions belong to leaves of the SQL that it has
                hint = "resume it, then replace its SQL"
                raise HeadgateError(f"query '{life.name}' goes on from before, and has not begun yet", hint=hint)
            life.query, life.unfragmented = query, checked.unfragmented
            self._context.reply(command.ticket)
            return
        self._repositioning.replace(
            life, query, checked, lambda error: self._context.reply(command.ticket, error=error)
        )

    # -- stopping a query --------------------------------------------------------------------------------------

    def _stop(self, command: m.Stop) -> None:
        def stop(life: Life) -> None:
            check_possible("stop", life.name, life.state)
            self._scheduling.leave(life)
            self._remove(life, command.ticket)

        self._when_settled(command, stop)

    def _stop_if_there(self, life: Life) -> None:
        if self._context.lives.get(life.name) is life:
            self._stop(m.Stop(0, life.name))

    def _remove(self, life: Life, ticket: int | None, refused: Exception | None = None) -> None:
        """Write a commit that removes a query; `refused` is the reason if the query could not start."""
        former, error = life.state, life.error
        self._context.change_state(life, QueryState.STOPPED, "stopped" if refused is None else "refused")

        def written(answer: m.Answer) -> None:
            if answer.error is not None and refused is None:
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
            self.remembered.pop(life.name, None)
            self._delivery.close(life)
            self._context.remove(life, "stopped" if refused is None else "refused")
            self._lag_limits.limits_changed()
            self._context.reply(ticket, error=refused)

        self._context.submit(WriteCommit(queries={life.name: None}, ended_queries=(life.name,)), written)


def _check_same(query: Query, remembered: RememberedQuery) -> None:
    """Refuse a query that is not the one that commits describe under its name."""
    if remembered.description.get("sql") != query.sql:
        raise HeadgateError(
            f"query '{query.name}' is in the data directory with other SQL",
            hint="give it another name, replace the SQL after starting it, or choose another directory",
        )
    if ("until" in remembered.description) != query.once:
        kind = "one-time" if "until" in remembered.description else "continuous"
        hint = "start it as that, or give it another name"  # the two kinds close windows at different times
        raise HeadgateError(f"query '{query.name}' is in the data directory as a {kind} query", hint=hint)


def check_possible_later(command: str, life: Life) -> None:
    """Refuse a command now if the query's state, which nothing under way will change, does not allow it."""
    if life.settled:
        check_possible(command, life.name, life.state)


def _listed(columns: Any) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in columns)
