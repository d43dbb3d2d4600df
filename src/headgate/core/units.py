"""What the scheduler keeps per unit (queues, runs that block it), and the view that policies get of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from headgate.model import OperatorId, Queue, QueueId, Run, Take, Taken, Train, Unit, UnitId, WorkerId
from headgate.stats import Stats

if TYPE_CHECKING:
    from headgate.core.queues import TupleQueue

_NONE = float("inf")


class UnitState:
    """A unit with its queues, how many runs block it, and which units its own run blocks."""

    __slots__ = ("blocked", "blocks", "entries", "id", "inner", "queue", "queues", "stats", "unit")

    def __init__(self, unit: Unit, queues: Mapping[int, TupleQueue], stats: Stats) -> None:
        self.id = unit.id
        self.unit = unit
        self.queues = [queues[number] for number in unit.queues]
        self.entries = [[queues[number] for number in entry] for entry in unit.entries]
        self.inner = self.queues[sum(map(len, unit.entries)) :]
        # The only queue in which anything waits, while there is only one: the common case, and the quick one.
        single = len(self.queues) - len(self.inner) == 1 and not any(map(len, self.inner))
        self.queue = self.queues[0] if single else None
        self.blocked = 0
        self.blocks: tuple[UnitState, ...] = (self,)
        self.stats = stats
        for queue in self.queues:
            queue.states.append(self)

    @property
    def oldest(self) -> float:
        queue = self.queue
        return queue.head if queue is not None else min([queue.head for queue in self.queues])

    @property
    def waiting(self) -> int:
        # Written out: a group has a queue for each member, and every decision tells how much waits for others.
        return sum(
            [
                queue.log.end - queue.position
                if queue.upto is None
                else (queue.upto - queue.position if queue.upto > queue.position else 0)
                for queue in self.queues
            ]
        )

    def takes(self, train: Train) -> tuple[Take, ...]:
        """Take a train: its tuples are counted per query at the entries; tuples left inside the unit are all taken."""
        queue = self.queue
        fitting = _NONE if train.fits is None else self.stats.model(self.unit).fits(train.fits)
        if queue is not None:
            waiting = len(queue)  # none where another unit of the same run has taken them
            return (queue.take(_count(train, fitting, waiting, queue)),) if waiting else ()
        if train.fits is None and train.at_most is None and train.fraction >= 1.0:
            return tuple([queue.take_all() for queue in self.queues if queue.head != _NONE])
        takes = [take for entry in self.entries for take in self._from(entry, train, fitting)]
        takes += [queue.take(len(queue)) for queue in self.inner if len(queue)]
        return tuple(takes)

    def _from(self, entry: list[TupleQueue], train: Train, fitting: float) -> list[Take]:
        """The oldest waiting tuples over the entry queues of one query."""
        if len(entry) == 1:
            (queue,) = entry
            waiting = len(queue)
            return [queue.take(_count(train, fitting, waiting, queue))] if waiting else []
        waiting = sum(map(len, entry))
        if not waiting:
            return []
        left = _count(train, fitting, waiting)
        if left >= waiting:
            return [queue.take(len(queue)) for queue in entry if len(queue)]
        taken: dict[int, Take] = {}
        while left:
            queue = min(entry, key=lambda queue: queue.head)
            _, first, behind = queue.take(min(left, queue.ahead))
            left -= behind - first
            taken[queue.id] = (queue.id, taken[queue.id][1] if queue.id in taken else first, behind)
        return list(taken.values())

    def taken(self) -> Taken:
        """When the tuples came that a run would take now."""
        waiting = [queue for queue in self.queues if queue.head != _NONE]
        released = [queue.released for queue in waiting if queue.upto is not None and queue.released is not None]
        return Taken(min((queue.head for queue in waiting), default=0.0), max(released, default=None))

    def pin(self) -> None:
        """Keep the tuples that a run takes now: it may be cancelled, and then give them back."""
        for queue in self.queues:
            queue.pin()

    def unpin_all_but(self, takes: Iterable[Take]) -> None:
        """Let go of queues from which the run takes nothing, as the tuples of another input are older."""
        if len(self.queues) > 1:
            taken = {number for number, _, _ in takes}
            for queue in self.queues:
                if queue.id not in taken:
                    queue.pinned = None


def _count(train: Train, fitting: float, waiting: int, queue: TupleQueue | None = None) -> int:
    """How many tuples to take of those that wait, if so many fit into the train's time."""
    count = train.size(waiting)
    if fitting < count:
        count = int(fitting) if queue is None else min(count, queue.up_to_mark(int(fitting)))
    return count


class CoreView:
    """What policies see of the scheduler."""

    __slots__ = ("_queues", "_states", "now", "ready", "running", "stats", "units")

    def __init__(
        self,
        states: Mapping[UnitId, UnitState],
        queues: Mapping[QueueId, TupleQueue],
        ready: Mapping[UnitId, Unit],
        running: Mapping[WorkerId, Run],
        stats: Stats,
        now: float,
    ) -> None:
        self.now = now
        self.units: Mapping[UnitId, Unit] = {number: state.unit for number, state in states.items()}
        self.ready = ready
        self.running = running
        self.stats = stats
        self._states = states
        self._queues = queues

    def queue(self, number: QueueId) -> Queue:
        return self._queues[number]

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
        return _SomeUnits(self._whole.units, self._keep)

    @property
    def ready(self) -> Mapping[UnitId, Unit]:
        return _SomeUnits(self._whole.ready, self._keep)

    @property
    def running(self) -> Mapping[WorkerId, Run]:
        return self._whole.running

    @property
    def stats(self) -> Stats:
        return self._whole.stats

    def queue(self, number: QueueId) -> Queue:
        return self._whole.queue(number)

    def waiting(self, unit: Unit) -> int:
        return self._whole.waiting(unit)

    def oldest(self, unit: Unit) -> float:
        return self._whole.oldest(unit)

    def only(self, keep: Callable[[Unit], bool]) -> PartView:
        return PartView(self._whole, lambda unit: self._keep(unit) and keep(unit))


class RoomView(PartView):
    """A view of all units, of which only some may be chosen now."""

    __slots__ = ()

    @property
    def units(self) -> Mapping[UnitId, Unit]:
        return self._whole.units


class _SomeUnits(Mapping[UnitId, Unit]):
    """A mapping restricted to some units, checked when one is looked up."""

    __slots__ = ("_all", "_keep")

    def __init__(self, units: Mapping[UnitId, Unit], keep: Callable[[Unit], bool]) -> None:
        self._all = units
        self._keep = keep

    def __getitem__(self, number: UnitId) -> Unit:
        unit = self._all[number]
        if not self._keep(unit):
            raise KeyError(number)
        return unit

    def __iter__(self) -> Iterator[UnitId]:
        return (number for number, unit in self._all.items() if self._keep(unit))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return any(True for _ in self)


def shared_operators(states: Collection[UnitState]) -> None:
    """Let every unit know which others share an operator with it: those never run at the same time."""
    users: dict[OperatorId, list[UnitState]] = {}
    for state in states:
        for call in state.unit.calls:
            users.setdefault(call, []).append(state)
    for state in states:
        others = {other.unit.id: other for call in state.unit.calls for other in users[call] if other is not state}
        state.blocks = (state, *others.values())
