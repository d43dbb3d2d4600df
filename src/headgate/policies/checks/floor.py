"""Where runs take place in a check: tuples arrive, are taken, and go on to the next operators by chance."""

from __future__ import annotations

from random import Random

from headgate.model import QueueId, Run, Train, Unit, UnitId, WorkerId
from headgate.policies.checks.moment import Moment

PASSES = 0.4  # the chance that a tuple goes on to an operator outside the unit that took it


class Floor:
    """Changes a moment as a scheduling core would: one run per worker, units that share an operator apart."""

    def __init__(self, view: Moment, random: Random) -> None:
        self.view = view
        self._random = random
        self._runs = 0
        self._outputs: dict[WorkerId, list[tuple[QueueId, float]]] = {}

    @property
    def quiet(self) -> bool:
        return not self.view.running and not any(self.view.queues.values())

    def heads(self) -> dict[UnitId, float]:
        """The oldest tuple of every unit that can run: what `woken` compares with."""
        return {unit.id: self.view.oldest(unit) for unit in self.view.ready.values()}

    def woken(self, before: dict[UnitId, float]) -> list[Unit]:
        """Units that can run since, or have an older tuple now."""
        return [unit for unit in self.view.ready.values() if self.view.oldest(unit) < before.get(unit.id, float("inf"))]

    def arrive(self) -> QueueId:
        """A tuple comes; before which operator."""
        leaves = [edge.id for edge in self.view.network.edges.values() if edge.stream is not None]
        queue = self._random.choice(leaves)
        self.view.queues[queue].append(self.view.now)
        return queue

    def start(self, units: tuple[Unit, ...], train: Train, worker: WorkerId) -> None:
        calls = tuple(call for unit in units for call in unit.calls)
        beyond = self._beyond(calls)
        outputs = self._outputs[worker] = []
        for number in dict.fromkeys(queue for unit in units for queue in unit.queues):
            queue = self.view.queues[number]
            count = train.size(len(queue)) if queue else 0
            outputs += [(edge, head) for head in queue[:count] for edge in beyond if self._random.random() < PASSES]
            del queue[:count]
        self._runs += 1
        self.view.running[worker] = Run(self._runs, worker, units, (), calls, self.view.now)

    def _beyond(self, calls: tuple[int, ...]) -> list[QueueId]:
        network = self.view.network
        consumers = [queue for call in calls for queue in network.nodes[call].consumers]
        return [queue for queue in consumers if network.edges[queue].operator not in calls]

    def finish(self) -> tuple[Run, list[QueueId]]:
        """A run ends; where its results wait now."""
        run = self.view.running.pop(self._random.choice(sorted(self.view.running)))
        outputs = self._outputs.pop(run.worker)
        for queue, head in outputs:
            self.view.queues[queue].append(head)
        return run, [queue for queue, _ in outputs]
