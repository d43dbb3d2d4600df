"""The queues of a network, and the logs of the streams that fill them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from headgate.core.queues import Log, TupleQueue
from headgate.model import Take
from headgate.plan.network import Edge, Network
from headgate.stats import Measured

Chunks = Iterable[tuple[float, int]]  # (arrival, how many)
Backlog = tuple[tuple[float, int], ...]  # the same of one queue, before it begins
NO_BACKLOG: Mapping[int, Chunks] = MappingProxyType({})


class NetworkQueues:
    """Opens and closes queues as the network changes; queues that stay keep the tuples that wait in them."""

    def __init__(self) -> None:
        self.logs: dict[str, list[Log]] = {}  # by stream: one for all queues, and one for each backlog at their start
        self.queues: dict[int, TupleQueue] = {}

    def follow(self, network: Network, measured: Measured, backlog: Mapping[int, Chunks] = NO_BACKLOG) -> None:
        """Match the queues to a network; new ones begin with their backlog."""
        for name, stream in network.streams.items():
            self.logs.setdefault(name, [Log(stream.bytes)])
        for name in self.logs.keys() - network.streams.keys():
            del self.logs[name]  # a stream of this name that is declared later begins anew
        for number in self.queues.keys() - network.edges.keys():
            self._close(self.queues.pop(number))
        filled: dict[tuple[str | int, Backlog], Log] = {}
        for number, edge in network.edges.items():
            if number not in self.queues:
                self.queues[number] = self._open(edge, measured, tuple(backlog.get(number, ())), filled)
        for (_, chunks), log in filled.items():
            for arrival, tuples in chunks:
                log.append(arrival, tuples)

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

    def _open(
        self, edge: Edge, measured: Measured, backlog: Backlog, filled: dict[tuple[str | int, Backlog], Log]
    ) -> TupleQueue:
        """A queue at the end of its stream's log, or in a log that is to be filled with its backlog.

        Queries that start together have the same backlog, and one log for it: every arrival is one append per log.
        """
        if edge.producer is not None:
            log = Log(measured.operators[edge.producer].size)
            if backlog:
                filled[edge.id, backlog] = log
            return TupleQueue(edge.id, log)
        assert edge.stream is not None
        logs = self.logs[edge.stream]
        if not backlog:
            return TupleQueue(edge.id, logs[0])
        if (edge.stream, backlog) not in filled:
            filled[edge.stream, backlog] = Log(logs[0].size)
            logs.append(filled[edge.stream, backlog])
        return TupleQueue(edge.id, filled[edge.stream, backlog])

    def _close(self, queue: TupleQueue) -> None:
        queue.close()
        if queue.log.queues:
            return
        for logs in self.logs.values():
            if queue.log in logs[1:]:
                logs.remove(queue.log)
