"""What all parts of the state machine share: the queries, the time, timers, and the collected output."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from math import inf
from typing import Any

from headgate.history.records import Record
from headgate.model import unknown
from headgate.spark.machine.counts import Counters
from headgate.spark.machine.interfaces import RememberedQuery
from headgate.spark.machine.lifecycle import TRANSITIONS, Life, QueryState, Transition
from headgate.spark.machine.messages import Answer
from headgate.spark.machine.tasks import Prepare, PrepareTogether, Reply, Task, WriteCommit

NEWEST = 50  # transitions that `status` shows
Then = Callable[[Answer], None]
Ended = Callable[[Exception | None], None]  # gets the error, or None


@dataclass(frozen=True, slots=True)
class Notice:
    """An entry for the program's log."""

    level: str
    text: str
    fields: Mapping[str, object]


Note = Transition | Notice | Record  # what the recorder writes
Out = Task | Reply | Note


class MachineContext:
    """Queries, timers, and the tasks, replies and transitions that the current message has led to.

    A task is submitted together with the function that continues once its answer has come.
    """

    def __init__(self, explain: Callable[[Exception], str]) -> None:
        self.now = 0.0
        self.explain = explain  # turns an error into one line, as status shows it
        self.lives: dict[str, Life] = {}
        self.remembered: dict[str, RememberedQuery] = {}  # queries that commits know from before, until they start
        self.newest: deque[Transition] = deque(maxlen=NEWEST)
        self.counters = Counters()
        self._out: list[Out] = []
        self.newest_commit = 0  # the largest commit number in an answer so far
        self._then: dict[Task, Then] = {}
        self._committing: dict[Task, int] = {}  # tasks that write commits, and the newest commit at their submission
        self._expected: dict[int, Ended] = {}  # by ticket: commands that the machine has given itself
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count(1)

    def submit(self, task: Task, then: Then) -> None:
        """Hand out a task; `then` gets its answer."""
        self._then[task] = then
        if isinstance(task, WriteCommit | Prepare | PrepareTogether):
            self._committing[task] = self.newest_commit
        self._out.append(task)

    def answered(self, answer: Answer) -> None:
        """Continue after a task."""
        then = self._then.pop(answer.task)
        self._committing.pop(answer.task, None)
        then(answer)

    def awaits(self, *kinds: type[Task]) -> bool:
        """Whether a task of one of these kinds is under way."""
        return any(isinstance(task, kinds) for task in self._then)

    @property
    def certain_commit(self) -> int:
        """The newest commit for which this holds: all results of commits up to it are known here.

        A task under way may have written later commits whose answer has not come yet.
        """
        return min(self._committing.values(), default=self.newest_commit)

    def reply(self, ticket: int | None, value: Any = None, error: Exception | None = None) -> None:
        if ticket in self._expected:
            self._expected.pop(ticket)(error)
        elif ticket is not None:
            self._out.append(Reply(ticket, value, error))

    def expect(self, ended: Ended) -> int:
        """A ticket for a command that the machine gives itself; `ended` gets the error of its reply, or None."""
        ticket = -self.new_id()
        self._expected[ticket] = ended
        return ticket

    def log(self, level: str, text: str, **fields: object) -> None:
        """Write an entry to the program's log."""
        self._out.append(Notice(level, text, fields))

    def record(self, record: Record) -> None:
        """Add a record to the history."""
        self._out.append(record)

    def take_output(self) -> list[Out]:
        """Remove and return the output collected since the last call."""
        out, self._out = self._out, []
        return out

    def new_id(self) -> int:
        """A number that was never used before."""
        return next(self._numbers)

    # -- one-shot timers ---------------------------------------------------------------------------------------

    def call_at(self, time: float, call: Callable[[], None]) -> None:
        """Set a one-shot timer, for example to start or stop a query; one at infinity never fires."""
        if time < inf:
            heapq.heappush(self._timers, (time, self.new_id(), call))

    @property
    def due(self) -> float:
        """The time of the next timer; infinity if there is none."""
        return self._timers[0][0] if self._timers else inf

    def fire_timers(self) -> None:
        """Call and remove all timers that are due, the earliest first."""
        while self._timers and self._timers[0][0] <= self.now:
            heapq.heappop(self._timers)[2]()

    # -- queries -----------------------------------------------------------------------------------------------

    def life(self, name: str) -> Life:
        if name not in self.lives:
            raise unknown("query", name, self.lives)
        return self.lives[name]

    def change_state(self, life: Life, state: QueryState, reason: str, error: str = "") -> None:
        """Change a query's state; the only place that does."""
        if state not in TRANSITIONS[life.state]:
            raise AssertionError(f"query '{life.name}' cannot go from {life.state} to {state} ({reason})")
        self.note(life, life.state, state, reason if not error else f"{reason}: {error}")
        life.state, life.error, life.state_since = state, error, self.now
        if life.settled:
            self.settle(life)

    def add(self, life: Life) -> None:
        """Add a new query."""
        self.lives[life.name] = life
        self.note(life, "", life.state, "added")

    def remove(self, life: Life, reason: str) -> None:
        """Remove a query. Deferred commands run now, and find no query of that name."""
        if self.lives.get(life.name) is life:
            del self.lives[life.name]
        self.note(life, life.state, "", reason)
        while life.deferred:
            life.deferred.popleft()()

    def when_settled(self, life: Life, act: Callable[[], None]) -> None:
        """Act on a query once it is settled: now, or after what is under way and all that was deferred before."""
        if life.settled and not life.deferred:
            act()
        else:
            life.deferred.append(act)

    def settle(self, life: Life) -> None:
        """Run deferred actions as long as the query stays settled."""
        while life.settled and life.deferred:
            life.deferred.popleft()()

    def write_description(
        self, life: Life, description: Mapping[str, Any], ended: Callable[[Exception | None], None]
    ) -> None:
        """Commit what is to be known about a query after a restart; commands wait until that is done."""

        def written(answer: Answer) -> None:
            life.writing -= 1
            ended(answer.error)
            self.settle(life)

        life.writing += 1
        self.submit(WriteCommit(queries={life.name: description}), written)

    def note(self, life: Life, before: str, after: str, reason: str) -> None:
        """Write a line of the journal."""
        line = Transition(self.now, life.name, before, after, reason)
        self.newest.append(line)
        self._out.append(line)
