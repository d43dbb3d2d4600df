"""The queues of a network, and the logs of the streams that fill them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from headgate.core.queues import Log, TupleQueue
from headgate.model import Take
from headgate.plan.network import Edge, Network
from headgate.stats import Measured

Chunks = Iterable[tuple[float, int]]  # (arrival, how many)
NO_BACKLOG: Mapping[int, Chunks] = MappingProxyType({})


class NetworkQueues:
    """Opens and closes queues as the network changes; queues that stay keep the tuples that wait in them."""

    def __init__(self) -> None:
        self.logs: dict[str, list[Log]] = {}  # by stream: one for all queues, and one per queue that has a backlog
        self.queues: dict[int, TupleQueue] = {}

    def follow(self, network: Network, measured: Measured, backlog: Mapping[int, Chunks] = NO_BACKLOG) -> None:
        """Match the queues to a network; new ones begin with their backlog."""
        for name, stream in network.streams.items():
            self.logs.setdefault(name, [Log(stream.bytes)])
        for name in self.logs.keys() - network.streams.keys():
            del self.logs[name]  # a stream of this name that is declared later begins anew
        for number in self.queues.keys() - network.edges.keys():
            self._close(self.queues.pop(number))
        for number, edge in network.edges.items():
            if number not in self.queues:
                self.queues[number] = self._open(edge, measured, backlog.get(number, ()))

    def give_back(self, takes: Sequence[Take]) -> list[TupleQueue]:
        """Let the tuples that a run took wait again; returns the queues that got some."""
        given = []
        for number, first, behind in reversed(takes):
            queue = self.queues.get(number)
            if queue is None or queue.pinned is None or queue.position != behind:
                continue  # its query was removed meanwhile, and perhaps added again
            queue.give_back(first)
            for state in queue.states:
                if queue is not state.queue:
                    state.queue = None
            given.append(queue)
        self.unpin(takes)
        return given

    def unpin(self, takes: Iterable[Take]) -> None:
        """Forget where a run took tuples: they cannot be given back any more."""
        for number, _, _ in takes:
            if (queue := self.queues.get(number)) is not None:
                queue.pinned = None

    def _open(self, edge: Edge, measured: Measured, backlog: Chunks) -> TupleQueue:
        """A queue at the end of its stream's log, or in a log of its own if it has a backlog."""
        if edge.producer is not None:
            return _filled(TupleQueue(edge.id, Log(measured.operators[edge.producer].size)), backlog)
        assert edge.stream is not None
        logs = self.logs[edge.stream]
        if not backlog:
            return TupleQueue(edge.id, logs[0])
        logs.append(Log(logs[0].size))
        return _filled(TupleQueue(edge.id, logs[-1]), backlog)

    def _close(self, queue: TupleQueue) -> None:
        queue.close()
        for logs in self.logs.values():
            if queue.log in logs[1:]:
                logs.remove(queue.log)


def _filled(queue: TupleQueue, backlog: Chunks) -> TupleQueue:
    for arrival, tuples in backlog:
        queue.log.append(arrival, tuples)
    return queue
