"""Takes back what a run did that is cancelled: results, tuples taken, windows.

The simulator computes a run when it starts, so a run that is cancelled has left all its traces already. They are noted
before it begins, and only under policies that cancel runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping

from headgate.metrics import QueryRecords
from headgate.model import QueryId, QueueId, Run
from headgate.plan.network import Node
from headgate.sim.operators import Effect, SimulatedTuple

Stores = Mapping[QueueId, deque[SimulatedTuple]]


class Undo:
    """What there was before a run.

    Nobody else changes any of it while the run is under way, as no two runs call the same operator at a time; so going
    back to it is enough.
    """

    def __init__(
        self, run: Run, works: Iterable[tuple[Node, Effect]], stores: Stores, records: Mapping[QueryId, QueryRecords]
    ) -> None:
        self._restore: list[Callable[[], None]] = []
        self._results: list[tuple[QueryRecords, int]] = []
        for node, effect in works:
            self._restore.append(effect.restorer())
            self._results += [(records[name], len(records[name].emission)) for name in node.emits]
        taken = [(stores[queue], behind - first) for queue, first, behind in run.takes if queue in stores]
        self._taken = [(store, [store[place] for place in range(count)]) for store, count in taken]

    def take_back(self) -> None:
        """Let it be as if the run had never begun."""
        for restore in self._restore:
            restore()
        for records, count in self._results:
            for column in (records.arrival, records.emission, records.reference):
                if column is not None:
                    del column[count:]
        for store, items in self._taken:  # of a query that was removed meanwhile: nobody looks into it any more
            store.extendleft(reversed(items))
