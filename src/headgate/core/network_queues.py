"""The queues of a network, and the logs of the streams that fill them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from headgate.core.queues import Log, TupleQueue
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
        for number in self.queues.keys() - network.edges.keys():
            self._close(self.queues.pop(number))
        for number, edge in network.edges.items():
            if number not in self.queues:
                self.queues[number] = self._open(edge, measured, backlog.get(number, ()))

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
