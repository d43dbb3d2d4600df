"""Delivery: what is committed goes to the sinks, each at its own pace; one that fails holds back its own query only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any

from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.lifecycle import PASSING, Life, QueryState
from headgate.spark.machine.messages import Answer
from headgate.spark.machine.outbox import Outbox
from headgate.spark.machine.tasks import FILES, Deliver, KeepLetters, LetGo, Task

LETTERS = "letters"


class Delivery:
    """The outlets of all queries, and of streams' dead letters."""

    def __init__(self, context: MachineContext) -> None:
        self.outboxes: dict[int, Outbox] = {}
        self.suspend: Callable[[Life, str], None]  # set by the machine, as are the next two
        self.hold: Callable[[Life], None]  # let a query wait, since its sink has too much
        self.go_on: Callable[[Life], None]
        self._letters: dict[str, Outbox] = {}
        self._context = context

    def open(self, life: Life, sink: str, lane: str, behind: float, call: Any = None) -> Outbox:
        """A way to the sink of a query."""
        outbox = Outbox(self._context.number(), life.name, sink, behind, lane, call)
        self.outboxes[outbox.id] = outbox
        life.outbox = outbox
        return outbox

    def owe(self, query: str, sink: str, results: Sequence[tuple[int, Any, int]]) -> None:
        """Results of a former life that the sink of a query has not taken: its files, since nobody is there to call."""
        outbox = Outbox(self._context.number(), query, sink, over=True)
        self.outboxes[outbox.id] = outbox
        for commit, found, size in results:
            outbox.put(commit, found, size, self._context.now)

    def inherit(self, life: Life) -> None:
        """A query comes back: what its sink did not take in a former life is its own affair now."""
        assert life.outbox is not None
        for outbox in list(self.outboxes.values()):
            if outbox.query == life.name and outbox.over and not outbox.taking and outbox.lane == life.outbox.lane:
                life.outbox.waiting.extendleft(reversed(outbox.waiting))
                life.outbox.size += outbox.size
                del self.outboxes[outbox.id]

    def put(self, life: Life, commit: int, results: Any, size: int) -> None:
        """A commit has results for a query's sink."""
        self._context.committed = max(self._context.committed, commit)
        assert life.outbox is not None
        life.outbox.put(commit, results, size, self._context.now)
        self.pump(life.outbox)
        if life.outbox.error:
            self.suspend(life, life.outbox.error)
        elif life.outbox.is_full:
            self.hold(life)

    def put_letters(self, commit: int, letters: Mapping[str, Any]) -> None:
        """A commit has dead letters for streams."""
        self._context.committed = max(self._context.committed, commit)
        for stream, found in letters.items():
            if stream not in self._letters:
                self._letters[stream] = Outbox(self._context.number(), stream, LETTERS)
            self._letters[stream].put(commit, found, 0, self._context.now)
            self.pump(self._letters[stream])

    def pump(self, outbox: Outbox) -> None:
        """Give a sink what waits for it, if it is time."""
        if outbox.due(self._context.now):
            batch = outbox.take()
            task: Task = (
                KeepLetters(outbox.query, batch)
                if outbox.sink == LETTERS
                else Deliver(outbox.id, outbox.query, outbox.sink, batch, outbox.lane, outbox.call)
            )
            self._context.give(task, lambda answer: self._delivered(outbox, answer))
        elif outbox.waiting and not outbox.taking and not outbox.error:
            self._context.at(outbox.ripe, lambda: self.pump(outbox))

    def _delivered(self, outbox: Outbox, answer: Answer) -> None:
        if answer.error is None:
            outbox.took()
            self.pump(outbox)
            life = self._life(outbox)
            if life is not None and life.state is QueryState.WAITING and not life.failures and outbox.has_room:
                self.go_on(life)
        else:
            outbox.refused(self._context.explain(answer.error))
            outbox.lost = isinstance(answer.error, SparkGoneError)
            for life in self._concerned(outbox):
                self._suspend(life, outbox)
        if not outbox.taking:
            outbox.at_once = False
        self._end(outbox)

    def _suspend(self, life: Life, outbox: Outbox) -> None:
        """Suspend a query whose results a sink did not take; one in a passing state after that, if it still holds."""
        if self._context.lives.get(life.name) is not life or not outbox.error:
            return
        if life.state in PASSING:
            self._context.when_settled(life, lambda: self._suspend(life, outbox))
        elif not outbox.lost:
            self.suspend(life, outbox.error)
        elif life.state in (QueryState.RUNNING, QueryState.WAITING):  # others wait until Spark is back, as they are
            life.lost = True
            self.suspend(life, outbox.error)

    def _concerned(self, outbox: Outbox) -> Iterable[Life]:
        """Whose results or letters they are that a sink did not take."""
        if outbox.sink != LETTERS:
            life = self._life(outbox)
            return () if life is None else (life,)
        names = {letter["query"] for _, letters, _, _ in outbox.waiting for letter in letters}
        return [self._context.lives[name] for name in names if name in self._context.lives]

    def _life(self, outbox: Outbox) -> Life | None:
        life = self._context.lives.get(outbox.query)
        return life if life is not None and life.outbox is outbox else None

    def offer_again(self, life: Life) -> bool:
        """Offer a sink what it refused. Whether there is something to wait for."""
        for letters in self._letters.values():
            letters.error = ""
            self.pump(letters)
        outbox = life.outbox
        if outbox is None or not outbox.error:
            return False
        outbox.error, outbox.lost, outbox.at_once = "", False, True
        self.pump(outbox)
        return bool(outbox.taking)

    def offer_lost(self) -> None:
        """Offer sinks again what they did not take because Spark had died."""
        for outbox in list(self.outboxes.values()):
            if outbox.lost:
                outbox.error, outbox.lost, outbox.at_once = "", False, True
                self.pump(outbox)

    def close(self, life: Life) -> None:
        """A query is gone; what it has produced still goes to its sink."""
        if life.outbox is not None:
            life.outbox.over = True
            self.pump(life.outbox)
            self._end(life.outbox)

    def _end(self, outbox: Outbox) -> None:
        if outbox.over and outbox.error and outbox.call is not None:
            commits = outbox.drop()  # there is no query that could be resumed to offer them again
            self._context.tell(
                "warning", "results of a stopped query were dropped", query=outbox.query, commits=commits
            )
        if outbox.over and not outbox.waiting and self.outboxes.pop(outbox.id, None) is not None:
            if outbox.lane == FILES and any(other.query == outbox.query for other in self.outboxes.values()):
                return  # another query of that name goes on with its files
            self._context.give(LetGo(outbox.id, outbox.query, outbox.lane), lambda answer: None)

    def flush(self) -> None:
        """Let nothing wait for the sake of larger files."""
        for outbox in self._all():
            if outbox.waiting:
                outbox.at_once = True
                self.pump(outbox)

    @property
    def empty(self) -> bool:
        """Whether every sink has all that it is ready to take."""
        return not any(outbox.waiting and not outbox.error for outbox in self._all())

    @property
    def first(self) -> float:
        """The oldest commit that a sink still needs; infinity if none."""
        return min((outbox.first for outbox in self._all()), default=inf)

    @property
    def slow(self) -> list[Outbox]:
        """Sinks that are being given something."""
        return [outbox for outbox in self._all() if outbox.taking]

    def _all(self) -> list[Outbox]:
        return [*self.outboxes.values(), *self._letters.values()]
