"""Workers of a check: they take tuples from queues and pass them on to the next operators by chance."""

from __future__ import annotations

from random import Random

from headgate.model import QueueId, Run, Train, Unit, UnitId, WorkerId
from headgate.policies.checks.simple_view import SimpleView

PASS_PROBABILITY = 0.4  # the chance that a tuple goes on to an operator outside the unit that took it


class SimulatedWorkers:
    """Changes a view as a scheduling core would: one run per worker, no operator in two runs at a time."""

    def __init__(self, view: SimpleView, random: Random) -> None:
        self.view = view
        self._random = random
        self._runs = 0
        self._outputs: dict[WorkerId, list[tuple[QueueId, float]]] = {}

    @property
    def quiet(self) -> bool:
        return not self.view.running and not any(self.view.queues.values())

    def heads(self) -> dict[UnitId, float]:
        """The arrival of the oldest tuple of every unit that can run; `woken` compares with it."""
        return {unit.id: self.view.oldest(unit) for unit in self.view.ready.values()}

    def woken(self, before: dict[UnitId, float]) -> list[Unit]:
        """Units that became able to run since `before` was taken, or have an older tuple than then."""
        return [unit for unit in self.view.ready.values() if self.view.oldest(unit) < before.get(unit.id, float("inf"))]

    def arrive(self) -> QueueId:
        """Let a tuple arrive; return the queue that it waits in."""
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
            outputs += [
                (edge, head) for head in queue[:count] for edge in beyond if self._random.random() < PASS_PROBABILITY
            ]
            del queue[:count]
        self._runs += 1
        self.view.running[worker] = Run(self._runs, worker, units, (), calls, self.view.now)

    def _beyond(self, calls: tuple[int, ...]) -> list[QueueId]:
        network = self.view.network
        consumers = [queue for call in calls for queue in network.nodes[call].consumers]
        return [queue for queue in consumers if network.edges[queue].operator not in calls]

    def finish(self) -> tuple[Run, list[QueueId]]:
        """End a random run; return it, with the queues that its results wait in."""
        run = self.view.running.pop(self._random.choice(sorted(self.view.running)))
        outputs = self._outputs.pop(run.worker)
        for queue, head in outputs:
            self.view.queues[queue].append(head)
        return run, [queue for queue, _ in outputs]
