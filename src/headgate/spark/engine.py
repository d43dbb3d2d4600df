"""The engine: the scheduling core in real time, its runs carried out as Spark jobs.

Sources append to stream logs and tell the scheduler; workers ask it what to run next, run it as a Spark job, commit,
and tell it the outcome. All talk with the scheduler is under one lock; jobs run outside it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.core import (
    Arrived,
    Declared,
    Event,
    Frontier,
    PolicyChanged,
    PriorityChanged,
    QueryAdded,
    QueryMoved,
    QueryRemoved,
    RecordingScheduler,
    Scheduler,
)
from headgate.model import (
    WHOLE_QUEUE,
    Answered,
    HeadgateError,
    Level,
    Outcome,
    Produced,
    Query,
    QueryClass,
    QueueId,
    Run,
    Stream,
    Table,
    WorkerId,
    unknown,
)
from headgate.plan.network import Network
from headgate.policies.registry import create
from headgate.spark.cutting import FINE, Shape, Shaper, sweep, waiting_folder
from headgate.spark.followers import Followers
from headgate.spark.intake import Intake
from headgate.spark.jobs import waiting
from headgate.spark.jobs.evaluate import evaluation
from headgate.spark.jobs.pieces import Piece
from headgate.spark.jobs.problems import one_line
from headgate.spark.jobs.tables import read_table
from headgate.spark.recut import cut_up, left_inside, whole_positions
from headgate.spark.replay import Replayed
from headgate.spark.responses import response_times
from headgate.spark.retention import forget_inside, keep_from
from headgate.spark.runner import Runner
from headgate.spark.running import RunningQuery, has_windows, stream_leaves
from headgate.spark.share import Share, key
from headgate.spark.store.deadletters import Letter
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.log import StreamLog
from headgate.spark.store.records import Commit, Output
from headgate.spark.store.recovery import recover
from headgate.spark.store.sinks import Call, Sink, open_sink, parse_sink
from headgate.spark.store.waitingrows import WaitingRows
from headgate.spark.tablesink import Appending, check_sink, table_of
from headgate.stats import Measured

CHECKPOINT = 200  # commits between two checkpoints
DEFAULT_POLICY = "mbd"
_PATIENCE = 0.5  # seconds a worker sleeps at most when there is nothing to run


class Engine:
    """Streams, queries and workers on one data directory and one Spark."""

    def __init__(
        self,
        spark: SparkSession,
        directory: Path,
        *,
        policy: str = DEFAULT_POLICY,
        workers: int = 2,
        run_limit: float = 300.0,
        seed: int = 1,
        record: Callable[[str], Any] | None = None,
    ) -> None:
        self._level = create(policy).level
        self.spark = spark
        self.workers = workers
        self.tables: dict[str, DataFrame] = {}
        self.queries: dict[str, RunningQuery] = {}
        self.doing: dict[WorkerId, Run] = {}
        self.runs = self.jobs = 0
        self.runner = Runner(spark, run_limit)
        self.followers = Followers()
        self._callbacks: dict[str, Call] = {}
        self._waiting: dict[str, StreamLog] = {}  # rows inside queries that are in pieces
        self._ends: dict[str, int] = {}  # how much of each log the scheduler knows of
        self._began = time.time() - time.monotonic()
        self.lock = threading.Condition(threading.RLock())
        self._stopping = self._still = False
        self._threads: list[threading.Thread] = []
        self.directory = DataDirectory(directory)
        try:
            self.ledger = recover(self.directory, self._sink, self._sink_failed)
            self._let_go_of_waiting()
        except BaseException:
            self.directory.close()
            raise
        self.intake = Intake(self.directory, self.now)
        self.scheduler = _scheduler(policy, seed, record)

    # -- what there is -----------------------------------------------------------------------------------------

    @property
    def streams(self) -> Mapping[str, Stream]:
        return self.intake.streams

    @property
    def logs(self) -> Mapping[str, StreamLog]:
        return self.intake.logs

    def now(self) -> float:
        """Seconds since the epoch, on a clock that never goes back."""
        return self._began + time.monotonic()

    def add_stream(self, stream: Stream) -> None:
        with self.lock:
            self._ends[stream.name] = self.intake.add(stream).end
            self._tell(Declared(stream=stream))

    def add_table(self, table: Table) -> None:
        self.tables[table.name] = read_table(self.spark, table)

    def add_class(self, query_class: QueryClass) -> None:
        with self.lock:
            self._tell(Declared(query_class=query_class))

    def add_query(self, query: Query, *, from_start: bool = False, call: Call | None = None) -> RunningQuery:
        """Start a query: where it stood if the directory knows it, else at the logs' ends, or at their starts."""
        if query.name in self.queries:
            raise HeadgateError(f"query '{query.name}' exists already", hint="stop it first, or choose another name")
        if "#" in query.name:
            raise HeadgateError(f"a query cannot be called '{query.name}'", hint="choose a name without #")
        parse_sink(query.sink or "parquet")
        if call is not None:
            self._callbacks[query.name] = call
        checked = evaluation(self.spark, query.plan, self.streams, self.tables)
        check_sink(self.spark, query.sink, checked.schema)
        known = self.ledger.queries.get(query.name)
        if known is not None and known.get("sql") != query.sql:
            raise HeadgateError(
                f"query '{query.name}' is in '{self.directory.path}' with other SQL",
                hint="give it another name, or choose another directory",
            )
        with self.lock:
            running = RunningQuery(query, Piece((), checked))
            self._place(running, known or {}, from_start)
            self._fit(running)
            if known is None:
                self._announce(running)
            self.queries[query.name] = running
            self._enter(running)
        if call is not None and known is not None:
            self._call_again(query.name, known)
        return running

    def remove_query(self, name: str) -> None:
        """Stop a query for good; its results stay."""
        with self.lock:
            running = self._at_rest(name)
            if running.state == "running":
                self._leave(running)
            self.ledger.commit(Commit(queries={name: None}))
            self._discard(running.shape)
            self.followers.end(name)
            del self.queries[name]

    def pause(self, name: str) -> None:
        with self.lock:
            running = self.query(name)
            if running.state == "running":
                self._leave(running)
            running.state = "paused"

    def resume(self, name: str) -> None:
        """Go on where a paused or suspended query stands, first with what its sink has not taken."""
        with self.lock:
            running = self._at_rest(name)
            if running.state == "running":
                return
            running.error = ""
            self.ledger.forward()
            if not running.error:
                running.state = "running"
                self._enter_again(running)

    def query(self, name: str) -> RunningQuery:
        if name not in self.queries:
            raise unknown("query", name, self.queries)
        return self.queries[name]

    def class_of(self, name: str) -> str:
        """The class a query is in now."""
        found = self.scheduler.network.queries.get(name)
        return (found or self.query(name).query).query_class

    def waiting(self, running: RunningQuery) -> tuple[int, float]:
        """How many tuples wait for a query, and for how long the oldest has."""
        if running.state != "running":
            return 0, 0.0
        queues = [self.scheduler.queue(queue) for queue in dict.fromkeys(running.queues.values())]
        oldest = min((queue.head for queue in queues), default=float("inf"))
        return sum(map(len, queues)), max(0.0, self.now() - oldest) if oldest < float("inf") else 0.0

    def follow(self, name: str, timeout: float | None = None) -> Iterator[pa.Table]:
        """A query's results as they are committed, from now on."""
        return self.followers.follow(self.query(name).name, timeout)

    # -- steering ----------------------------------------------------------------------------------------------

    def set_policy(self, policy: str) -> None:
        """Let another policy decide; where it schedules at another level, queries are cut anew."""
        level = create(policy).level
        with self.lock:
            if _cut(level) == _cut(self._level):
                self._level = level
                self._tell(PolicyChanged(policy))
                return
            with self._stillness():
                self._level = level
                entered = [running for running in self.queries.values() if running.state == "running"]
                for running in entered:
                    self._leave(running)
                self._tell(PolicyChanged(policy))
                for running in entered:
                    self._enter_again(running)

    def set_priority(self, query_class: str, priority: float) -> None:
        with self.lock:
            self._tell(PriorityChanged(query_class, priority))

    def set_class(self, query: str, query_class: str) -> None:
        with self.lock:
            running = self.query(query)
            self.scheduler.network.query_class(query_class)
            if running.state == "running":
                self._tell(QueryMoved(query, query_class))
            running.query = replace(running.query, query_class=query_class)

    # -- data in -----------------------------------------------------------------------------------------------

    def append(self, stream: str, rows: pa.Table, batch: str | None = None) -> int:
        """Add rows to a stream; durable on return. How many were new and in time."""
        new = self.intake.append(stream, rows, batch)
        self._arrived(stream)
        return new

    def finish(self, stream: str) -> None:
        """A stream has ended: its windows close."""
        self.intake.log(stream).finish(self.now())
        self._arrived(stream)

    def reject(self, stream: str, bad: tuple[tuple[str, str], ...]) -> None:
        """Keep tuples that could not be read."""
        now = self.now()
        self.intake.keep(stream, [Letter(reason, now, text=raw) for raw, reason in bad])

    def replay(self, stream: str, reason: str = "") -> Replayed:
        """Give a stream its dead letters again, all or those whose reason contains a text."""
        done = self.intake.replay(stream, reason)
        self._arrived(stream)
        return done

    def _arrived(self, stream: str) -> None:
        """Tell the scheduler what it does not know of a log yet."""
        with self.lock:
            known, end = self._ends[stream], self.logs[stream].end
            self._ends[stream] = end
            for arrival, count in self.intake.chunks(stream, known, end):
                self._tell(Arrived(stream, arrival, count))
            for running in self.queries.values():
                if running.state == "running":
                    self._release(running)
            self.lock.notify_all()

    def _release(self, running: RunningQuery) -> None:
        """Let a window's tuples wait once it can close; until then they are held."""
        for piece in running.pieces:
            if has_windows(piece) and running.can_close(piece, self._ends, self.logs):
                for place in running.held(piece):
                    stream, queue = piece.leaves[place].stream, running.queues[place]
                    end = self._ends.get(stream, running.log(stream, self.logs).end)
                    self._tell(Frontier(queue, end - running.bases[queue]))

    # -- work --------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Let the workers work."""
        for worker in range(self.workers):
            thread = threading.Thread(target=self._work, args=(worker,), name=f"headgate-worker-{worker}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def drained(self) -> bool:
        """Nothing waits and nothing runs; what is held may be there."""
        with self.lock:
            return self.scheduler.idle

    def drain(self, timeout: float | None = None) -> bool:
        """Wait until nothing waits and nothing runs."""
        with self.lock:
            return self.lock.wait_for(lambda: self.scheduler.idle or self._stopping, timeout)

    def close(self) -> None:
        """Let running work end, bring everything committed to the sinks, and let go of the directory."""
        with self.lock:
            if self._stopping:
                return
            self._stopping = True
            self.lock.notify_all()
        for thread in self._threads:
            thread.join()
        for name in self.queries:
            self.followers.end(name)
        try:
            self.ledger.checkpoint()
            self.ledger.close()
        finally:
            for log in self._waiting.values():
                log.close()
            self.intake.close()
            self.directory.close()

    def _work(self, worker: WorkerId) -> None:
        while (run := self._next(worker)) is not None:
            began = self.now()
            try:
                outcome = self._carry_out(run, began)
            except Exception as error:
                outcome = self._failed(run, began, error)
            with self.lock:
                self.doing.pop(worker, None)
                self.scheduler.finished(outcome, self.now())
                if outcome.produced:
                    for running in self._members(run):
                        if running.state == "running":
                            self._release(running)
                self.lock.notify_all()

    def _next(self, worker: WorkerId) -> Run | None:
        with self.lock:
            while not self._stopping:
                answer = None if self._still else self.scheduler.next(worker, self.now())
                if isinstance(answer, Run):
                    self.doing[worker] = answer
                    for running in self._members(answer):
                        running.busy = True
                    return answer
                self.lock.wait(_PATIENCE)
            return None

    def _carry_out(self, run: Run, began: float) -> Outcome:
        with self.lock:
            shares = self._shares(run)
        for share in shares:
            self._evaluate(share, f"headgate-{run.id}-{share.name}", f"run {run.id}: {share.name}")
        seconds = self.now() - began
        times = self._commit(shares, run)
        told = tuple(one for share in shares for one in share.outcome(seconds / len(shares)))
        produced = tuple(one for share in shares for one in share.produced())
        return Outcome(run, seconds, None, told, produced, self._answered(times))

    def _answered(self, times: Mapping[str, Sequence[float]]) -> tuple[Answered, ...]:
        """Response times by query, where the policy wants to know them."""
        if not self.scheduler.policy.wants_answers:
            return ()
        return tuple(Answered(name, tuple(found)) for name, found in times.items() if found)

    def _shares(self, run: Run) -> list[Share]:
        """What each query does in a run: the piece that its unit names, on what the unit takes."""
        takes = {queue: (first, last) for queue, first, last in run.takes}
        found = []
        for unit in run.units:
            for name in unit.queries:
                if (running := self.queries.get(name)) is not None:
                    piece = next(piece for call in unit.calls if (piece := running.operators.get(call)) is not None)
                    found.append(Share.of(running, piece, running.taken(takes, piece), self.logs))
        return found

    def _evaluate(self, share: Share, group: str, description: str) -> None:
        result, jobs = self.runner.run(group, description, lambda: share.evaluate(self.logs))
        share.done(result, self.now())
        with self.lock:
            self.jobs += jobs
            share.running.tally.jobs += jobs

    def _commit(self, shares: list[Share], run: Run | None = None) -> dict[str, list[float]]:
        """From here on the run counts, whatever becomes of its results. Their response times."""
        positions = {share.name: {key(p): at for p, at in share.positions().items()} for share in shares}
        outputs = {share.name: Output.inline(share.rows) for share in shares if share.rows.num_rows}
        for share in shares:
            if share.handed is not None and share.piece.feeds is not None:
                outputs[share.piece.feeds.name] = Output.inline(share.handed)
        number, units = (run.id, tuple(map(str, run.units))) if run is not None else (0, ())
        self.ledger.commit(Commit(number, units, positions, outputs))
        emission = self.now()
        with self.lock:
            for share in shares:
                share.running.positions.update(share.positions())
                share.running.busy = False
                self.followers.give(share.name, share.rows)
            self.runs += 1
            due = self.runs % CHECKPOINT == 0
            self.lock.notify_all()
        times = {share.name: self._note(share, emission) for share in shares}
        if due:
            self._tidy()
        else:
            self.ledger.forward()
        return times

    def _tidy(self) -> None:
        """Merge small files, shorten the commit log, and drop what no query will read again."""
        self.ledger.checkpoint()
        with self.lock:
            if self.ledger.queries.keys() - self.queries.keys():
                return  # a query of a former life has not come back yet
            for name, log in self.logs.items():
                log.drop_before(keep_from(name, self.queries.values(), self.logs))
            for running in self.queries.values():
                forget_inside(running, self.logs)

    def _note(self, share: Share, emission: float) -> list[float]:
        times: list[float] = []
        if share.piece.feeds is None:
            times = response_times(share.result.rows, share.streams_read, self.logs, emission)
        for stream, letter in share.letters(emission):
            self.intake.keep(stream, [letter])
        with self.lock:
            tally = share.running.tally
            tally.runs += 1
            tally.tuples_in += share.arrived
            tally.tuples_out += share.rows.num_rows
            tally.dead_letters += len(share.result.failures)
            tally.note(times)
        return times

    def _failed(self, run: Run, began: float, error: Exception) -> Outcome:
        """The run failed twice: its queries are suspended with the error, the others go on."""
        text = one_line(error)
        with self.lock:
            for running in self._members(run):
                running.busy = False
                self._suspend(running.name, text)
        return Outcome(run, self.now() - began, text)

    def _suspend(self, name: str, text: str) -> None:
        with self.lock:
            running = self.queries.get(name)
            if running is None:
                return
            if running.state == "running" and name in self.scheduler.network.queries:
                self._leave(running)
            running.state, running.error = "suspended", text

    # -- entering and leaving the scheduler --------------------------------------------------------------------

    def _place(self, running: RunningQuery, known: Mapping[str, Any], from_start: bool) -> None:
        """Where a query stands: as committed, else at an end of the log."""
        at, told = self.ledger.positions.get(running.name, {}), known.get("starts", {})
        for place, stream in stream_leaves(running.query).items():
            fresh = self.logs[stream].start if from_start else self._ends[stream]
            running.positions[place] = at.get(key(place), fresh)
            self.logs[stream].require(running.positions[place])
            running.starts[place] = told.get(key(place), fresh)
        running.shape = Shape((running.one,))
        if (cut := known.get("cut")) is not None:
            base = {place: cut["base"][key(place)] for place in running.starts}
            self._take_shape(running, self._shaper().cut(running.query, Level(cut["level"]), cut["epoch"], base))
            running.positions = {place: at[key(place)] for place in running.leaves}

    def _announce(self, running: RunningQuery) -> None:
        """Let the commits know what a query is, how it is cut, and where it stands."""
        query, shape = running.query, running.shape
        told: dict[str, Any] = {
            "sql": query.sql,
            "class": query.query_class,
            "sink": query.sink or "parquet",
            "starts": {key(place): offset for place, offset in running.starts.items()},
        }
        if shape.level is not None:
            base = {key(place): offset for place, offset in shape.base.items()}
            told["cut"] = {"level": shape.level, "epoch": shape.epoch, "base": base}
        positions = {key(place): offset for place, offset in running.positions.items()}
        self.ledger.commit(Commit(positions={query.name: positions}, queries={query.name: told}))

    def _enter(self, running: RunningQuery) -> None:
        """Give a query to the scheduler, with what has come since it stood where it stands."""
        self._wire(running, self.scheduler.network.add(running.query))
        backlog: dict[QueueId, Produced] = {}
        for place, source in running.leaves.items():
            queue, position = running.queues[place], running.positions[place]
            running.bases[queue] = position
            if chunks := self._since(running, source.stream, position):
                backlog[queue] = Produced(queue, chunks)
        self._tell(QueryAdded(running.query, tuple(backlog.values())))
        for queue in running.bases:
            if queue not in backlog:  # it reads the stream's common log, from that one's end
                running.bases[queue] -= self.scheduler.queue(queue).position
        for place in (place for piece in running.pieces for place in running.held(piece)):
            queue = running.queues[place]
            self._tell(Frontier(queue, self.scheduler.queue(queue).position))
        self._release(running)
        self.lock.notify_all()

    def _enter_again(self, running: RunningQuery) -> None:
        """The same for a query that the level of another policy may ask to be cut otherwise."""
        try:
            self._fit(running)
        except Exception as error:
            running.state, running.error = "suspended", one_line(error)
        else:
            self._enter(running)

    def _since(self, running: RunningQuery, stream: str, position: int) -> tuple[tuple[float, int], ...]:
        if stream in running.shape.logs:
            log = running.shape.logs[stream]
            return waiting.arrivals(log.read(position, log.end))
        return self.intake.chunks(stream, position, self._ends[stream])

    def _wire(self, running: RunningQuery, network: Network) -> None:
        """Which queue stands before each leaf, and which piece each operator is in."""
        queues, places = network.inputs(running.name), network.places(running.name)
        running.queues = {place: queues[place] for place in running.leaves}
        running.bases = {}
        homes = {piece.place: piece for piece in running.pieces}
        running.operators = {}
        for place, number in sorted(places.items()):
            depth = next(depth for depth in range(len(place), -1, -1) if place[:depth] in homes)
            running.operators.setdefault(number, homes[place[:depth]])

    def _leave(self, running: RunningQuery) -> None:
        self._tell(QueryRemoved(running.name))

    # -- cutting -----------------------------------------------------------------------------------------------

    def _fit(self, running: RunningQuery) -> None:
        """Bring a query into the pieces that the policy's level asks for."""
        level = _cut(self._level)
        if running.shape.level == level:
            return
        if not running.shape.whole:
            self._join_up(running)
        if level is not None:
            epoch = self.ledger.commits.number + 1  # no other cut in this directory has it
            shape, running.positions = cut_up(running, level, epoch, self._shaper(), self.runner, self.logs)
            self._take_shape(running, shape)
            self._announce(running)

    def _join_up(self, running: RunningQuery) -> None:
        """Run all that waits inside, then the query is in one piece again."""
        network = self.scheduler.network.add(running.query)
        self._wire(running, network)
        for share in left_inside(running, self.logs):
            self._evaluate(share, f"headgate-join-{share.name}", f"join {share.name}")
            self._commit([share])
        former = running.shape
        running.positions = whole_positions(running, network.leaves(running.name))
        running.shape = Shape((running.one,))
        self._announce(running)
        self._discard(former)

    def _take_shape(self, running: RunningQuery, shape: Shape) -> None:
        running.shape = shape
        self._waiting.update(shape.logs)

    def _discard(self, shape: Shape) -> None:
        self.ledger.forward()
        for name in shape.logs:
            self._waiting.pop(name, None)
            self.ledger.sinks.pop(name, None)
        shape.discard()

    def _shaper(self) -> Shaper:
        return Shaper(self.spark, self.streams, self.tables, self.directory.waiting)

    def _let_go_of_waiting(self) -> None:
        """Recovery has opened the logs it found rows for; queries open those they still need."""
        for name in [name for name in self.ledger.sinks if "#" in name]:
            self.ledger.sinks.pop(name).close()
        epochs = {name: told["cut"]["epoch"] for name, told in self.ledger.queries.items() if "cut" in told}
        sweep(self.directory.waiting, epochs)

    # -- inner -------------------------------------------------------------------------------------------------

    def _members(self, run: Run) -> list[RunningQuery]:
        return [self.queries[name] for unit in run.units for name in unit.queries if name in self.queries]

    def _at_rest(self, name: str) -> RunningQuery:
        """A query of which no run is under way that has yet to be committed."""
        self.lock.wait_for(lambda: not self.query(name).busy)
        return self.query(name)

    @contextmanager
    def _stillness(self) -> Iterator[None]:
        """Nothing runs, and nothing new is begun."""
        self._still = True
        try:
            self.lock.wait_for(lambda: not self.doing)
            yield
        finally:
            self._still = False
            self.lock.notify_all()

    def _tell(self, event: Event) -> None:
        self.scheduler.event(event, self.now())

    def _sink(self, query: str, told: Mapping[str, Any]) -> Sink:
        if "#" in query:
            return WaitingRows(query, waiting_folder(self.directory.waiting, query), self._waiting.get(query))
        text, folder, call = str(told.get("sink", "parquet")), self.directory.result(query), self._callbacks.get(query)
        if (table := table_of(text)) is not None:
            call = Appending(self.spark, table)
        if call is None and parse_sink(text).name == "callback":
            text = "blackhole"
        return open_sink(text, folder, call)

    def _sink_failed(self, name: str, error: Exception) -> None:
        self._suspend(name.rpartition("#")[0] or name, one_line(error))

    def _call_again(self, query: str, told: Mapping[str, Any]) -> None:
        """Give a callback what it may have missed in a crash: recovery did not know it yet."""
        self.ledger.sinks.pop(query, None)
        self.ledger.sink(query, told)
        for number, commit in self.ledger.commits.commits():
            self.ledger.wait(number, commit, (query,))
        self.ledger.forward()


def _scheduler(policy: str, seed: int, record: Callable[[str], Any] | None) -> Scheduler:
    network = Network.of([], [], [], share=False)
    settings: dict[str, Any] = {
        "measured": Measured.of(network, fits_overhead=True),
        "learn": True,
        "train": WHOLE_QUEUE,
        "seed": seed,
    }
    if record is None:
        return Scheduler(network, policy, **settings)
    return RecordingScheduler(network, policy, write=record, **settings)


def _cut(level: Level) -> Level | None:
    """The level at which queries are in pieces; None: each is whole."""
    return level if level in FINE else None
