"""The scheduler's own record of a unit: its queues, and what keeps it from running."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from headgate.model import OperatorId, Run, Take, Train, Unit, UnitId, WorkerId
from headgate.stats import CostModel, Stats

if TYPE_CHECKING:
    from headgate.core.queues import TupleQueue


class UnitState:
    """A unit with its queues, how many runs block it, and which units its own run blocks."""

    __slots__ = ("blocked", "blocks", "entries", "id", "inner", "model", "queue", "queues", "unit")

    def __init__(self, unit: Unit, queues: Mapping[int, TupleQueue]) -> None:
        self.id = unit.id
        self.unit = unit
        self.queues = [queues[number] for number in unit.queues]
        self.queue = self.queues[0] if len(self.queues) == 1 else None  # the common case, and the quick one
        self.entries = [[queues[number] for number in entry] for entry in unit.entries]
        self.inner = self.queues[sum(map(len, unit.entries)) :]
        self.blocked = 0
        self.blocks: tuple[UnitState, ...] = (self,)
        self.model: CostModel | None = None
        for queue in self.queues:
            queue.states.append(self)

    @property
    def oldest(self) -> float:
        queue = self.queue
        return queue.head if queue is not None else min([queue.head for queue in self.queues])

    @property
    def waiting(self) -> int:
        return sum(map(len, self.queues))

    def takes(self, train: Train) -> tuple[Take, ...]:
        """Take a train: counted per query from its entries, and all that is left over inside."""
        queue = self.queue
        if queue is not None:
            return (queue.take(self._count(train, len(queue))),)
        found = [take for entry in self.entries for take in self._from(entry, train)]
        found += [queue.take(len(queue)) for queue in self.inner if len(queue)]
        return tuple(found)

    def _from(self, entry: list[TupleQueue], train: Train) -> list[Take]:
        """The oldest waiting tuples over the entry queues of one query."""
        waiting = sum(map(len, entry))
        if not waiting:
            return []
        left = self._count(train, waiting)
        if left >= waiting:
            return [queue.take(len(queue)) for queue in entry if len(queue)]
        taken: dict[int, Take] = {}
        while left:
            queue = min(entry, key=lambda queue: queue.head)
            take = queue.take(min(left, queue.ahead))
            left -= take.last - take.first
            earlier = taken.get(queue.id, take)
            taken[queue.id] = Take(queue.id, earlier.first, take.last)
        return list(taken.values())

    def _count(self, train: Train, waiting: int) -> int:
        count = train.size(waiting)
        if train.fits is not None and self.model is not None:
            count = min(count, self.model.fits(train.fits))
        return count


class CoreView:
    """What policies see of the scheduler."""

    __slots__ = ("_ready", "_states", "now", "running", "stats", "units")

    def __init__(
        self,
        states: Mapping[UnitId, UnitState],
        ready: Mapping[UnitId, Unit],
        running: Mapping[WorkerId, Run],
        stats: Stats,
        now: float,
    ) -> None:
        self.now = now
        self.units: Mapping[UnitId, Unit] = {number: state.unit for number, state in states.items()}
        self.running = running
        self.stats = stats
        self._states = states
        self._ready = ready

    @property
    def ready(self) -> Collection[Unit]:
        return self._ready.values()

    def is_ready(self, unit: Unit) -> bool:
        return unit.id in self._ready

    def waiting(self, unit: Unit) -> int:
        return self._states[unit.id].waiting

    def oldest(self, unit: Unit) -> float:
        state = self._states[unit.id]
        queue = state.queue
        return queue.head if queue is not None else state.oldest

    def only(self, keep: Callable[[Unit], bool]) -> PartView:
        return PartView(self, keep)


class PartView:
    """A view of some of the units."""

    __slots__ = ("_keep", "_whole")

    def __init__(self, whole: CoreView, keep: Callable[[Unit], bool]) -> None:
        self._whole = whole
        self._keep = keep

    @property
    def now(self) -> float:
        return self._whole.now

    @now.setter
    def now(self, now: float) -> None:
        self._whole.now = now

    @property
    def units(self) -> Mapping[UnitId, Unit]:
        return {number: unit for number, unit in self._whole.units.items() if self._keep(unit)}

    @property
    def ready(self) -> Collection[Unit]:
        return [unit for unit in self._whole.ready if self._keep(unit)]

    @property
    def running(self) -> Mapping[WorkerId, Run]:
        return self._whole.running

    @property
    def stats(self) -> Stats:
        return self._whole.stats

    def is_ready(self, unit: Unit) -> bool:
        return self._whole.is_ready(unit) and self._keep(unit)

    def waiting(self, unit: Unit) -> int:
        return self._whole.waiting(unit)

    def oldest(self, unit: Unit) -> float:
        return self._whole.oldest(unit)

    def only(self, keep: Callable[[Unit], bool]) -> PartView:
        return PartView(self._whole, lambda unit: self._keep(unit) and keep(unit))


def shared_operators(states: Collection[UnitState]) -> None:
    """Let every unit know which others share an operator with it: those never run at the same time."""
    users: dict[OperatorId, list[UnitState]] = {}
    for state in states:
        for call in state.unit.calls:
            users.setdefault(call, []).append(state)
    for state in states:
        others = {other.unit.id: other for call in state.unit.calls for other in users[call] if other is not state}
        state.blocks = (state, *others.values())
