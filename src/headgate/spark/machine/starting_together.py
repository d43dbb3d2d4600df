"""Starting many queries at once: Spark checks them side by side, one commit describes them, and they enter together.

Nothing of them is started before all are checked. If one is refused, none is started, unless each stands for itself, as
those that a directory remembers do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from headgate.model import HeadgateError, Query
from headgate.spark.machine import messages as m
from headgate.spark.machine.definitions import QUERIES, check_same, definition
from headgate.spark.machine.delivery import Delivery
from headgate.spark.machine.lifecycle import Life
from headgate.spark.machine.policy_changes import PolicyChanges
from headgate.spark.machine.preparation import Preparation, ToPrepare
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.starting import Starting
from headgate.spark.machine.tasks import CheckedQuery, CheckQueries

AT_A_TIME = 20  # queries that one task checks


@dataclass(slots=True, eq=False)
class _Group:
    """Queries that start together."""

    command: m.AddQueries
    lives: dict[str, Life] = field(default_factory=dict)  # those that are new
    commands: dict[str, m.AddQuery] = field(default_factory=dict)
    again: list[m.AddQuery] = field(default_factory=list)  # those that are there already
    checked: dict[str, CheckedQuery] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)
    later: list[Life] = field(default_factory=list)  # those that are checked after one of each shape
    unchecked: int = 0  # tasks that are under way
    beginning: int = 0  # queries that are under way

    @property
    def fails(self) -> bool:
        """Whether one that was refused keeps all others from starting."""
        return bool(self.errors) and not self.command.apart


class StartingTogether:
    """Checks queries side by side and lets them begin at once."""

    def __init__(
        self,
        scheduling: Scheduling,
        starting: Starting,
        preparation: Preparation,
        delivery: Delivery,
        policy_changes: PolicyChanges,
    ) -> None:
        self._context, self._delivery = scheduling.context, delivery
        self._starting, self._preparation, self._policy_changes = starting, preparation, policy_changes

    def add(self, command: m.AddQueries) -> None:
        """Add queries; those that are there already may be declared again as they are.

        While another command adds, changes or removes one of them, all wait: nobody knows yet whether it will be there.
        """
        if (changing := self._changing(command)) is not None:
            self._context.when_settled(changing, lambda: self._add_later(command))
            return
        group = _Group(command)
        for each in command.queries:
            try:
                self._sort(group, each)
            except HeadgateError as error:
                if not command.apart:
                    raise _named(error, each.query.name) from None
        for name, each in list(group.commands.items()):
            life = self._starting.admit(each)
            if life is None:  # it lacks something, and waits for that
                del group.commands[name]
            else:
                group.lives[name] = life
        self._check(group)

    def _changing(self, command: m.AddQueries) -> Life | None:
        """One of the queries for which something is under way that may end in several ways."""
        lives = (self._context.lives.get(each.query.name) for each in command.queries)
        return next((life for life in lives if life is not None and not life.settled and not life.busy), None)

    def _add_later(self, command: m.AddQueries) -> None:
        try:
            self.add(command)
        except HeadgateError as error:
            self._context.reply(command.ticket, error=error)

    def _sort(self, group: _Group, each: m.AddQuery) -> None:
        """Find out whether a query is new, and refuse it as far as that needs no Spark."""
        name, life = each.query.name, self._context.lives.get(each.query.name)
        if name in group.commands:
            check_same(QUERIES, name, definition(group.commands[name].query), definition(each.query))
            return
        self._starting.check_addition(each)
        if life is None:
            group.commands[name] = each
            return
        check_same(QUERIES, name, definition(life.query), definition(each.query))
        group.again.append(each)

    def _check(self, group: _Group) -> None:
        """First one query of each shape, side by side: most others are of a form that Spark knows by then."""
        first: dict[str, Life] = {}
        for life in group.lives.values():
            first.setdefault(_shape(life.query), life)
        names = {life.name for life in first.values()}
        group.later = [life for life in group.lives.values() if life.name not in names]
        self._check_parts(group, [[life] for life in first.values()])

    def _check_parts(self, group: _Group, parts: Sequence[Sequence[Life]]) -> None:
        group.unchecked = len(parts)
        for lives in parts:
            checks = tuple(self._starting.check_of(life, group.commands[life.name]) for life in lives)
            self._context.submit(CheckQueries(checks), partial(self._checked, group, lives))
        if not parts:
            self._all_checked(group)

    def _checked(self, group: _Group, lives: Sequence[Life], answer: m.Answer) -> None:
        for place, life in enumerate(lives):
            found = answer.error or answer.value[place]
            if not isinstance(found, Exception):
                found = self._delivery.conflict(life.name, found.columns) or found
            if isinstance(found, Exception):
                group.errors[life.name] = found
            else:
                group.checked[life.name] = found
        group.unchecked -= 1
        if not group.unchecked and group.later:
            later, group.later = group.later, []
            parts = [later[first : first + AT_A_TIME] for first in range(0, len(later), AT_A_TIME)]
            self._check_parts(group, parts)
        elif not group.unchecked:
            self._all_checked(group)

    def _all_checked(self, group: _Group) -> None:
        self._drop_refused(group)
        for name, life in group.lives.items():
            self._starting.accept(life, group.commands[name], group.checked[name])
        starting, commands = self._starting, group.commands
        together = [life for name, life in group.lives.items() if starting.begins_at_once(life, commands[name])]
        group.errors |= self._policy_changes.refused([life.query for life in together])
        for life in together:
            if life.name not in group.errors:
                self._place(group, life)
        self._drop_refused(group)
        self._begin(group, [life for life in together if life.name in group.lives])

    def _place(self, group: _Group, life: Life) -> None:
        try:
            self._starting.place(life)
        except HeadgateError as error:
            group.errors[life.name] = error

    def _drop_refused(self, group: _Group) -> None:
        """Refuse those that cannot start, and with them all others if they start together or not at all."""
        refused = dict(group.errors)
        if group.fails and group.lives:
            first = next(name for name in group.lives if name in group.errors)
            why = HeadgateError(f"it was to start together with query '{first}', which was refused")
            refused = {name: group.errors.get(name, why) for name in group.lives}
            group.again.clear()
        for name, error in refused.items():
            if (life := group.lives.pop(name, None)) is not None:
                self._starting.refuse(life, None, error)

    def _begin(self, group: _Group, together: Sequence[Life]) -> None:
        """Let those begin that are left: `together`, which have their positions, at once, and others by themselves."""
        at_once = {life.name for life in together}
        alone = [life for name, life in group.lives.items() if name not in at_once]
        group.beginning = len(group.lives) + len(group.again) + 1
        uncut: list[ToPrepare] = []
        for life in together:
            self._starting.set_end(life)
            wanted = self._starting.to_prepare(life, self._ticket(group, life.name))
            if wanted is not None and self._preparation.needs_cut(life, wanted.remembered):
                self._starting.prepare(wanted)
            elif wanted is not None:
                uncut.append(wanted)
        if uncut:
            self._preparation.prepare_all(uncut, "begins")
        for life in alone:
            command = group.commands[life.name]
            self._starting.start(life, replace(command, ticket=self._ticket(group, life.name)))
        for command in group.again:
            self._add_again(group, command)
        self._ended(group, "", None)

    def _add_again(self, group: _Group, command: m.AddQuery) -> None:
        ticket = self._ticket(group, command.query.name)
        try:
            self._starting.add(replace(command, ticket=ticket))
        except HeadgateError as error:
            self._context.reply(ticket, error=error)

    def _ticket(self, group: _Group, name: str) -> int:
        return self._context.expect(partial(self._ended, group, name))

    def _ended(self, group: _Group, name: str, error: Exception | None) -> None:
        """One of them has begun or failed; after the last of them the caller gets a reply."""
        if error is not None:
            group.errors[name] = error
        group.beginning -= 1
        if group.beginning:
            return
        order = (each.query.name for each in group.command.queries)
        failed = next((name for name in order if name in group.errors), None)
        if failed is None or group.command.apart:
            self._context.reply(group.command.ticket)
        else:
            self._context.reply(group.command.ticket, error=_named(group.errors[failed], failed))


def _shape(query: Query) -> str:
    """The SQL without its constants, more or less: only which query is checked first depends on it."""
    return re.sub(r"'[^']*'|\d", "0", query.sql or "")


def _named(error: Exception, query: str) -> Exception:
    """An error that says which query it is about."""
    place = f"query '{query}'"
    if not isinstance(error, HeadgateError) or place in str(error):
        return error
    return error.at(place)
