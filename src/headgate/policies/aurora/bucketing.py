from __future__ import annotations

from collections.abc import Collection
from typing import Any

from headgate.model import IDLE, Choice, Idle, Outcome, QueueId, Run, Unit, UnitId, WorkerId
from headgate.policies.aurora.buckets import Buckets, Plane, Turn
from headgate.policies.aurora.calendar import Calendar
from headgate.policies.aurora.outlook import Outlooks
from headgate.policies.aurora.qos_aware import QosAware
from headgate.policies.contract import View
from headgate.policies.registry import register
from headgate.policies.settings import Setting


@register("bucketing")
class Bucketing(QosAware):
    """As `slope-slack`, but what is nearly as urgent is equal, and a decision does not look at every unit.

    Utility and slack are cut into `partitions` each. Units in one bucket take turns; a calendar knows when time moves
    a unit into another bucket. A unit is looked at when it becomes ready, when a run has taken or made tuples that it
    counts, and when its date comes, which is never farther off than slack takes to cross a bucket: tuples that arrive
    behind others count from then on. With one partition this is `rr`, with very many it is `slope-slack`.

    >>> from headgate.policies.checks import Situation
    >>> queries = {name: f"select, cost=1s, name={name}" for name in "abc"}
    >>> graphs = {"a": [[0, 1], [9, 1], [9, 0]], "b": [[0, 1], [8, 1], [8, 0]], "c": [[0, 1], [20, 0]]}
    >>> Situation(queries, qos=graphs).order("bucketing, partitions=100")
    ['c', 'b', 'a']
    >>> Situation(queries, qos=graphs).order("bucketing, partitions=4")  # a and b are equal
    ['c', 'a', 'b']
    >>> Situation(queries, qos=graphs).order("bucketing, partitions=1")
    ['a', 'b', 'c']
    """

    source = "Carney 2005, sections 4.4.2 and 4.5.1"
    rule = "best bucket of utility and slack, in it the next in turn"
    needs = frozenset({"qos", "output_costs"})
    settings = (*QosAware.settings, Setting("partitions", 20, "into how many parts utility and slack are cut", least=1))

    partitions: int

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._next: Turn = (0, 0)  # round and unit, as far as the turns have come
        self._turns: dict[UnitId, Turn] = {}
        self._moved: set[QueueId] = set()  # queues that runs have changed since the last decision

    def changed(self, view: View) -> None:
        self._outlooks = Outlooks(view)
        self._plane = Plane.of(self._outlooks.graphs, self.partitions)
        self._buckets = Buckets()
        self._calendar = Calendar(self._plane.width or 1.0)
        self._counting: dict[QueueId, list[UnitId]] = {}  # for which units a queue counts
        for number, unit in view.units.items():
            for queue in self._outlooks.queues(unit):
                self._counting.setdefault(queue, []).append(number)
        self._turns = {number: turn for number, turn in self._turns.items() if number in view.units}

    def ready(self, view: View, unit: Unit) -> None:
        rounds, following = self._next
        self._turns.setdefault(unit.id, (rounds + (unit.id < following), unit.id))
        self._place(view, unit)

    def finished(self, view: View, run: Run, outcome: Outcome) -> None:
        self._moved.update(queue for queue, _, _ in run.takes)
        self._moved.update(queue for queue, _ in outcome.produced)

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        self._look_again(view)
        units: list[Unit] = []
        while len(units) < self.schedule and (turn := self._buckets.pop()) is not None:
            _, number = turn
            self._calendar.remove(number)
            del self._turns[number]
            self._next = max(self._next, (turn[0], number + 1))
            self.tally.compared += 1
            if number in view.ready:
                units.append(view.units[number])
        return Choice(tuple(units), self.train) if units else IDLE

    def _look_again(self, view: View) -> None:
        """Put units into their bucket again that time or a run may have moved."""
        stale = set(self._calendar.due(view.now))
        for queue in self._moved:
            stale.update(self._counting.get(queue, ()))
        self._moved.clear()
        for number in stale:
            if number in self._buckets.placed:
                self._place(view, view.units[number])

    def _place(self, view: View, unit: Unit) -> None:
        outlooks = self._outlooks.of(view, unit)
        self.tally.computed += 1
        self._buckets.place(unit.id, min(map(self._plane.bucket, outlooks)), self._turns[unit.id])
        if self._plane.width:
            self.tally.compared += 1
            self._calendar.enter(unit.id, view.now + min(map(self._plane.lasts, outlooks)))

    def numbers(self, view: View, unit: Unit) -> dict[str, float]:
        outlook = self._outlooks.best(view, unit)
        row, column = self._plane.bucket(outlook)
        return {**outlook._asdict(), "row": row, "column": column, **super().numbers(view, unit)}

    def runner_up(self, view: View, chosen: Collection[UnitId]) -> Unit | None:
        placed = self._buckets.placed
        others = [number for number in placed if number in view.ready and number not in chosen]
        return view.units[min(others, key=placed.__getitem__)] if others else None
