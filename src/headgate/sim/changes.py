"""Changes of the workload at given times, among them queries that start and end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headgate.core import Event, PolicyChanged, PriorityChanged, QueryAdded, QueryMoved, QueryRemoved, StatisticsChanged
from headgate.metrics import QueryRecords
from headgate.plan.network import Network
from headgate.sim.effects import targets
from headgate.sim.machine import SimulatedMachine
from headgate.workload import Change, Workload


@dataclass(frozen=True, slots=True)
class Happening:
    """A change at its time: of the workload file, or a query that starts or ends."""

    at: float
    event: QueryAdded | QueryRemoved | None = None
    change: Change | None = None

    def events(self, network: Network, learn: bool) -> Iterator[Event]:
        """The events for the scheduler; where statistics are learned, it gets none for changed costs and rates."""
        if self.event is not None:
            yield self.event
        change = self.change
        if change is None:
            return
        if change.policy is not None:
            yield PolicyChanged(change.policy)
        if change.priority is not None and change.query_class is not None:
            yield PriorityChanged(change.query_class, change.priority)
        elif change.query_class is not None and change.query is not None:
            yield QueryMoved(change.query, change.query_class)
        if not learn:
            if change.rate is not None:
                yield StatisticsChanged(stream=change.stream, rate=change.rate)
            for number in self._operators(network):
                yield StatisticsChanged(operator=number, cost=change.cost, selectivity=change.selectivity)

    def touch(self, machine: SimulatedMachine, network: Network) -> None:
        """Apply the change to the simulated operators; filters know their selectivities beforehand."""
        if self.change is not None:
            for number in self._operators(network):
                machine.adjust(number, self.change.cost, self.change.selectivity)

    def note(self, records: Mapping[str, QueryRecords], network: Network, now: float) -> None:
        """A query's results count for its new class from now on, and are judged by its target."""
        change = self.change
        if change is not None and change.query is not None and change.query_class is not None:
            records[change.query].classes.append((now, change.query_class))
            if change.query in network.queries:
                records[change.query].target = network.target(change.query)

    def _operators(self, network: Network) -> list[int]:
        change = self.change
        if change is None or (change.cost is None and change.selectivity is None):
            return []
        return targets(change, network)


def happenings(workload: Workload) -> list[Happening]:
    """All changes after the start, by time."""
    events = [Happening(change.at, change=change) for change in workload.changes]
    events += [Happening(query.start, QueryAdded(query)) for query in workload.queries if query.start > 0]
    ends = [query for query in workload.queries if query.end != float("inf")]
    events += [Happening(query.end, QueryRemoved(query.name)) for query in ends]
    return sorted(events, key=lambda happening: happening.at)
