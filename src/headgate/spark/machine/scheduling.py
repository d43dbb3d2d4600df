"""The interface to the core scheduler: tell it which queries run, which tuples arrive, and which windows may close.

Also translates between offsets of logs and positions in the scheduler's queues, and measures the rates of streams.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf

from headgate.core import (
    Arrived,
    Declared,
    Event,
    Frontier,
    QueriesAdded,
    QueryAdded,
    QueryRemoved,
    Scheduler,
    StatisticsChanged,
    Undeclared,
)
from headgate.model import HeadgateError, Produced, Query, QueueId, Stream, TableJoin, check_known, streams, walk
from headgate.plan.network import Network
from headgate.plan.places import Place, by_depth
from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.definitions import CLASSES, STREAMS, TABLES
from headgate.spark.machine.interfaces import Chunks, FragmentView, StreamFacts
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.messages import Answer
from headgate.spark.machine.tasks import CheckWindows
from headgate.spark.machine.window_clocks import WindowClocks, streams_of
from headgate.stats.average import ExponentialAverage

RATES = 1.0  # seconds over which a stream's rate is measured


@dataclass(slots=True)
class _RateMeter:
    """Counts the tuples of a stream since a time, and averages its rates."""

    since: float
    tuples: int = 0
    rate: ExponentialAverage = field(default_factory=ExponentialAverage)


class Scheduling:
    """Keeps the scheduler's view of streams and queries up to date."""

    def __init__(self, context: MachineContext, scheduler: Scheduler, facts: StreamFacts) -> None:
        self.scheduler = scheduler
        self.ends: dict[str, int] = {}  # the end of each stream's log as far as the scheduler has been told
        self.refused: dict[str, HeadgateError] = {}  # streams whose logs have lost rows, or cannot be read
        self.tables: set[str] = set()  # that are declared
        self.leaving: set[tuple[str, str]] = set()  # what is being dropped, by kind and name: no query may use it
        self.context = self._context = context
        self._facts = facts
        self._windows = WindowClocks(facts)
        self._meters: dict[str, _RateMeter] = {}
        self._preparing: dict[str, Life] = {}  # queries for which arrivals are kept

    def tell(self, event: Event) -> None:
        self.scheduler.event(event, self._context.now)

    def declare(self, stream: Stream, end: int) -> None:
        """A stream may be read from now on."""
        self.ends[stream.name] = end
        self.tell(Declared(stream=stream))

    def undeclare(self, stream: str) -> None:
        """A stream is gone."""
        del self.ends[stream]
        self.refused.pop(stream, None)
        self._meters.pop(stream, None)
        self.tell(Undeclared(stream=stream))

    def check_reads(self, query: Query) -> None:
        """Refuse a query over a stream or table that was dropped since its SQL was planned."""
        usable = [name for name in self.ends if (STREAMS, name) not in self.leaving]
        for stream in streams(query.plan):
            check_known("stream", stream, usable)
        for table in tables_of(query):
            check_known("table", table, [name for name in self.tables if (TABLES, name) not in self.leaving])

    def refusal(self, query: Query) -> HeadgateError | None:
        """Why a query cannot run: a stream that it reads is refused."""
        return next((self.refused[stream] for stream in streams(query.plan) if stream in self.refused), None)

    def check_logs(self, query: Query) -> None:
        """Refuse a query over a stream that is refused."""
        if (refusal := self.refusal(query)) is not None:
            raise refusal

    def check_class(self, name: str) -> None:
        """Refuse a class that is unknown or about to be."""
        classes = self.scheduler.network.classes
        check_known("class", name, [known for known in classes if (CLASSES, known) not in self.leaving])

    # -- tuples ------------------------------------------------------------------------------------------------

    def appended(self, stream: str, end: int, chunks: Chunks) -> None:
        """A stream's log has grown: tell the scheduler, and release windows that can close now."""
        former_end = self.ends.get(stream)
        if former_end is None or end <= former_end:
            return  # the stream is still being declared, or its declaration counted these tuples already
        self.ends[stream] = end
        self._measure(stream, end - former_end)
        for arrival, count in chunks:
            self.tell(Arrived(stream, arrival, count))
        for life in self._preparing.values():
            if stream in life.arrived_meanwhile:
                life.arrived_meanwhile[stream].append(chunks)
        for life in self._windows.due(stream, self.ends):
            assert life.layout is not None
            if life.layout.whole or self._facts.ended(stream):
                for fragment in life.fragments:  # at least one of its windows can close
                    self._release(life, fragment.held)
            else:
                self.release_closed_windows(life)

    def keep_arrivals(self, life: Life) -> None:
        """Keep what comes while a query is prepared, from now on."""
        life.arrived_meanwhile = {stream: [] for stream in streams_of(life)}
        self._preparing[life.name] = life

    def forget_arrivals(self, life: Life) -> None:
        """It has them, or will not run."""
        life.arrived_meanwhile = {}
        self._preparing.pop(life.name, None)

    def release_closed_windows(self, life: Life) -> None:
        """Release the held tuples of windows that can close, so that the scheduler sees them."""
        if life.until or not life.entered or not any(fragment.held for fragment in life.fragments):
            return  # a one-time query takes its tuples without waiting for windows
        assert life.layout is not None
        if not life.layout.whole:
            self._check_windows(life)
            return
        for fragment in life.fragments:
            if fragment.held and self._can_close(life, fragment):
                self._release(life, fragment.held)

    def _can_close(self, life: Life, fragment: FragmentView) -> bool:
        try:
            return self._facts.can_close(life.resume_point(), fragment, self.ends)
        except HeadgateError:
            return True  # tuples are missing from the log: the run will fail for that and suspend the query

    def _check_windows(self, life: Life) -> None:
        """Let a task check the windows of a fragmented query, since that needs to read fragment logs."""
        if life.checking_windows:
            life.check_windows_again = True
            return
        life.checking_windows = True
        self._context.submit(
            CheckWindows(life.resume_point(), life.entry_number, {**self.ends, **life.fragment_log_ends}),
            self._windows_checked,
        )

    def _windows_checked(self, answer: Answer) -> None:
        task = answer.task
        assert isinstance(task, CheckWindows)
        life = self._context.lives.get(task.resume_point.name)
        if life is None:
            return
        life.checking_windows = False
        again, life.check_windows_again = life.check_windows_again, False
        if life.entry_number == task.entry_number and life.entered:
            held = (place for fragment in life.fragments for place in fragment.held)
            self._release(life, held if answer.error else answer.value)
            if again:
                self.release_closed_windows(life)

    def _release(self, life: Life, places: Iterable[Place]) -> None:
        assert life.layout is not None
        for place in places:
            queue = life.queues[place]
            end = life.end(life.layout.leaves[place].stream, self.ends)
            self.tell(Frontier(queue, end - life.bases[queue]))

    # -- queries -----------------------------------------------------------------------------------------------

    def enter(self, life: Life, backlog: Mapping[Place, Chunks]) -> None:
        """Add a query to the scheduler, together with its backlog."""
        self._wire(life, self.scheduler.network.add(life.query))
        backlogs = self._backlogs(life, backlog)
        self.tell(QueryAdded(life.query, tuple(backlogs.values())))
        self._entered(life, backlogs)

    def enter_all(self, entering: Sequence[tuple[Life, Mapping[Place, Chunks]]]) -> None:
        """Add queries to the scheduler at once, or none of them if the policy refuses them."""
        network = self.scheduler.network.add_all([life.query for life, _ in entering])
        for life, _ in entering:
            self._wire(life, network)
        backlogs = [self._backlogs(life, backlog) for life, backlog in entering]
        waiting = tuple(chain.from_iterable(each.values() for each in backlogs))
        self.tell(QueriesAdded(tuple(life.query for life, _ in entering), waiting))
        for (life, _), each in zip(entering, backlogs, strict=True):
            self._entered(life, each)

    def _backlogs(self, life: Life, backlog: Mapping[Place, Chunks]) -> dict[QueueId, Produced]:
        """What waits in the queues of a query, in those where something does."""
        assert life.layout is not None
        backlogs: dict[QueueId, Produced] = {}
        for place, source in life.layout.leaves.items():
            queue = life.queues[place]
            life.bases[queue] = life.positions[place]
            chunks = [*backlog.get(place, ()), *chain.from_iterable(life.arrived_meanwhile.get(source.stream, ()))]
            if chunks:
                backlogs[queue] = Produced(queue, tuple(chunks))
        return backlogs

    def _entered(self, life: Life, backlogs: Mapping[QueueId, Produced]) -> None:
        """Note where the queues of a query begin, and hold back what its windows need not take yet."""
        self.forget_arrivals(life)
        life.entered = True
        for queue in life.bases:
            if queue not in backlogs:  # it shares the stream's queue and starts at the end of that
                life.bases[queue] -= self.scheduler.queue(queue).position
        if life.until:
            for place, upto in life.until.items():
                if (held := life.queues.get(place)) is not None:
                    self.tell(Frontier(held, upto - life.bases[held]))
            return
        for place in (place for fragment in life.fragments for place in fragment.held):
            queue = life.queues[place]
            self.tell(Frontier(queue, self.scheduler.queue(queue).position))
        self.release_closed_windows(life)
        if any(fragment.held for fragment in life.fragments):
            self._windows.enter(life, self.ends)

    def leave(self, life: Life) -> None:
        """Remove a query from the scheduler; it may have active runs."""
        if life.entered:
            life.entered = False
            self._windows.leave(life)
            self.tell(QueryRemoved(life.name))

    @staticmethod
    def _wire(life: Life, network: Network) -> None:
        """Find the queue of each leaf, and the fragment of each operator, in the network that has the query."""
        assert life.layout is not None
        queues, places = network.inputs(life.name), network.places(life.name)
        life.queues = {place: queues[place] for place in life.layout.leaves}
        life.bases = {}
        homes = {fragment.place: fragment for fragment in life.fragments}
        life.operators = {}
        for place, number in sorted(places.items(), key=lambda entry: by_depth(entry[0])):
            depth = next(depth for depth in range(len(place), -1, -1) if place[:depth] in homes)
            life.operators.setdefault(number, homes[place[:depth]])

    # -- backlog and rates -------------------------------------------------------------------------------------

    def waiting(self, life: Life) -> tuple[int, float]:
        """The number of tuples that wait for a query, and how long the oldest has waited since the query was added.

        So time during which no engine ran does not count. For a query that is not scheduled (paused, suspended, waiting
        for its sink) these are all tuples that it has yet to read, also those of open windows, and nobody knows how
        long the oldest has waited.
        """
        if not life.entered:
            idle = life.state in (QueryState.PAUSED, QueryState.SUSPENDED, QueryState.WAITING)
            return self._unread(life) if idle else 0, 0.0
        queues = [self.scheduler.queue(queue) for queue in dict.fromkeys(life.queues.values())]
        oldest = min((queue.head for queue in queues), default=inf)
        count = sum(map(len, queues)) if life.busy else self.backlog_size(life)
        return count, max(0.0, self._context.now - max(oldest, life.added)) if oldest < inf else 0.0

    def waiting_since(self, life: Life) -> float:
        """From when on the oldest tuple that waits could have been taken; infinity if none waits.

        That is its arrival, or the time at which its window was over: what an open window holds is not late.
        """
        if not life.entered:
            return inf
        queues = (self.scheduler.queue(queue) for queue in dict.fromkeys(life.queues.values()))
        oldest = min((max(queue.head, queue.released or -inf) for queue in queues), default=inf)
        return max(oldest, life.added)

    def waiting_by_stream(self, life: Life) -> dict[str, tuple[int, float]]:
        """The same for each stream of a query that reads several; empty if it reads one or is not scheduled."""
        if not life.entered or life.layout is None or len(life.queues) < 2:
            return {}
        found: dict[str, tuple[int, float]] = {}
        for place, source in life.layout.leaves.items():
            if source.stream in self.ends:
                queue = self.scheduler.queue(life.queues[place])
                wait = max(0.0, self._context.now - max(queue.head, life.added)) if queue.head < inf else 0.0
                found[source.stream] = max(found.get(source.stream, (0, 0.0)), (len(queue), wait))
        return found

    def backfill(self, life: Life) -> tuple[int, int] | None:
        """How many of the kept tuples with which a query began it has read, of how many; None once it has caught up.

        What an open window holds is as good as read: nothing but time is missing.
        """
        if not life.backfill:
            return None
        read = kept = 0
        for place, end in life.backfill.items():
            start, position = life.starts.get(place, end), life.positions.get(place, end)
            if life.entered and place in life.queues:
                queue = self.scheduler.queue(life.queues[place])
                if position >= life.bases[queue.id] + queue.limit:
                    position = end
            read, kept = read + max(0, min(position, end) - start), kept + max(0, end - start)
        if read >= kept:
            life.backfill = {}  # it never falls back to that
            return None
        return read, kept

    def backlog_size(self, life: Life) -> int:
        """How many tuples a running query has yet to take from streams and fragment logs, without held ones.

        Computed from logs and committed positions, not from the scheduler's queues.
        """
        if not life.entered or life.state is not QueryState.RUNNING:
            return 0
        assert life.layout is not None
        backlogs = {}
        for place, source in life.layout.leaves.items():
            queue = self.scheduler.queue(life.queues[place])
            end = life.end(source.stream, self.ends)
            backlogs[queue.id] = end - life.positions[place] - (queue.log.end - queue.limit)
        return sum(backlogs.values())

    def _unread(self, life: Life) -> int:
        """How many tuples of its streams a query has yet to read."""
        streams = set() if life.layout is None else {source.stream for source in life.layout.leaves.values()}
        return sum(self.lag(life, stream) for stream in streams & self.ends.keys())

    def lag(self, life: Life, stream: str) -> int:
        """How many tuples of a stream a query has yet to take, whether it runs or not."""
        if life.layout is None:
            return 0
        positions = [life.positions[place] for place, source in life.layout.leaves.items() if source.stream == stream]
        return self.ends[stream] - min(positions, default=self.ends[stream])

    def _measure(self, stream: str, tuples: int) -> None:
        """Measure a stream's rate, and tell the scheduler about once a second."""
        now = self._context.now
        meter = self._meters.setdefault(stream, _RateMeter(now))
        meter.tuples += tuples
        seconds = now - meter.since
        if seconds >= RATES:
            rate = meter.rate.add(meter.tuples / seconds)
            meter.since, meter.tuples = now, 0
            self.tell(StatisticsChanged(stream=stream, rate=rate))


def tables_of(query: Query) -> set[str]:
    """The tables that a query joins with."""
    return {node.table for node in walk(query.plan) if isinstance(node, TableJoin)}
