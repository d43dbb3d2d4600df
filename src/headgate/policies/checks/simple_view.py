"""A view for policies to decide in, made of plain lists instead of the scheduling core."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from statistics import fmean

from headgate.model import QueueId, Run, Unit, UnitId, WorkerId
from headgate.plan.network import Network
from headgate.stats import Measured, Stats

ArrivalTimes = dict[QueueId, list[float]]  # of the tuples that wait in each queue, in their order


class SimpleQueue:
    """One queue of the view."""

    def __init__(self, number: QueueId, arrivals: list[float]) -> None:
        self.id = number
        self.head = arrivals[0] if arrivals else math.inf
        self.mean = fmean(arrivals) if arrivals else math.inf
        self.nbytes = len(arrivals)
        self._arrivals = arrivals

    def __len__(self) -> int:
        return len(self._arrivals)


class SimpleView:
    """What a policy sees when it decides: queues, units that run, and the statistics it may read.

    It searches for ready units at every call instead of keeping them: slow, but simple enough to be trusted.
    """

    def __init__(
        self,
        network: Network,
        units: Iterable[Unit],
        measured: Measured,
        stats: Stats,
        queues: ArrivalTimes,
        now: float,
    ) -> None:
        self.now = now
        self.network = network
        self.measured = measured
        self.units: dict[UnitId, Unit] = {unit.id: unit for unit in units}
        self.stats = stats
        self.queues = queues
        self.running: dict[WorkerId, Run] = {}
        self.taken: set[UnitId] = set()  # set aside, whatever waits

    @property
    def ready(self) -> Mapping[UnitId, Unit]:
        return {number: unit for number, unit in self.units.items() if self._can_run(unit)}

    def _can_run(self, unit: Unit) -> bool:
        if unit.id in self.taken or not self.waiting(unit):
            return False
        return not any(set(unit.calls) & set(run.calls) for run in self.running.values())

    def queue(self, number: QueueId) -> SimpleQueue:
        return SimpleQueue(number, self.queues[number])

    def waiting(self, unit: Unit) -> int:
        return sum(len(self.queues[queue]) for queue in unit.queues)

    def oldest(self, unit: Unit) -> float:
        return min((self.queues[queue][0] for queue in unit.queues if self.queues[queue]), default=math.inf)

    def only(self, keep: Callable[[Unit], bool]) -> SimpleView:
        part = copy(self)
        part.units = {number: unit for number, unit in self.units.items() if keep(unit)}
        return part
