"""Policies whose scores stay valid until a queue changes or a known time comes.

Such a policy says which queues a unit's score counts and until when it stands; so the order is kept, and a decision
looks only at units that something has happened to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any

from headgate.model import IDLE, Choice, Idle, QueueId, Unit, UnitId, WorkerId
from headgate.policies.contract import View
from headgate.policies.scored import Scored

Entry = tuple[tuple[float, ...], float, int, UnitId]  # smallest first
_FEW = 64


class Kept(Scored):
    """Highest score first, as `Scored`; computed when queues change and when its time is over, not at every decision.

    Between the two, the scores of two units must keep their order whatever the time is.
    """

    def counts(self, unit: Unit) -> Collection[QueueId]:
        """The queues on which a unit's score depends, its own among them."""
        return unit.queues

    def until(self, unit: Unit, view: View) -> float:
        """The moment at which time alone changes the score."""
        return inf

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._heap: list[Entry] = []  # entries that are no longer in place are dropped later
        self._place: dict[UnitId, Entry] = {}
        self._until: dict[UnitId, float] = {}
        self._dates: list[tuple[float, UnitId]] = []  # when scores are over, a heap likewise
        self._stale: set[UnitId] = set()
        self._counting: dict[QueueId, list[UnitId]] = {}  # for which units a queue counts

    def changed(self, view: View) -> None:
        self._heap, self._place = [], {}
        self._dates, self._until = [], {}
        self._stale, self._counting = set(), {}
        for number, unit in view.units.items():
            for queue in self.counts(unit):
                self._counting.setdefault(queue, []).append(number)

    def ready(self, view: View, unit: Unit) -> None:
        self._stale.add(unit.id)

    def grown(self, view: View, queues: Iterable[QueueId]) -> None:
        for queue in queues:
            self._stale.update(self._counting.get(queue, ()))

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        self._renew(view)
        units: list[Unit] = []
        while len(units) < self.schedule and (unit := self._pop(view)) is not None:
            units.append(unit)
        for unit in units:  # tuples are about to be taken from these queues, which may count for others too
            self.grown(view, unit.queues)
        return Choice(tuple(units), self.train) if units else IDLE

    def _renew(self, view: View) -> None:
        """Compute the scores that may have changed, and reorder those units."""
        while self._dates and self._dates[0][0] <= view.now:
            self.tally.compared += len(self._dates).bit_length()
            date, number = heappop(self._dates)
            if self._until.get(number) == date:
                del self._until[number]
                self._stale.add(number)
        ready = view.ready
        for number in self._stale:
            if (unit := ready.get(number)) is None:
                self._place.pop(number, None)  # who becomes ready is told
                continue
            self._enter(view, unit)
        self._stale.clear()
        if len(self._heap) > 2 * len(self._place) + _FEW:
            self._heap = list(self._place.values())
            heapify(self._heap)
        if len(self._dates) > 2 * len(self._until) + _FEW:
            self._dates = [(date, number) for number, date in self._until.items()]
            heapify(self._dates)

    def _enter(self, view: View, unit: Unit) -> None:
        self.tally.computed += 1
        score, head, depth, last = self._rank(view, unit)
        entry = tuple(-value for value in score), -head, -depth, -last
        if self._place.get(unit.id) != entry:
            self._place[unit.id] = entry
            heappush(self._heap, entry)
            self.tally.compared += len(self._heap).bit_length()
        date = self.until(unit, view)
        if date < inf and self._until.get(unit.id) != date:
            self._until[unit.id] = date
            heappush(self._dates, (date, unit.id))
            self.tally.compared += len(self._dates).bit_length()

    def _pop(self, view: View) -> Unit | None:
        while self._heap:
            self.tally.compared += len(self._heap).bit_length()
            entry = heappop(self._heap)
            number = entry[-1]
            if self._place.get(number) == entry:
                del self._place[number]
                if (unit := view.ready.get(number)) is not None:
                    return unit
        return None
