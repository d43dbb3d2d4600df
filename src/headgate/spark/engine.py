"""The engine: the scheduling core in real time, its runs carried out as Spark jobs.

Sources append to stream logs and tell the scheduler; workers ask it what to run next, run it as a Spark job, commit,
and tell it the outcome. All talk with the scheduler is under one lock; jobs run outside it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
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
    HeadgateError,
    Level,
    OperatorOutcome,
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
from headgate.plan.sharing import Place
from headgate.policies.registry import create
from headgate.spark.calling import Calling, UndeliveredError
from headgate.spark.jobs.evaluate import Result, evaluation
from headgate.spark.jobs.rows import Leaf
from headgate.spark.jobs.schemas import ARRIVAL, CLOSES, arrow_schema
from headgate.spark.jobs.tables import read_table
from headgate.spark.replay import Replayed, complete, replay
from headgate.spark.retention import keep_from
from headgate.spark.running import RunningQuery, response_times
from headgate.spark.store.deadletters import DeadLetters, Letter
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.ledger import forward
from headgate.spark.store.log import StreamLog
from headgate.spark.store.records import Commit, Output
from headgate.spark.store.recovery import recover
from headgate.spark.store.sinks import Call, Sink, open_sink, parse_sink
from headgate.spark.tablesink import Appending, check_sink, table_of
from headgate.stats import Measured

CHECKPOINT = 200  # commits between two checkpoints
LEVELS = (Level.QUERY, Level.SHARED, Level.GROUP)  # a run is of whole queries
_PATIENCE = 0.5  # seconds a worker sleeps at most when there is nothing to run


class Engine:
    """Streams, queries and workers on one data directory and one Spark."""

    def __init__(
        self,
        spark: SparkSession,
        directory: Path,
        *,
        policy: str = "fcfs",
        workers: int = 2,
        run_limit: float = 300.0,
        seed: int = 1,
        record: Callable[[str], Any] | None = None,
    ) -> None:
        _check_level(policy)
        self.spark = spark
        self.workers = workers
        self.streams: dict[str, Stream] = {}
        self.tables: dict[str, DataFrame] = {}
        self.logs: dict[str, StreamLog] = {}
        self.letters: dict[str, DeadLetters] = {}
        self.queries: dict[str, RunningQuery] = {}
        self.doing: dict[WorkerId, Run] = {}
        self.runs = self.jobs = 0
        self._inboxes: dict[str, list[SimpleQueue[pa.Table | None]]] = {}
        self._callbacks: dict[str, Call] = {}
        self._appending: dict[str, threading.Lock] = {}  # a log and its dead letters change together
        self._ends: dict[str, int] = {}  # how much of each log the scheduler knows of
        self._run_limit = run_limit
        self._began = time.time() - time.monotonic()
        self.lock = threading.Condition(threading.RLock())
        self._stopping = False
        self._threads: list[threading.Thread] = []
        self.directory = DataDirectory(directory)
        try:
            self.ledger = recover(self.directory, self._sink, lambda query, error: self._suspend(query, _told(error)))
        except BaseException:
            self.directory.close()
            raise
        network = Network.of([], [], [], share=False)
        settings: dict[str, Any] = {
            "measured": Measured.of(network),
            "learn": True,
            "train": WHOLE_QUEUE,
            "seed": seed,
        }
        if record is None:
            self.scheduler = Scheduler(network, policy, **settings)
        else:
            self.scheduler = RecordingScheduler(network, policy, write=record, **settings)

    # -- what there is -----------------------------------------------------------------------------------------

    def now(self) -> float:
        """Seconds since the epoch, on a clock that never goes back."""
        return self._began + time.monotonic()

    def add_stream(self, stream: Stream) -> None:
        if stream.name in self.streams:
            raise HeadgateError(f"stream '{stream.name}' exists already", hint="choose another name")
        schema = arrow_schema(stream)
        folder = self.directory.stream(stream.name)
        log = StreamLog.open(folder, stream, schema)
        with self.lock:
            self.streams[stream.name] = stream
            self.logs[stream.name] = log
            self.letters[stream.name] = DeadLetters(self.directory.letters(stream.name))
            complete(log, self.letters[stream.name], self.now())
            self._appending[stream.name] = threading.Lock()
            self._ends[stream.name] = log.end
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
        if call is not None and known is not None:
            self._call_again(query.name, known)
        with self.lock:
            running = RunningQuery(query, checked, {}, {})
            self._place(running, from_start)
            if known is None:
                self._announce(running)
            self.queries[query.name] = running
            self._enter(running)
        return running

    def remove_query(self, name: str) -> None:
        """Stop a query for good; its results stay."""
        with self.lock:
            running = self._at_rest(name)
            if running.state == "running":
                self._leave(running)
            self.ledger.commit(Commit(queries={name: None}))
            self._hand_out(name, None)
            del self.queries[name]

    def pause(self, name: str) -> None:
        with self.lock:
            running = self.query(name)
            if running.state == "running":
                self._leave(running)
            running.state = "paused"

    def resume(self, name: str) -> None:
        """Go on where a paused or suspended query stands."""
        with self.lock:
            running = self._at_rest(name)
            if running.state != "running":
                running.state, running.error = "running", ""
                self._enter(running)
        sink = self.ledger.sinks.get(name)
        if isinstance(sink, Calling):
            sink.roll_forward_all(())
        self.ledger.forward()  # what a sink that failed has not taken

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
        inbox: SimpleQueue[pa.Table | None] = SimpleQueue()
        with self.lock:
            self._inboxes.setdefault(self.query(name).name, []).append(inbox)
        return self._followed(name, inbox, timeout)

    def _followed(self, name: str, inbox: SimpleQueue[pa.Table | None], timeout: float | None) -> Iterator[pa.Table]:
        try:
            while (table := inbox.get(timeout=timeout)) is not None:
                yield table
        except Empty:
            return
        finally:
            with self.lock:
                self._inboxes[name].remove(inbox)

    def set_policy(self, policy: str) -> None:
        _check_level(policy)
        with self.lock:
            self._tell(PolicyChanged(policy))

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
        log = self._log(stream)
        with self._appending[stream]:
            before = log.end
            appended = log.append(rows, self.now(), batch)
            if appended.rejected:
                self.letters[stream].keep(appended)
            new = log.end - before
        self._arrived(stream)
        return new

    def finish(self, stream: str) -> None:
        """A stream has ended: its windows close."""
        self._log(stream).finish(self.now())
        self._arrived(stream)

    def reject(self, stream: str, bad: tuple[tuple[str, str], ...]) -> None:
        """Keep tuples that could not be read."""
        now = self.now()
        with self._appending[stream]:
            self.letters[stream].add([Letter(reason, now, text=raw) for raw, reason in bad])

    def replay(self, stream: str, reason: str = "") -> Replayed:
        """Give a stream its dead letters again, all or those whose reason contains a text."""
        log = self._log(stream)
        with self._appending[stream]:
            done = replay(log, self.letters[stream], self.now(), reason)
        self._arrived(stream)
        return done

    def _arrived(self, stream: str) -> None:
        """Tell the scheduler what it does not know of a log yet."""
        with self.lock:
            known, end = self._ends[stream], self.logs[stream].end
            self._ends[stream] = end
            for arrival, count in self._chunks(stream, known, end):
                self._tell(Arrived(stream, arrival, count))
            for running in self.queries.values():
                if running.state == "running" and running.windows:
                    self._release(running)
            self.lock.notify_all()

    def _release(self, running: RunningQuery) -> None:
        """Let a window query's tuples wait once a window can close; until then they are held."""
        held = running.held
        if held and running.can_close(self.logs, self._ends):
            for place in held:
                queue = running.queues[place]
                self._tell(Frontier(queue, self._ends[running.stream(place)] - running.bases[queue]))

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
            self._hand_out(name, None)
        try:
            with suppress(UndeliveredError):  # the commits stay: the callback gets them after the next start
                self.ledger.checkpoint()
            self.ledger.close()
        finally:
            for log in self.logs.values():
                log.close()
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
                self.lock.notify_all()

    def _next(self, worker: WorkerId) -> Run | None:
        with self.lock:
            while not self._stopping:
                answer = self.scheduler.next(worker, self.now())
                if isinstance(answer, Run):
                    self.doing[worker] = answer
                    for running in self._members(answer):
                        running.busy = True
                    return answer
                self.lock.wait(_PATIENCE)
            return None

    def _carry_out(self, run: Run, began: float) -> Outcome:
        taken = {queue: (first, last) for queue, first, last in run.takes}
        with self.lock:
            members = self._members(run)
            leaves = {member.name: member.leaves(taken, self.logs) for member in members}
        results = {member.name: self._result(member, leaves[member.name], run) for member in members}
        ran = self.now()
        self._commit(run, members, leaves, results)
        return Outcome(run, ran - began, None, self._operators(run, members, leaves, results, ran - began))

    def _result(self, member: RunningQuery, leaves: Mapping[Place, Leaf], run: Run) -> Result:
        """One query's part of a run as a Spark job; tried twice, unless it took too long."""
        group = f"headgate-{run.id}-{member.name}"
        context = self.spark.sparkContext
        context.setJobGroup(group, f"run {run.id}: {member.name}", interruptOnCancel=True)
        try:
            result = self._limited(member, leaves, group)
        except HeadgateError:
            raise
        except Exception:
            result = self._limited(member, leaves, group)
        jobs = len(context.statusTracker().getJobIdsForGroup(group))
        with self.lock:
            self.jobs += jobs
            member.tally.jobs += jobs
        return result

    def _limited(self, member: RunningQuery, leaves: Mapping[Place, Leaf], group: str) -> Result:
        """Evaluate within the time limit."""
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            self.spark.sparkContext.cancelJobGroup(group)

        limit = threading.Timer(self._run_limit, expire)
        limit.start()
        try:
            return member.evaluation.run(leaves, self.logs)
        except Exception:
            if expired.is_set():
                raise HeadgateError(
                    f"a run took longer than {self._run_limit:g} s and was cancelled", hint="choose smaller trains"
                ) from None
            raise
        finally:
            limit.cancel()

    def _commit(
        self,
        run: Run,
        members: list[RunningQuery],
        leaves: Mapping[str, Mapping[Place, Leaf]],
        results: Mapping[str, Result],
    ) -> None:
        positions = {m.name: {_key(p): leaf.range.last for p, leaf in leaves[m.name].items()} for m in members}
        outputs = {
            m.name: Output.inline(results[m.name].rows.drop_columns([ARRIVAL, CLOSES]))
            for m in members
            if results[m.name].rows.num_rows
        }
        self.ledger.commit(Commit(run.id, tuple(map(str, run.units)), positions, outputs))
        emission = self.now()
        with self.lock:  # from here on the run counts, whatever becomes of its results
            for member in members:
                member.positions.update({place: leaf.range.last for place, leaf in leaves[member.name].items()})
                member.busy = False
                self._hand_out(member.name, results[member.name].rows.drop_columns([ARRIVAL, CLOSES]))
            self.runs += 1
            due = self.runs % CHECKPOINT == 0
            self.lock.notify_all()
        for member in members:
            self._note(member, leaves[member.name], results[member.name], emission)
        if due:
            self._tidy()
        else:
            self.ledger.forward()

    def _tidy(self) -> None:
        """Merge small files, shorten the commit log, and drop what no query will read again."""
        with suppress(UndeliveredError):
            self.ledger.checkpoint()
        with self.lock:
            if self.ledger.queries.keys() - self.queries.keys():
                return  # a query of a former life has not come back yet
            for name, log in self.logs.items():
                log.drop_before(keep_from(name, self.queries.values(), self.logs))

    def _hand_out(self, name: str, table: pa.Table | None) -> None:
        """Give a result to those who follow the query; None: there will be no more."""
        if table is None or table.num_rows:
            for inbox in self._inboxes.get(name, ()):
                inbox.put(table)

    def _note(self, member: RunningQuery, leaves: Mapping[Place, Leaf], result: Result, emission: float) -> None:
        times = response_times(result.rows, leaves, self.logs, emission)
        for failure in result.failures:
            letter = Letter(f"query {member.name}: {failure.reason}", emission, offset=failure.offset)
            with self._appending[failure.stream]:
                self.letters[failure.stream].add([letter])
        with self.lock:
            tally = member.tally
            tally.runs += 1
            tally.tuples_in += member.taken(leaves)
            tally.tuples_out += result.rows.num_rows
            tally.dead_letters += len(result.failures)
            tally.note(times)

    def _failed(self, run: Run, began: float, error: Exception) -> Outcome:
        """The run failed twice: its queries are suspended with the error, the others go on."""
        text = _told(error)
        with self.lock:
            for running in self._members(run):
                running.busy = False
                self._suspend(running.name, text)
        return Outcome(run, self.now() - began, text)

    def _suspend(self, name: str, text: str) -> None:
        with self.lock:
            running = self.queries.get(name)
            if running is not None and running.state == "running":
                running.state, running.error = "suspended", text
                self._leave(running)

    def _operators(
        self,
        run: Run,
        members: list[RunningQuery],
        leaves: Mapping[str, Mapping[Place, Leaf]],
        results: Mapping[str, Result],
        seconds: float,
    ) -> tuple[OperatorOutcome, ...]:
        """What a run tells of its operators: a job's time cannot be split, so the first one stands for the query."""
        told = []
        for member in members:
            taken = member.taken(leaves[member.name])
            numbers = self.scheduler.network.operators.get(member.name, ())
            if taken and numbers:
                share = seconds / len(members)
                told.append(OperatorOutcome(numbers[0], taken, results[member.name].rows.num_rows, share))
        return tuple(told)

    # -- inner -------------------------------------------------------------------------------------------------

    def _members(self, run: Run) -> list[RunningQuery]:
        return [self.queries[name] for unit in run.units for name in unit.queries if name in self.queries]

    def _at_rest(self, name: str) -> RunningQuery:
        """A query of which no run is under way that has yet to be committed."""
        self.lock.wait_for(lambda: not self.query(name).busy)
        return self.query(name)

    def _place(self, running: RunningQuery, from_start: bool) -> None:
        """Where a query stands at each leaf: as committed, else at an end of the log."""
        network = self.scheduler.network.add(running.query)
        running.queues = network.leaves(running.name)
        known = self.ledger.positions.get(running.name, {})
        told = self.ledger.queries.get(running.name, {}).get("starts", {})
        for place in running.queues:
            stream = running.stream(place)
            fresh = self.logs[stream].start if from_start else self._ends[stream]
            running.positions[place] = known.get(_key(place), fresh)
            self.logs[stream].require(running.positions[place])
            running.starts[place] = told.get(_key(place), fresh)

    def _announce(self, running: RunningQuery) -> None:
        query = running.query
        starts = {_key(place): offset for place, offset in running.starts.items()}
        told = {"sql": query.sql, "class": query.query_class, "sink": query.sink or "parquet", "starts": starts}
        self.ledger.commit(Commit(positions={query.name: starts}, queries={query.name: told}))

    def _enter(self, running: RunningQuery) -> None:
        """Give a query to the scheduler, with what has come since it stood where it stands."""
        network = self.scheduler.network.add(running.query)
        running.queues = network.leaves(running.name)
        backlog: dict[QueueId, Produced] = {}
        for place, queue in running.queues.items():
            stream, position = running.stream(place), running.positions[place]
            running.bases[queue] = position
            chunks = self._chunks(stream, position, self._ends[stream])
            if chunks:
                backlog[queue] = Produced(queue, chunks)
        self._tell(QueryAdded(running.query, tuple(backlog.values())))
        for queue in set(running.queues.values()):  # a stream that is read twice may have one queue
            if queue not in backlog:  # it reads the stream's common log, from that one's end
                running.bases[queue] -= self.scheduler.queue(queue).position
        for place in running.held:
            queue = running.queues[place]
            self._tell(Frontier(queue, self.scheduler.queue(queue).position))
        if running.windows:
            self._release(running)
        self.lock.notify_all()

    def _chunks(self, stream: str, first: int, last: int) -> tuple[tuple[float, int], ...]:
        """The arrivals of a piece of a log; the marker of a stream's end has no row but takes an offset."""
        chunks = self.logs[stream].arrivals(first, last)
        missing = last - first - sum(count for _, count in chunks)
        return (*chunks, (self.now(), missing)) if missing else tuple(chunks)

    def _leave(self, running: RunningQuery) -> None:
        self._tell(QueryRemoved(running.name))

    def _tell(self, event: Event) -> None:
        self.scheduler.event(event, self.now())

    def _log(self, stream: str) -> StreamLog:
        if stream not in self.logs:
            raise unknown("stream", stream, self.logs)
        return self.logs[stream]

    def _sink(self, query: str, told: Mapping[str, Any]) -> Sink:
        text, folder, call = str(told.get("sink", "parquet")), self.directory.result(query), self._callbacks.get(query)
        if (table := table_of(text)) is not None:
            return open_sink(text, folder, Appending(self.spark, table))
        if parse_sink(text).name != "callback":
            return open_sink(text, folder)
        if call is None:
            return open_sink("blackhole", folder)
        return Calling(folder, call, lambda error: self._suspend(query, _told(error)))

    def _call_again(self, query: str, told: Mapping[str, Any]) -> None:
        """Give a callback what it may have missed in a crash: recovery did not know it yet."""
        self.ledger.sinks.pop(query, None)
        sink = self.ledger.sink(query, told)
        for number, commit in self.ledger.commits.commits():
            if query in commit.outputs:
                forward(sink, [(number, commit.outputs[query])], self.directory.aside)


def _told(error: Exception) -> str:
    return " ".join(str(error).split())[:500] or type(error).__name__


def _check_level(policy: str) -> None:
    level = create(policy).level
    if level not in LEVELS:
        raise HeadgateError(
            f"policy '{policy}' schedules at level {level}, and on Spark a run is of whole queries",
            hint="add level=query if the policy has it, or choose another one: headgate policies",
        )


def _key(place: Place) -> str:
    return ".".join(map(str, place))
