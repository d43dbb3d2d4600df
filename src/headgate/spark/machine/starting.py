"""Starting queries: new ones, and those that commits remember from before the start of the engine.

A query from before may lack something that the directory cannot store: its callback, or a table that was a DataFrame.
Then it is *incomplete*. Nothing of it runs, and its committed results stay, until what it lacks is given again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf

from headgate.model import ConflictError, HeadgateError, Query, relation
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.machine import messages as m
from headgate.spark.machine.definitions import QUERIES, check_same, definition
from headgate.spark.machine.delivery import Delivery
from headgate.spark.machine.interfaces import RememberedQuery, keyed
from headgate.spark.machine.lag_limits import LagLimits
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.plan_views import CheckedPlan, group_of
from headgate.spark.machine.policy_changes import PolicyChanges
from headgate.spark.machine.preparation import Preparation, ToPrepare
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.tasks import CheckedQuery, CheckQuery, FindUndelivered


class Starting:
    """Checks queries and lets them begin."""

    def __init__(
        self,
        scheduling: Scheduling,
        preparation: Preparation,
        delivery: Delivery,
        lag_limits: LagLimits,
        policy_changes: PolicyChanges,
    ) -> None:
        self.stop: Callable[[Life], None]  # set by the machine, as is the next
        self.remove: Callable[[Life, int | None, Exception | None], None]
        self._context = scheduling.context
        self._scheduling, self._preparation = scheduling, preparation
        self._delivery, self._lag_limits, self._policy_changes = delivery, lag_limits, policy_changes

    def add(self, command: m.AddQuery) -> None:
        """Add a query; one that is there already may be declared again as it is."""
        self.check_addition(command)
        if (life := self._context.lives.get(command.query.name)) is not None:
            self._add_again(life, command)
        elif (life := self.admit(command)) is not None:
            self._check(life, command)
        else:
            self._context.reply(command.ticket, command.query.name)

    def check_addition(self, command: m.AddQuery) -> None:
        """Refuse a query as far as that needs no Spark, unless one of its name is there."""
        query = command.query
        self._scheduling.check_class(query.query_class)
        if not command.lacks:
            self._scheduling.check_reads(query)
        remembered = self._context.remembered.get(query.name)
        if remembered is None and query.name not in self._context.lives:
            self._scheduling.check_logs(query)
        elif remembered is not None and query.name not in self._context.lives:
            check_same(QUERIES, query.name, remembered.description, definition(query))
            _check_kind(query, remembered)

    def admit(self, command: m.AddQuery) -> Life | None:
        """Add a query that is to be checked by Spark; None if it is from before and cannot go on yet."""
        query, remembered = command.query, self._context.remembered.get(command.query.name)
        life = Life(query, added=self._context.now, added_by=command, from_before=remembered is not None)
        life.ends = _times(command, remembered)[1]
        life.tally.classes.append((self._context.now, query.query_class))
        self._context.add(life)
        if remembered is not None and command.lacks:
            self._leave_incomplete(life, _waits_for(command.lacks))
            return None
        if remembered is not None and (refusal := self._scheduling.refusal(query)) is not None:
            self._leave_incomplete(life, self._context.explain(refusal))
            return None
        return life

    def check_new(self, command: m.CheckNewQuery) -> None:
        """Check a query as if it were added, and reply with what that would lead to; nothing is started or kept."""
        query = command.query
        if command.query_class is None:
            self._scheduling.check_class(query.query_class)
        self._scheduling.check_reads(query)
        self._scheduling.check_logs(query)
        if (life := self._context.lives.get(query.name)) is not None:
            check_same(QUERIES, query.name, definition(life.query), definition(query))
        elif (remembered := self._context.remembered.get(query.name)) is not None:
            check_same(QUERIES, query.name, remembered.description, definition(query))

        def checked(answer: m.Answer) -> None:
            if answer.error is not None:
                self._context.reply(command.ticket, error=answer.error)
                return
            scheduler = self._scheduling.scheduler
            try:
                self._policy_changes.check(query, command.query_class)
                group = group_of(scheduler, query, command.query_class)
            except HeadgateError as error:
                self._context.reply(command.ticket, error=error)
                return
            self._context.reply(command.ticket, CheckedPlan(answer.value.columns, group))

        self._context.submit(CheckQuery(query, is_new=True), checked)

    def _add_again(self, life: Life, command: m.AddQuery) -> None:
        if not life.settled and not life.busy:
            self._context.when_settled(life, lambda: self._add_later(command))
            return
        check_same(QUERIES, life.name, definition(life.query), definition(command.query))
        if life.state is QueryState.INCOMPLETE:
            self._complete(life, command)
            return
        function = None if life.outbox is None else life.outbox.call
        if command.call is not None and command.call is not function:
            hint = "stop it first, or choose another name"
            raise ConflictError(f"query '{life.name}' exists already, with a callback of its own", hint=hint)
        self._context.reply(command.ticket, life.name)

    def _add_later(self, command: m.AddQuery) -> None:
        """Add a query again after what was under way for it; by then it may be gone."""
        try:
            self.add(command)
        except HeadgateError as error:
            self._context.reply(command.ticket, error=error)

    # -- incomplete queries ------------------------------------------------------------------------------------

    def _complete(self, life: Life, command: m.AddQuery) -> None:
        """Start an incomplete query with what it has been given, or keep waiting for the rest."""
        if command.lacks:
            life.added_by = command
            life.error = _waits_for(command.lacks)
            self._context.reply(command.ticket, life.name)
            return
        if (refusal := self._scheduling.refusal(command.query)) is not None:
            life.added_by, life.error = command, self._context.explain(refusal)
            self._context.reply(command.ticket, error=refusal)
            return
        life.query, life.added_by, life.added = command.query, command, self._context.now
        life.awaits_spark = False
        self._context.change_state(life, QueryState.CHECKING, "declared again")
        self._check(life, command)

    def table_declared(self, name: str) -> None:
        """Let queries go on that waited for a table."""
        for life in list(self._context.lives.values()):
            command = life.added_by
            if life.state is not QueryState.INCOMPLETE or command is None:
                continue
            others = tuple(lacking for lacking in command.lacks if not lacking.startswith(relation("table", name)))
            if others != command.lacks:
                self._complete(life, replace(command, ticket=0, query=life.query, lacks=others))

    def try_all_again(self) -> None:
        """Try to start all incomplete queries again that lack nothing: another policy may be able to schedule them."""
        for life in list(self._context.lives.values()):
            if life.state is QueryState.INCOMPLETE and life.added_by is not None and not life.added_by.lacks:
                self.try_again(life)

    def try_again(self, life: Life, ticket: int = 0) -> None:
        """Try to start an incomplete query again, if it lacks nothing."""
        assert life.added_by is not None
        if life.added_by.lacks:
            hint = "declare that again"
            raise ConflictError(f"query '{life.name}' {_waits_for(life.added_by.lacks)}", hint=hint)
        self._complete(life, replace(life.added_by, ticket=ticket, query=life.query))

    def _leave_incomplete(self, life: Life, error: str) -> None:
        """Keep a query from before as it was: its positions and its results that were not delivered count on."""
        if life.outbox is not None:
            remembered = self._context.remembered[life.name]
            oldest = min(life.outbox.oldest_commit, inf if (first := remembered.first_undelivered) is None else first)
            if oldest < inf:
                self._context.remembered[life.name] = replace(remembered, first_undelivered=int(oldest))
            self._delivery.close(life)
        life.outbox = life.unfragmented = life.layout = None
        self._context.change_state(life, QueryState.INCOMPLETE, "cannot go on yet", error)
        self._lag_limits.limits_changed()

    # -- checking ----------------------------------------------------------------------------------------------

    def _check(self, life: Life, command: m.AddQuery) -> None:
        def checked(answer: m.Answer) -> None:
            refused = answer.error or self._delivery.conflict(life.name, answer.value.columns)
            if refused is not None:
                self.refuse(life, command.ticket, refused)
                return
            self.accept(life, command, answer.value)
            self.start(life, command)

        self._context.submit(self.check_of(life, command), checked)

    def check_of(self, life: Life, command: m.AddQuery) -> CheckQuery:
        """The task that lets Spark check a query that was admitted."""
        remembered = self._context.remembered.get(life.name)
        life.ends = _times(command, remembered)[1]
        begun_before = remembered is not None and remembered.has_begun
        return CheckQuery(command.query, begun_before, is_new=remembered is None)

    def accept(self, life: Life, command: m.AddQuery, checked: CheckedQuery) -> None:
        """Take over what Spark says of a query, and open its sink."""
        life.unfragmented, life.columns = checked.unfragmented, checked.columns
        life.reported = set(checked.reported) | life.reported
        self._lag_limits.limits_changed()
        self._delivery.open(life, command.query.sink or "parquet", command.lane, command.behind, command.call)
        self._delivery.take_over_undelivered(life)

    def begins_at_once(self, life: Life, command: m.AddQuery) -> bool:
        """Whether nothing keeps a query that was accepted from beginning now."""
        remembered = self._context.remembered.get(life.name)
        if remembered is not None and command.call is not None:
            return False
        begins = _times(command, remembered)[0]
        begun = remembered is not None and remembered.has_begun
        return begun or begins is None or begins <= self._context.now

    def start(self, life: Life, command: m.AddQuery) -> None:
        """Let a query begin that was accepted, now or at its start, after results that a callback may not have got."""
        remembered = self._context.remembered.get(life.name)

        def undelivered_found(answer: m.Answer) -> None:
            if answer.error is not None:
                self.refuse(life, command.ticket, answer.error)
                return
            assert life.outbox is not None
            for commit, results, size in answer.value:
                life.outbox.put(commit, results, size, self._context.now)
            self._delivery.pump(life.outbox)
            start()

        def start() -> None:
            self.set_end(life)
            begins = _times(command, remembered)[0]
            begun = remembered is not None and remembered.has_begun
            if not begun and begins is not None and begins > self._context.now:
                self._schedule(life, begins, command.ticket)
            else:
                self.begin(life, command.ticket)

        if remembered is not None and command.call is not None:
            self._context.submit(FindUndelivered(life.name, command.query.sink or "parquet"), undelivered_found)
        else:
            start()

    def set_end(self, life: Life) -> None:
        """Let a query stop at its end."""
        if life.ends is not None:
            self._context.call_at(life.ends, lambda: self.stop(life))

    def _schedule(self, life: Life, start: float, ticket: int) -> None:
        """Let a query begin at its start, also if the engine has been restarted by then."""
        remembered = self._context.remembered.get(life.name)
        life.begins = start

        def written(error: Exception | None) -> None:
            if error is not None:
                self.refuse(life, ticket, error)
                return
            self._context.remembered[life.name] = RememberedQuery(life.description())
            self._context.call_at(start, lambda: self._begin_if_there(life))
            self._context.reply(ticket, life.name)

        # First the commit: commands that have waited are carried out as soon as the state is no longer transient.
        if remembered is not None and remembered.description == life.description():
            written(None)
        else:
            self._context.write_description(life, life.description(), written)
        self._context.change_state(life, QueryState.SCHEDULED, "its start lies ahead")

    def refuse(self, life: Life, ticket: int | None, error: Exception) -> None:
        """Remove a query that could not start, as if it had never been added; one from before stays, incomplete."""
        if life.name in self._context.remembered:
            life.awaits_spark = isinstance(error, SparkGoneError)
            self._leave_incomplete(life, self._context.explain(error))
            self._context.reply(ticket, error=error)
            return
        if life.state is not QueryState.STOPPED:
            self._context.change_state(life, QueryState.STOPPED, "refused", self._context.explain(error))
        if life.outbox is not None:
            self._delivery.close(life)
        self._context.remove(life, "refused")
        self._lag_limits.limits_changed()
        self._context.reply(ticket, error=error)

    # -- beginning ---------------------------------------------------------------------------------------------

    def begin(self, life: Life, ticket: int | None = None) -> None:
        """Start a query, at its committed positions if the data directory has any."""
        try:
            self._policy_changes.check(life.query)
            self.place(life)
        except HeadgateError as error:
            self.refuse(life, ticket, error)
            return
        if (wanted := self.to_prepare(life, ticket)) is not None:
            self.prepare(wanted)

    def prepare(self, wanted: ToPrepare) -> None:
        """Let a query run by itself."""
        self._preparation.prepare(
            wanted.life,
            "begins",
            wanted.ended,
            remembered=wanted.remembered,
            commit_description=wanted.commit_description,
        )

    def place(self, life: Life) -> None:
        """Set the positions at which a query begins."""
        self._preparation.place(life, self._context.remembered.get(life.name) or RememberedQuery())
        life.begins, life.description_committed = None, False

    def to_prepare(self, life: Life, ticket: int | None) -> ToPrepare | None:
        """What is left to do for a query that has its positions; None: nothing, it was done or paused before."""
        remembered = self._context.remembered.get(life.name)
        committed = remembered or RememberedQuery()
        if committed.description.get("done") or committed.description.get("paused"):
            self._come_back(life, committed)
            self._context.reply(ticket, life.name)
            return None

        def ended(error: Exception | None) -> None:
            if error is None:
                self._context.remembered.pop(life.name, None)
                self._context.reply(ticket, life.name)
            elif remembered is not None:
                self._context.remembered[life.name] = self._remembered_now(life, remembered)
                self.refuse(life, ticket, error)
            elif life.description_committed:
                self.remove(life, ticket, error)
            else:
                self.refuse(life, ticket, error)

        unchanged = all(
            committed.description.get(entry) == said for entry, said in life.description().items() if entry != "cut"
        )
        return ToPrepare(life, ended, committed, not unchanged)

    def _come_back(self, life: Life, committed: RememberedQuery) -> None:
        """Return a query that was done or paused to its state."""
        self._context.remembered.pop(life.name, None)
        if committed.description.get("done"):
            self._context.change_state(life, QueryState.DONE, "it was done before")
            return
        life.paused = True
        if "cut" in committed.description:
            life.reopen_from = committed  # before it runs again
        self._context.change_state(life, QueryState.PAUSED, "it was paused before")

    @staticmethod
    def _remembered_now(life: Life, before: RememberedQuery) -> RememberedQuery:
        """What commits say of a query that could not be started again.

        They describe it as before, unless the preparation has committed another description. Joining its fragments may
        have committed runs: the next start continues from there.
        """
        before = replace(before, unappended=tuple(life.unappended))
        if life.description_committed:
            return replace(before, description=life.description(), positions=keyed(life.positions))
        if life.layout is life.unfragmented:
            return before
        return replace(before, positions=keyed(life.positions))

    def _begin_if_there(self, life: Life) -> None:
        if self._context.lives.get(life.name) is life:  # if Spark is checking it again, it starts after that
            self._context.when_settled(life, lambda: self.begin(life) if life.state is QueryState.SCHEDULED else None)


def _times(command: m.AddQuery, remembered: RememberedQuery | None) -> tuple[float | None, float | None]:
    """When a query starts and ends; one from before keeps the times that it was first declared with."""
    if remembered is None:
        return command.start, command.end
    return remembered.description.get("begins"), remembered.description.get("ends", command.end)


def _waits_for(lacks: tuple[str, ...]) -> str:
    return f"waits for {' and '.join(lacks)}"


def _check_kind(query: Query, remembered: RememberedQuery) -> None:
    """Refuse to go on with a one-time query as a continuous one, or the other way round.

    Descriptions of older formats tell them apart only by the offsets at which a one-time query ends.
    """
    if remembered.has_begun and ("until" in remembered.description) != query.once:
        kind = "one-time" if "until" in remembered.description else "continuous"
        hint = "start it as that, or give it another name"  # the two kinds close windows at different times
        raise ConflictError(f"query '{query.name}' is in the data directory as a {kind} query", hint=hint)
