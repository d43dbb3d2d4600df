"""What all parts of the engine's state machine share: its queries, the time, and what goes out."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from math import inf
from typing import Any

from headgate.model import HeadgateError, unknown
from headgate.spark.machine.lifecycle import TRANSITIONS, Life, QueryState, Transition
from headgate.spark.machine.messages import Answer
from headgate.spark.machine.tasks import Prepare, Reply, Task, WriteCommit

NEWEST = 50  # transitions that `status` shows
Then = Callable[[Answer], None]


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that people should know of: it is logged."""

    level: str
    text: str
    fields: Mapping[str, object]


Out = Task | Reply | Transition | Notice


class MachineContext:
    """Collects what one message leads to. Tasks are handed out with what is to happen once they are answered."""

    def __init__(self, explain: Callable[[Exception], str]) -> None:
        self.now = 0.0
        self.explain = explain  # an error in one line, as status shows it
        self.lives: dict[str, Life] = {}
        self.newest: deque[Transition] = deque(maxlen=NEWEST)
        self._out: list[Out] = []
        self.newest_commit = 0  # the newest commit that has been heard of
        self._then: dict[Task, Then] = {}
        self._committing: dict[Task, int] = {}  # tasks that commit, and the newest commit when they were given
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count(1)

    def submit(self, task: Task, then: Then) -> None:
        """Hand a task out."""
        self._then[task] = then
        if isinstance(task, WriteCommit | Prepare):
            self._committing[task] = self.newest_commit
        self._out.append(task)

    def answered(self, answer: Answer) -> None:
        """Go on after a task."""
        then = self._then.pop(answer.task)
        self._committing.pop(answer.task, None)
        then(answer)

    @property
    def certain_commit(self) -> int:
        """The newest commit such that what it and all before it produced has been heard of."""
        return min(self._committing.values(), default=self.newest_commit)

    def reply(self, ticket: int | None, value: Any = None, error: Exception | None = None) -> None:
        if ticket is not None:
            self._out.append(Reply(ticket, value, error))

    def log(self, level: str, text: str, **fields: object) -> None:
        """Let people know."""
        self._out.append(Notice(level, text, fields))

    def take_output(self) -> list[Out]:
        """What has gone out since the last time."""
        out, self._out = self._out, []
        return out

    def new_id(self) -> int:
        """One that was never given before."""
        return next(self._numbers)

    # -- time --------------------------------------------------------------------------------------------------

    def call_at(self, time: float, call: Callable[[], None]) -> None:
        """Do something when a time has come."""
        if time < inf:
            heapq.heappush(self._timers, (time, self.new_id(), call))

    @property
    def due(self) -> float:
        """When something is to be done next; infinity if nothing is."""
        return self._timers[0][0] if self._timers else inf

    def fire_timers(self) -> None:
        """Do what is due."""
        while self._timers and self._timers[0][0] <= self.now:
            heapq.heappop(self._timers)[2]()

    # -- queries -----------------------------------------------------------------------------------------------

    def life(self, name: str) -> Life:
        if name not in self.lives:
            raise unknown("query", name, self.lives)
        return self.lives[name]

    def change_state(self, life: Life, state: QueryState, reason: str, error: str = "") -> None:
        """The one place where a query's state changes."""
        if state not in TRANSITIONS[life.state]:
            raise AssertionError(f"query '{life.name}' cannot go from {life.state} to {state} ({reason})")
        self._note(life, life.state, state, reason if not error else f"{reason}: {error}")
        life.state, life.error = state, error
        if life.settled:
            self.settle(life)

    def add(self, life: Life) -> None:
        """There is a new query."""
        self.lives[life.name] = life
        self._note(life, "", life.state, "added")

    def remove(self, life: Life, reason: str) -> None:
        """There is a query no more. Commands that wait for it find none."""
        if self.lives.get(life.name) is life:
            del self.lives[life.name]
        self._note(life, life.state, "", reason)
        while life.deferred:
            life.deferred.popleft()()

    def when_settled(self, life: Life, act: Callable[[], None]) -> None:
        """Change a query at once, or after what is under way."""
        if life.settled and not life.deferred:
            act()
        else:
            life.deferred.append(act)

    def settle(self, life: Life) -> None:
        """Nothing of a query is under way: what had to wait for that happens."""
        while life.settled and life.deferred:
            life.deferred.popleft()()

    def _note(self, life: Life, before: str, after: str, reason: str) -> None:
        line = Transition(self.now, life.name, before, after, reason)
        self.newest.append(line)
        self._out.append(line)


def answering(context: MachineContext, ticket: int | None, act: Callable[[], None]) -> None:
    """Do what a command asks for; what is wrong with it is the answer to it."""
    try:
        act()
    except HeadgateError as error:
        context.reply(ticket, error=error)
