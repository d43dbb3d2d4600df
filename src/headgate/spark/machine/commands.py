"""Commands: what callers ask of queries, classes and streams. Each happens whole, or it is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from headgate.core import Declared, PriorityChanged, QueryMoved
from headgate.model import HeadgateError, Query, check_known, check_relation, folded, relation
from headgate.spark.machine import messages as m
from headgate.spark.machine.backpressure import BackPressure
from headgate.spark.machine.delivery import Delivery
from headgate.spark.machine.fragments import StreamFacts, announced, keyed
from headgate.spark.machine.lifecycle import Life, QueryState, check_possible
from headgate.spark.machine.preparing import Preparing, RememberedQuery
from headgate.spark.machine.repositioning import Repositioning
from headgate.spark.machine.runs import Runs
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.tasks import Check, Checked, Discard, OpenStream, Recall, Write


class Commands:
    """Carries commands out."""

    def __init__(
        self,
        scheduling: Scheduling,
        runs: Runs,
        preparing: Preparing,
        delivery: Delivery,
        backpressure: BackPressure,
        repositioning: Repositioning,
        facts: StreamFacts,
    ) -> None:
        self.known: dict[str, RememberedQuery] = {}  # queries of former lives that have not come back
        self._context = scheduling.context
        self._scheduling, self._runs, self._preparing = scheduling, runs, preparing
        self._delivery, self._backpressure, self._facts = delivery, backpressure, facts
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

    # -- what there is -----------------------------------------------------------------------------------------

    def _declare_stream(self, asked: m.DeclareStream) -> None:
        stream = asked.stream
        check_relation("stream", stream.name, self._relations)
        self._relations[folded(stream.name)] = relation("stream", stream.name)

        def opened(answer: m.Answer) -> None:
            if answer.error is not None:
                del self._relations[folded(stream.name)]
            else:
                # Somebody may have appended already; what the owner hears of that later, it knows by then.
                self._scheduling.ends[stream.name] = self._facts.end(stream.name)
                self._scheduling.tell(Declared(stream=stream))
            self._context.reply(asked.ticket, error=answer.error)

        self._context.give(OpenStream(stream), opened)

    def _declare_table(self, asked: m.DeclareTable) -> None:
        check_relation("table", asked.name, self._relations)
        self._relations[folded(asked.name)] = relation("table", asked.name)
        self._context.reply(asked.ticket)

    def _declare_class(self, asked: m.DeclareClass) -> None:
        made = asked.query_class
        known = self._scheduling.scheduler.network.classes.get(made.name)
        if known is not None and known != made:
            hint = "change its priority with set_priority, or choose another name"
            raise HeadgateError(f"class '{made.name}' exists already, with priority {known.priority:g}", hint=hint)
        if known is None:
            self._scheduling.tell(Declared(query_class=made))
            self._backpressure.changed()
        self._context.reply(asked.ticket)

    def _set_priority(self, asked: m.SetPriority) -> None:
        check_known("class", asked.query_class, self._scheduling.scheduler.network.classes)
        self._scheduling.tell(PriorityChanged(asked.query_class, asked.priority))
        self._context.reply(asked.ticket)

    # -- a query begins ----------------------------------------------------------------------------------------

    def _add(self, asked: m.AddQuery) -> None:
        query, network = asked.query, self._scheduling.scheduler.network
        if query.name in self._context.lives:
            raise HeadgateError(f"query '{query.name}' exists already", hint="stop it first, or choose another name")
        check_known("class", query.query_class, network.classes)
        known = self.known.get(query.name)
        if known is not None and known.said.get("sql") != query.sql:
            raise HeadgateError(
                f"query '{query.name}' is in the data directory with other SQL",
                hint="give it another name, replace the SQL after starting it, or choose another directory",
            )
        if known is not None and ("until" in known.said) != query.once:
            kind = "one-time" if "until" in known.said else "continuous"
            hint = "start it as that, or give it another name"  # windows that the one has closed are open for the other
            raise HeadgateError(f"query '{query.name}' is in the data directory as a {kind} query", hint=hint)
        life = Life(query)
        life.tally.classes.append((self._context.now, query.query_class))
        self._context.begun(life)

        def checked(answer: m.Answer) -> None:
            if answer.error is not None:
                self._refused(life, asked.ticket, answer.error)
                return
            self._put(life, answer.value)
            self._backpressure.changed()
            self._delivery.open(life, query.sink or "parquet", asked.lane, asked.behind, asked.call)
            self._delivery.inherit(life)
            if known is not None and asked.call is not None:
                self._context.give(Recall(query.name, query.sink or "parquet"), recalled)
            else:
                start()

        def recalled(answer: m.Answer) -> None:
            if answer.error is not None:
                self._refused(life, asked.ticket, answer.error)
                return
            assert life.outbox is not None
            for commit, results, size in answer.value:
                life.outbox.put(commit, results, size, self._context.now)
            self._delivery.pump(life.outbox)
            start()

        def start() -> None:
            if asked.end is not None:
                self._context.at(asked.end, lambda: self._stop_if_there(life))
            if asked.start is not None and asked.start > self._context.now:
                self._context.move(life, QueryState.SCHEDULED, "its start lies ahead")
                self._context.at(asked.start, lambda: self._begin_if_there(life))
                self._context.reply(asked.ticket, life.name)
            else:
                self._begin(life, asked.ticket)

        self._context.give(Check(query, known is not None), checked)

    def _put(self, life: Life, checked: Checked) -> None:
        life.whole, life.columns = checked.whole, checked.columns
        life.told = set(checked.told) | life.told

    def _refused(self, life: Life, ticket: int | None, error: Exception) -> None:
        """A query that could not begin is as if it had never been."""
        if life.state is not QueryState.STOPPED:
            self._context.move(life, QueryState.STOPPED, "refused", self._context.explain(error))
        if life.outbox is not None:
            self._delivery.close(life)
        self._context.gone(life, "refused")
        self._backpressure.changed()
        self._context.reply(ticket, error=error)

    def _begin(self, life: Life, ticket: int | None = None) -> None:
        """Start a query where it stood, if the directory knows it."""
        found = self.known.get(life.name)
        known = found or RememberedQuery()
        try:
            self._check_policy(life.query)
            self._preparing.place(life, known)
        except HeadgateError as error:
            self._refused(life, ticket, error)
            return
        if known.said.get("done"):
            self.known.pop(life.name, None)
            self._context.move(life, QueryState.DONE, "it was done before")
            self._context.reply(ticket, life.name)
            return

        def ended(error: Exception | None) -> None:
            if error is None:
                self.known.pop(life.name, None)
                self._context.reply(ticket, life.name)
            elif found is not None:
                self.known[life.name] = self._known_now(life, found)
                self._refused(life, ticket, error)
            else:
                self._remove(life, ticket, error)  # a commit may have told of it already

        now = announced(life.resume_point())
        told = found is not None and all(found.said.get(each) == now.get(each) for each in ("sink", "starts", "until"))
        self._preparing.prepare(life, "begins", ended, known=known, announce=not told)

    @staticmethod
    def _known_now(life: Life, before: RememberedQuery) -> RememberedQuery:
        """What is known of a query that could not be started again.

        On the way it may have run and committed what waited inside: from there it begins the next time. If not even its
        pieces could be opened, it is in them still.
        """
        owed = tuple(life.owed)
        if "cut" in before.said and life.layout is life.whole and not life.announced:
            return replace(before, owed=owed)
        return replace(before, said=announced(life.resume_point()), at=keyed(life.positions), owed=owed)

    def _check_policy(self, query: Query) -> None:
        """Refuse a query that the policy cannot schedule."""
        scheduler = self._scheduling.scheduler
        network = scheduler.network
        if query.name in network.queries:
            network = network.remove(query.name)
        scheduler.policy.check(network.add(query))

    def _begin_if_there(self, life: Life) -> None:
        if self._context.lives.get(life.name) is life:  # Spark may be checking it again: then it begins after that
            self._context.when_settled(life, lambda: self._begin(life) if life.state is QueryState.SCHEDULED else None)

    # -- a query is steered ------------------------------------------------------------------------------------

    def _when_settled(self, asked: Any, act: Callable[[Life], None]) -> None:
        """Do something with a query once nothing of it is under way; it may be gone by then."""

        def late() -> None:
            try:
                act(self._context.life(asked.name))
            except HeadgateError as error:
                self._context.reply(asked.ticket, error=error)
            except Exception as error:  # a fault of ours: whoever waits hears of it, though the message is another's
                self._context.reply(
                    asked.ticket, error=HeadgateError(f"internal error: {error}", hint="please report it")
                )
                raise

        self._context.when_settled(self._context.life(asked.name), late)

    def _pause(self, asked: m.Pause) -> None:
        life = self._context.life(asked.name)
        if life.busy and life.state is QueryState.RUNNING and not life.deferred:
            self._pause_now(asked, life)  # the run that is under way still counts
        else:
            self._when_settled(asked, lambda life: self._pause_now(asked, life))

    def _pause_now(self, asked: m.Pause, life: Life) -> None:
        check_possible("pause", life.name, life.state)
        if life.state is not QueryState.PAUSED:
            self._scheduling.leave(life)
            life.failures, life.lost = 0, False
            self._context.move(life, QueryState.PAUSED, "paused")
        self._context.reply(asked.ticket)

    def _resume(self, asked: m.Resume) -> None:
        def resume(life: Life) -> None:
            check_possible("resume", life.name, life.state)
            if life.state is QueryState.SCHEDULED:
                self._begin(life, asked.ticket)
            elif life.state in (QueryState.RUNNING, QueryState.DONE):
                self._delivery.offer_again(life)  # its sink may not have taken all
                self._context.reply(asked.ticket)  # it does, or it has nothing left to do
            elif self._delivery.offer_again(life):
                life.failures = 0
                if life.state is not QueryState.WAITING:
                    self._context.move(life, QueryState.WAITING, "first its sink takes what it refused")
                self._context.reply(asked.ticket)
            else:
                life.failures = 0
                self._preparing.prepare(life, "resumed", lambda error: self._resumed(life, asked.ticket, error))

        self._when_settled(asked, resume)

    def _resumed(self, life: Life, ticket: int | None, error: Exception | None) -> None:
        if error is not None:
            self._context.move(life, QueryState.SUSPENDED, "could not go on", self._context.explain(error))
        self._context.reply(ticket)

    def _move(self, asked: m.Move) -> None:
        def move(life: Life) -> None:
            check_possible("move", life.name, life.state)
            check_known("class", asked.query_class, self._scheduling.scheduler.network.classes)
            if life.entered:
                self._scheduling.tell(QueryMoved(life.name, asked.query_class))
            life.query = replace(life.query, query_class=asked.query_class)
            life.tally.classes.append((self._context.now, asked.query_class))
            self._backpressure.changed()
            self._context.reply(asked.ticket)

        life = self._context.life(asked.name)
        if life.state is QueryState.RUNNING and not life.deferred:
            move(life)
        else:
            self._when_settled(asked, move)

    # -- a query gets other SQL --------------------------------------------------------------------------------

    def _replace(self, asked: m.Replace) -> None:
        life = self._context.life(asked.query.name)
        check_possible_later("replace", life)
        by_name = m.Stop(asked.ticket, asked.query.name)  # it has a name and a ticket, which is all that is needed

        def checked(answer: m.Answer) -> None:
            if answer.error is not None:
                self._context.reply(asked.ticket, error=answer.error)
                return
            try:
                self._when_settled(by_name, lambda life: self._replace_now(asked, life, answer.value))
            except HeadgateError as error:  # it has been stopped meanwhile
                self._context.reply(asked.ticket, error=error)

        self._context.give(Check(asked.query), checked)

    def _replace_now(self, asked: m.Replace, life: Life, checked: Checked) -> None:
        check_possible("replace", life.name, life.state)
        if checked.columns != life.columns:
            raise HeadgateError(
                f"query '{life.name}' gives {_listed(life.columns)}, the new SQL {_listed(checked.columns)}",
                hint="give the same columns, or stop it and start another one",
            )
        query = replace(asked.query, query_class=life.query.query_class, sink=life.query.sink)
        self._check_policy(query)
        if life.state is QueryState.SCHEDULED:
            if life.name in self.known:  # where it stands is known by the leaves of the SQL that it has
                hint = "resume it, then replace its SQL"
                raise HeadgateError(f"query '{life.name}' goes on from before, and has not begun yet", hint=hint)
            life.query, life.whole = query, checked.whole
            self._context.reply(asked.ticket)
            return
        self._repositioning.replace(life, query, checked, lambda error: self._context.reply(asked.ticket, error=error))

    # -- a query ends ------------------------------------------------------------------------------------------

    def _stop(self, asked: m.Stop) -> None:
        def stop(life: Life) -> None:
            check_possible("stop", life.name, life.state)
            self._scheduling.leave(life)
            self._remove(life, asked.ticket)

        self._when_settled(asked, stop)

    def _stop_if_there(self, life: Life) -> None:
        if self._context.lives.get(life.name) is life:
            self._stop(m.Stop(0, life.name))

    def _remove(self, life: Life, ticket: int | None, refused: Exception | None = None) -> None:
        """Let a commit forget a query; `refused` is why, if it is one that could not begin."""
        former, error = life.state, life.error
        self._context.move(life, QueryState.STOPPED, "stopped" if refused is None else "refused")

        def written(answer: m.Answer) -> None:
            if answer.error is not None and refused is None:
                self._context.reply(ticket, error=answer.error)
                if former is QueryState.RUNNING:
                    self._preparing.prepare(life, "could not be stopped")
                else:
                    self._context.move(life, former, "could not be stopped", error)
                return
            if life.layout is not None and not life.layout.whole:
                self._context.give(Discard(life.layout), lambda answer: gone())
            else:
                gone()

        def gone() -> None:
            self.known.pop(life.name, None)
            self._delivery.close(life)
            self._context.gone(life, "stopped" if refused is None else "refused")
            self._backpressure.changed()
            self._context.reply(ticket, error=refused)

        self._context.give(Write(queries={life.name: None}, over=(life.name,)), written)


def check_possible_later(command: str, life: Life) -> None:
    """Refuse a command that will not fit either once what is under way has ended."""
    if life.settled:
        check_possible(command, life.name, life.state)


def _listed(columns: Any) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in columns)
