"""Delivery: what is committed goes to the sinks, each at its own pace; one that fails holds back its own query only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any

from headgate.spark.engine.context import Desk
from headgate.spark.engine.lifecycle import PASSING, Life, State
from headgate.spark.engine.messages import Answer
from headgate.spark.engine.outbox import Outlet
from headgate.spark.engine.tasks import FILES, Deliver, KeepLetters, LetGo, SparkGoneError, Task

LETTERS = "letters"


class Delivering:
    """The outlets of all queries, and of streams' dead letters."""

    def __init__(self, desk: Desk) -> None:
        self.outlets: dict[int, Outlet] = {}
        self.suspend: Callable[[Life, str], None]  # set by the machine, as are the next two
        self.hold: Callable[[Life], None]  # let a query wait, since its sink has too much
        self.go_on: Callable[[Life], None]
        self._letters: dict[str, Outlet] = {}
        self._desk = desk

    def open(self, life: Life, sink: str, lane: str, behind: float, call: Any = None) -> Outlet:
        """A way to the sink of a query."""
        outlet = Outlet(self._desk.number(), life.name, sink, behind, lane, call)
        self.outlets[outlet.id] = outlet
        life.outlet = outlet
        return outlet

    def owe(self, query: str, sink: str, results: Sequence[tuple[int, Any, int]]) -> None:
        """Results of a former life that the sink of a query has not taken: its files, since nobody is there to call."""
        outlet = Outlet(self._desk.number(), query, sink, over=True)
        self.outlets[outlet.id] = outlet
        for commit, found, size in results:
            outlet.put(commit, found, size, self._desk.now)

    def inherit(self, life: Life) -> None:
        """A query comes back: what its sink did not take in a former life is its own affair now."""
        assert life.outlet is not None
        for outlet in list(self.outlets.values()):
            if outlet.query == life.name and outlet.over and not outlet.taking and outlet.lane == life.outlet.lane:
                life.outlet.waiting.extendleft(reversed(outlet.waiting))
                life.outlet.size += outlet.size
                del self.outlets[outlet.id]

    def put(self, life: Life, commit: int, results: Any, size: int) -> None:
        """A commit has results for a query's sink."""
        self._desk.committed = max(self._desk.committed, commit)
        assert life.outlet is not None
        life.outlet.put(commit, results, size, self._desk.now)
        self.pump(life.outlet)
        if life.outlet.error:
            self.suspend(life, life.outlet.error)
        elif life.outlet.is_full:
            self.hold(life)

    def put_letters(self, commit: int, letters: Mapping[str, Any]) -> None:
        """A commit has dead letters for streams."""
        self._desk.committed = max(self._desk.committed, commit)
        for stream, found in letters.items():
            if stream not in self._letters:
                self._letters[stream] = Outlet(self._desk.number(), stream, LETTERS)
            self._letters[stream].put(commit, found, 0, self._desk.now)
            self.pump(self._letters[stream])

    def pump(self, outlet: Outlet) -> None:
        """Give a sink what waits for it, if it is time."""
        if outlet.due(self._desk.now):
            batch = outlet.take()
            task: Task = (
                KeepLetters(outlet.query, batch)
                if outlet.sink == LETTERS
                else Deliver(outlet.id, outlet.query, outlet.sink, batch, outlet.lane, outlet.call)
            )
            self._desk.give(task, lambda answer: self._delivered(outlet, answer))
        elif outlet.waiting and not outlet.taking and not outlet.error:
            self._desk.at(outlet.ripe, lambda: self.pump(outlet))

    def _delivered(self, outlet: Outlet, answer: Answer) -> None:
        if answer.error is None:
            outlet.took()
            self.pump(outlet)
            life = self._life(outlet)
            if life is not None and life.state is State.WAITING and not life.failures and outlet.has_room:
                self.go_on(life)
        else:
            outlet.refused(self._desk.explain(answer.error))
            outlet.lost = isinstance(answer.error, SparkGoneError)
            for life in self._concerned(outlet):
                self._suspend(life, outlet)
        if not outlet.taking:
            outlet.at_once = False
        self._end(outlet)

    def _suspend(self, life: Life, outlet: Outlet) -> None:
        """Suspend a query whose results a sink did not take; one in a passing state after that, if it still holds."""
        if self._desk.lives.get(life.name) is not life or not outlet.error:
            return
        if life.state in PASSING:
            self._desk.when_settled(life, lambda: self._suspend(life, outlet))
        elif not outlet.lost:
            self.suspend(life, outlet.error)
        elif life.state in (State.RUNNING, State.WAITING):  # others wait until Spark is back, as they are
            life.lost = True
            self.suspend(life, outlet.error)

    def _concerned(self, outlet: Outlet) -> Iterable[Life]:
        """Whose results or letters they are that a sink did not take."""
        if outlet.sink != LETTERS:
            life = self._life(outlet)
            return () if life is None else (life,)
        names = {letter["query"] for _, letters, _, _ in outlet.waiting for letter in letters}
        return [self._desk.lives[name] for name in names if name in self._desk.lives]

    def _life(self, outlet: Outlet) -> Life | None:
        life = self._desk.lives.get(outlet.query)
        return life if life is not None and life.outlet is outlet else None

    def offer_again(self, life: Life) -> bool:
        """Offer a sink what it refused. Whether there is something to wait for."""
        for letters in self._letters.values():
            letters.error = ""
            self.pump(letters)
        outlet = life.outlet
        if outlet is None or not outlet.error:
            return False
        outlet.error, outlet.lost, outlet.at_once = "", False, True
        self.pump(outlet)
        return bool(outlet.taking)

    def offer_lost(self) -> None:
        """Offer sinks again what they did not take because Spark had died."""
        for outlet in list(self.outlets.values()):
            if outlet.lost:
                outlet.error, outlet.lost, outlet.at_once = "", False, True
                self.pump(outlet)

    def close(self, life: Life) -> None:
        """A query is gone; what it has produced still goes to its sink."""
        if life.outlet is not None:
            life.outlet.over = True
            self.pump(life.outlet)
            self._end(life.outlet)

    def _end(self, outlet: Outlet) -> None:
        if outlet.over and outlet.error and outlet.call is not None:
            commits = outlet.drop()  # there is no query that could be resumed to offer them again
            self._desk.tell("warning", "results of a stopped query were dropped", query=outlet.query, commits=commits)
        if outlet.over and not outlet.waiting and self.outlets.pop(outlet.id, None) is not None:
            if outlet.lane == FILES and any(other.query == outlet.query for other in self.outlets.values()):
                return  # another query of that name goes on with its files
            self._desk.give(LetGo(outlet.id, outlet.query, outlet.lane), lambda answer: None)

    def flush(self) -> None:
        """Let nothing wait for the sake of larger files."""
        for outlet in self._all():
            if outlet.waiting:
                outlet.at_once = True
                self.pump(outlet)

    @property
    def empty(self) -> bool:
        """Whether every sink has all that it is ready to take."""
        return not any(outlet.waiting and not outlet.error for outlet in self._all())

    @property
    def first(self) -> float:
        """The oldest commit that a sink still needs; infinity if none."""
        return min((outlet.first for outlet in self._all()), default=inf)

    @property
    def slow(self) -> list[Outlet]:
        """Sinks that are being given something."""
        return [outlet for outlet in self._all() if outlet.taking]

    def _all(self) -> list[Outlet]:
        return [*self.outlets.values(), *self._letters.values()]
