"""The talk with the scheduler: queries enter and leave it, tuples arrive, windows let theirs go.

All of it happens under the engine's lock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from headgate.core import Arrived, Event, Frontier, QueryAdded, QueryRemoved, Scheduler, StatisticsChanged
from headgate.model import HeadgateError, Produced, QueueId
from headgate.plan.network import Network
from headgate.spark.closing import Closing
from headgate.spark.intake import Chunks, Intake
from headgate.spark.jobs import waiting
from headgate.spark.jobs.pieces import Piece
from headgate.spark.running import RunningQuery
from headgate.stats.average import ExponentialAverage

RATES = 1.0  # seconds over which a stream's rate is counted


@dataclass(slots=True)
class _Counting:
    since: float
    tuples: int = 0
    rate: ExponentialAverage = field(default_factory=ExponentialAverage)


class Dispatch:
    """What the scheduler knows of the streams and queries of an engine."""

    def __init__(self, scheduler: Scheduler, intake: Intake, now: Callable[[], float]) -> None:
        self.scheduler = scheduler
        self.ends: dict[str, int] = {}  # how much of each stream's log the scheduler knows of
        self._intake, self._now = intake, now
        self._closing = Closing(intake.logs)
        self._counting: dict[str, _Counting] = {}

    def tell(self, event: Event) -> None:
        self.scheduler.event(event, self._now())

    def arrived(self, stream: str) -> None:
        """Tell what the scheduler does not know of a log yet."""
        known, end = self.ends[stream], self._intake.logs[stream].end
        self.ends[stream] = end
        self._measure(stream, end - known)
        for arrival, count in self._intake.chunks(stream, known, end):
            self.tell(Arrived(stream, arrival, count))
        ended = self._intake.logs[stream].finished_at is not None
        for running in self._closing.due(stream, self.ends):
            if running.shape.whole or ended:  # one of its windows has closed since it was looked at last, or all have
                for piece in running.pieces:
                    self._let_go(running, piece)
            else:
                self.release(running)

    def release(self, running: RunningQuery) -> None:
        """Let a window's tuples wait once it can close; until then they are held."""
        if running.until:
            return  # a one-time query takes what is there, in whatever portions
        for piece in running.pieces:
            if piece.held and self._can_close(running, piece):
                self._let_go(running, piece)

    def _can_close(self, running: RunningQuery, piece: Piece) -> bool:
        try:
            return running.can_close(piece, self.ends, self._intake.logs)
        except HeadgateError:
            return True  # a log lacks what tells: the run will say so, and only its query is suspended

    def _let_go(self, running: RunningQuery, piece: Piece) -> None:
        for place in piece.held:
            stream, queue = piece.leaves[place].stream, running.queues[place]
            end = self.ends[stream] if stream in self.ends else running.log(stream, self._intake.logs).end
            self.tell(Frontier(queue, end - running.bases[queue]))

    def enter(self, running: RunningQuery) -> None:
        """Give a query to the scheduler, with what has come since it stood where it stands."""
        self.wire(running)
        backlog: dict[QueueId, Produced] = {}
        for place, source in running.leaves.items():
            queue, position = running.queues[place], running.positions[place]
            running.bases[queue] = position
            if chunks := self._since(running, source.stream, position):
                backlog[queue] = Produced(queue, chunks)
        self.tell(QueryAdded(running.query, tuple(backlog.values())))
        for queue in running.bases:
            if queue not in backlog:  # it reads the stream's common log, from that one's end
                running.bases[queue] -= self.scheduler.queue(queue).position
        if running.until:
            for place, upto in running.until.items():
                if (held := running.queues.get(place)) is not None:
                    self.tell(Frontier(held, upto - running.bases[held]))
            return
        for place in (place for piece in running.pieces for place in piece.held):
            queue = running.queues[place]
            self.tell(Frontier(queue, self.scheduler.queue(queue).position))
        self.release(running)
        if any(piece.held for piece in running.pieces):
            self._closing.enter(running, self.ends)

    def leave(self, running: RunningQuery) -> None:
        self._closing.leave(running)
        self.tell(QueryRemoved(running.name))

    def wire(self, running: RunningQuery) -> Network:
        """Find out which queue stands before each leaf, and which piece each operator is in."""
        network = self.scheduler.network.add(running.query)
        queues, places = network.inputs(running.name), network.places(running.name)
        running.queues = {place: queues[place] for place in running.leaves}
        running.bases = {}
        homes = {piece.place: piece for piece in running.pieces}
        running.operators = {}
        for place, number in sorted(places.items()):
            depth = next(depth for depth in range(len(place), -1, -1) if place[:depth] in homes)
            running.operators.setdefault(number, homes[place[:depth]])
        return network

    def waiting(self, running: RunningQuery) -> tuple[int, float]:
        """How many tuples wait for a query, and for how long the oldest has."""
        if running.state != "running":
            return 0, 0.0
        queues = [self.scheduler.queue(queue) for queue in dict.fromkeys(running.queues.values())]
        oldest = min((queue.head for queue in queues), default=inf)
        count = sum(map(len, queues)) if running.busy else self.behind(running)
        return count, max(0.0, self._now() - oldest) if oldest < inf else 0.0

    def behind(self, running: RunningQuery) -> int:
        """How many tuples a query that runs has yet to take, in its streams and inside it, but for those held.

        It is told by the logs and by what is committed, not by what the scheduler believes to wait.
        """
        if running.state != "running" or running.name not in self.scheduler.network.queries:
            return 0
        found = {}
        for place, source in running.leaves.items():
            queue = self.scheduler.queue(running.queues[place])
            end = self.ends[source.stream] if source.stream in self.ends else running.shape.logs[source.stream].end
            found[queue.id] = end - running.positions[place] - (queue.log.end - queue.limit)
        return sum(found.values())

    def lag(self, running: RunningQuery, stream: str) -> int:
        """How many tuples of a stream a query has not taken, whether it runs or not."""
        behind = (running.positions[place] for place, source in running.leaves.items() if source.stream == stream)
        return self.ends[stream] - min(behind, default=self.ends[stream])

    def _measure(self, stream: str, tuples: int) -> None:
        """Let the scheduler know a stream's rate, every so often."""
        counting = self._counting.setdefault(stream, _Counting(self._now()))
        counting.tuples += tuples
        seconds = self._now() - counting.since
        if seconds >= RATES:
            rate = counting.rate.add(counting.tuples / seconds)
            counting.since, counting.tuples = self._now(), 0
            self.tell(StatisticsChanged(stream=stream, rate=rate))

    def _since(self, running: RunningQuery, stream: str, position: int) -> Chunks:
        if stream in running.shape.logs:
            log = running.shape.logs[stream]
            return waiting.arrivals(log.read(position, log.end))
        return self._intake.chunks(stream, position, self.ends[stream])
