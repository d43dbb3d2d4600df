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

from headgate.core import Declared, PolicyChanged, PriorityChanged, QueryMoved, RecordingScheduler, Scheduler
from headgate.model import (
    WHOLE_QUEUE,
    Answered,
    HeadgateError,
    Level,
    Outcome,
    Query,
    QueryClass,
    Run,
    Stream,
    Table,
    WorkerId,
    check_known,
    check_name,
    check_relation,
    closed,
    folded,
    relation,
    unknown,
)
from headgate.model.values import located
from headgate.model.values import priority as priority_of
from headgate.plan.grouping import Fuse
from headgate.plan.network import Network
from headgate.policies.registry import create
from headgate.spark.carrying import Carrier
from headgate.spark.cutting import FINE, Shape, Shaper
from headgate.spark.dispatch import Dispatch
from headgate.spark.followers import BUFFER, Followers
from headgate.spark.intake import Intake
from headgate.spark.jobs.evaluate import Evaluation, Key, evaluation
from headgate.spark.jobs.pieces import Piece
from headgate.spark.jobs.problems import one_line
from headgate.spark.jobs.tables import read_table, stored
from headgate.spark.lag import Lag, parse_lag
from headgate.spark.recut import cut_up, left_inside, whole_positions
from headgate.spark.replay import Replayed
from headgate.spark.rooms import Rooms, is_room, tenant
from headgate.spark.runner import Runner
from headgate.spark.running import RunningQuery, stream_leaves
from headgate.spark.share import Share, letters_of
from headgate.spark.splitting import split
from headgate.spark.standing import announcement, cut_before, place
from headgate.spark.store.costs import Costs, QueryCost
from headgate.spark.store.deadletters import Letter
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.files import disk_error
from headgate.spark.store.log import StreamLog
from headgate.spark.store.records import Commit
from headgate.spark.store.recovery import recover
from headgate.spark.store.sinks import Call, Sink, open_sink, parse_sink
from headgate.spark.tablesink import Appending, check_sink, table_of
from headgate.spark.walking import Walk
from headgate.stats import Measured

DEFAULT_POLICY = "mbd, inversion=dsp"
REST = 0.004  # seconds for each operator between two looks at statistics: a look takes some microseconds for each
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
        fuse: Fuse = Fuse.CLASS,
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
        self.runner = Runner(spark, run_limit)
        self.followers = Followers()
        self._callbacks: dict[str, Call] = {}
        self._limits: dict[str, Lag] | None = None  # None: look anew who has one
        self._began = time.time() - time.monotonic()
        self.lock = threading.Condition(threading.RLock())
        self._stopping = self._still = False
        self._threads: list[threading.Thread] = []
        self._relations: dict[str, str] = {}  # streams and tables, by their names as SQL reads them
        self.scheduler = _scheduler(policy, fuse, seed, record)
        self.directory = DataDirectory(directory)
        self.rooms = Rooms(self.directory)
        try:
            self.ledger = recover(self.directory, self._sink, self._sink_failed, self._keep_letters)
            self.rooms.settle(self.ledger)
        except BaseException:
            self.directory.close()
            raise
        self.intake = Intake(self.directory, self.now)
        self.dispatch = Dispatch(self.scheduler, self.intake, self.now)
        self.carrier = Carrier(self.runner, self.intake, self.ledger, self.followers, self.lock, self.now)

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
        check_name(stream.name, "the name of a stream")
        with self.lock:
            check_relation("stream", stream.name, self._relations)
            self.dispatch.ends[stream.name] = self.intake.add(stream).end
            self.dispatch.tell(Declared(stream=stream))
            self._relations[folded(stream.name)] = relation("stream", stream.name)

    def add_table(self, table: Table, frame: DataFrame | None = None) -> None:
        """Declare a table: where it is stored, or as a DataFrame."""
        check_name(table.name, "the name of a table")
        check_relation("table", table.name, self._relations)
        found = read_table(self.spark, table) if frame is None else stored(frame, table.name)
        with self.lock:
            check_relation("table", table.name, self._relations)
            self.tables[table.name] = found
            self._relations[folded(table.name)] = relation("table", table.name)

    def add_class(self, query_class: QueryClass) -> None:
        """Declare a class; the same one again changes nothing."""
        name = check_name(query_class.name, "the name of a class")
        with located(f"class '{name}', priority"):
            made = replace(query_class, priority=priority_of(query_class.priority))
        if made.lag is not None:
            with located(f"class '{name}', lag"):
                parse_lag(made.lag)
        with self.lock:
            known = self.scheduler.network.classes.get(name)
            if known is not None and known != made:
                hint = "change its priority with set_priority, or choose another name"
                raise HeadgateError(f"class '{name}' exists already, with priority {known.priority:g}", hint=hint)
            if known is None:
                self.dispatch.tell(Declared(query_class=made))
                self._limits = None

    def add_query(self, query: Query, *, call: Call | None = None, at_once: bool = True) -> RunningQuery:
        """Start a query where it stood, if the directory knows it; with `at_once` false it waits for `begin`."""
        if query.name in self.queries:
            raise HeadgateError(f"query '{query.name}' exists already", hint="stop it first, or choose another name")
        checked = self._checked(query)
        known = self.ledger.queries.get(query.name)
        if known is not None and known.get("sql") != query.sql:
            raise HeadgateError(
                f"query '{query.name}' is in '{self.directory.path}' with other SQL",
                hint="give it another name, replace the SQL after starting it, or choose another directory",
            )
        if call is not None:
            self._callbacks[query.name] = call
        running = RunningQuery(query, Piece((), checked), state="scheduled")
        with self.lock:
            if at_once:
                self._begin(running)
            self.queries[query.name] = running
            self._limits = None
        if call is not None and known is not None:
            self._call_again(query.name, known)
        return running

    def begin(self, name: str) -> None:
        """Start a query that was to start later."""
        with self.lock:
            running = self.query(name)
            if running.state == "scheduled":
                self._begin(running)

    def _begin(self, running: RunningQuery) -> None:
        known, at = self.ledger.queries.get(running.name), self.ledger.positions.get(running.name, {})
        running.state = "running"
        place(running, known or {}, at, self.logs, self.dispatch.ends)
        if known is not None:
            running.told = self._told_before(running)
        shape = cut_before(running, known or {}, at, self._shaper())
        if shape is not None:
            self.rooms.take(running, shape)
        self._fit(running)
        if known is None:
            self.ledger.commit(announcement(running))
        if running.state == "running":
            self.queries[running.name] = running
            self.dispatch.enter(running)
            self._conclude(running)
            self.lock.notify_all()

    def _told_before(self, running: RunningQuery) -> set[Key]:
        """What expressions of a query failed on in a former life."""
        return {key for stream in running.streams for key in self.intake.letters[stream].failed(running.name)}

    def _checked(self, query: Query) -> Evaluation:
        """Refuse a query that could not run; nothing has been started yet."""
        check_name(query.name, "the name of a query")
        check_known("class", query.query_class, self.scheduler.network.classes)
        if query.since not in ("now", "start"):
            raise HeadgateError(f"since is 'now' or 'start', found '{query.since}'", hint="leave it out for 'now'")
        if query.lag is not None:
            parse_lag(query.lag)
        parse_sink(query.sink or "parquet")
        checked = evaluation(self.spark, query.plan, self.streams, self.tables)
        check_sink(self.spark, query.sink, checked.schema)
        return checked

    def replace_query(self, query: Query) -> None:
        """Give a query other SQL: it goes on in each stream where the old one stood, as if it had started there."""
        checked = self._checked(query)
        with self.lock:
            former = self._at_rest(query.name)
            wanted, found = former.one.evaluation.schema, checked.schema
            if not found.equals(wanted):
                raise HeadgateError(
                    f"query '{query.name}' gives {_columns(wanted)}, the new SQL {_columns(found)}",
                    hint="give the same columns, or stop it and start another one",
                )
            running = RunningQuery(query, Piece((), checked), state=former.state, error=former.error)
            running.tally = former.tally
            if former.state != "scheduled":
                self._take_place(running, former)
            self.queries[query.name] = running
            self._limits = None

    def _take_place(self, running: RunningQuery, former: RunningQuery) -> None:
        streams, reached = stream_leaves(former.query), former.stands()
        for leaf, stream in stream_leaves(running.query).items():
            before = [offset for known, offset in reached.items() if streams[known] == stream]
            running.positions[leaf] = running.starts[leaf] = min(before, default=self.dispatch.ends[stream])
        running.shape = Shape((running.one,))
        if former.state == "running":
            self.dispatch.leave(former)
        self.ledger.commit(announcement(running))
        self.rooms.leave(former.shape, self.ledger)
        if running.state == "running":
            self._enter_again(running)

    def remove_query(self, name: str) -> None:
        """Stop a query for good; its results stay."""
        with self.lock:
            running = self._at_rest(name)
            if running.state == "running":
                self.dispatch.leave(running)
            self.ledger.commit(Commit(queries={name: None}))
            self.rooms.leave(running.shape, self.ledger)
            self.followers.end(name)
            del self.queries[name]
            self._limits = None

    def pause(self, name: str) -> None:
        with self.lock:
            running = self.query(name)
            if running.state in ("scheduled", "done"):
                raise HeadgateError(f"query '{name}' is {running.state}", hint="only a query that runs can be paused")
            if running.state == "running":
                self.dispatch.leave(running)
            running.state = "paused"

    def resume(self, name: str) -> None:
        """Go on where a paused or suspended query stands, first with what its sink has not taken."""
        with self.lock:
            running = self._at_rest(name)
            if running.state not in ("paused", "suspended"):
                self.begin(name)
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

    def costs(self) -> Costs:
        """What has been measured so far."""
        with self.lock:
            measured, network = self.scheduler.measured, self.scheduler.network
            found = {}
            for name, numbers in network.operators.items():
                known = [measured.operators[number] for number in numbers]
                tally = self.queries[name].tally
                found[name] = QueryCost(
                    network.queries[name].query_class,
                    cost=sum(one.cost for one in known),
                    overhead=sum(one.overhead for one in known),
                    selectivity=tally.tuples_out / tally.tuples_in if tally.tuples_in else None,
                    runs=tally.runs,
                    tuples_in=tally.tuples_in,
                )
            policy = str(self.scheduler.policy)
            return Costs(policy, measured.run_overhead, measured.train, dict(measured.rates), found)

    def follow(self, name: str, timeout: float | None = None, buffer: int = BUFFER) -> Iterator[pa.Table]:
        """A query's results as they are committed, from now on; none comes of one that is done."""
        with self.lock:
            running = self.query(name)
            tables = self.followers.follow(name, timeout, buffer)
            if running.state == "done":
                self.followers.end(name)
            return tables

    # -- steering ----------------------------------------------------------------------------------------------

    def set_policy(self, policy: str, fuse: Fuse | None = None) -> None:
        """Let another policy decide, over other groups if asked; at another level queries are cut anew."""
        level = create(policy).level
        changed = PolicyChanged(policy, None if fuse is None else fuse.value)
        with self.lock:
            if _cut(level) == _cut(self._level):
                self._level = level
                self.dispatch.tell(changed)
                return
            with self._stillness():
                self._level = level
                entered = [running for running in self.queries.values() if running.state == "running"]
                for running in entered:
                    self.dispatch.leave(running)
                self.dispatch.tell(changed)
                for running in entered:
                    self._enter_again(running)

    def set_priority(self, query_class: str, priority: float) -> None:
        with located("priority"):
            checked = priority_of(priority)
        with self.lock:
            check_known("class", query_class, self.scheduler.network.classes)
            self.dispatch.tell(PriorityChanged(query_class, checked))

    def set_class(self, query: str, query_class: str) -> None:
        with self.lock:
            running = self.query(query)
            check_known("class", query_class, self.scheduler.network.classes)
            if running.state == "running":
                self.dispatch.tell(QueryMoved(query, query_class))
            running.query = replace(running.query, query_class=query_class)
            self._limits = None

    # -- data in -----------------------------------------------------------------------------------------------

    def append(self, stream: str, rows: pa.Table, batch: str | None = None) -> int:
        """Add rows to a stream; durable on return. How many were new and got an offset, late ones among them."""
        new = self.intake.append(stream, rows, batch)
        self._arrived(stream)
        return new

    def finish(self, stream: str) -> None:
        """A stream has ended: its windows close."""
        self.intake.finish(stream)
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
        with self.lock:
            self.dispatch.arrived(stream)
            for running, lag in self._limited():
                if lag.skips and self.dispatch.lag(running, stream) > lag.tuples:
                    self._skip(running)
            self.lock.notify_all()

    def full(self, stream: str) -> str | None:
        """The query that a stream's source must wait for, if there is one."""
        with self.lock:
            for running, lag in self._limited():
                if not lag.skips and self.dispatch.lag(running, stream) >= lag.tuples:
                    return running.name
            return None

    def make_room(self, stream: str, timeout: float | None = None) -> None:
        """Wait until no query's lag limit holds a stream's source back."""
        with self.lock:
            if not self.lock.wait_for(lambda: self._stopping or self.full(stream) is None, timeout):
                raise HeadgateError(
                    f"stream '{stream}' takes nothing more: query '{self.full(stream)}' is at its lag limit",
                    hint="resume or stop that query, or give it a limit that skips",
                )
            self._refuse_if_closed()

    def _limited(self) -> list[tuple[RunningQuery, Lag]]:
        """The queries under way that have a lag limit, of their own or of their class."""
        if self._limits is None:
            classes = self.scheduler.network.classes
            texts = {name: one.query.lag or classes[self.class_of(name)].lag for name, one in self.queries.items()}
            self._limits = {name: parse_lag(text) for name, text in texts.items() if text is not None}
        found = [(self.queries[name], lag) for name, lag in self._limits.items()]
        return [(one, lag) for one, lag in found if one.state not in ("scheduled", "done") and not one.until]

    def _skip(self, running: RunningQuery) -> None:
        """Let a query that lags too far lose its place: it goes on at the ends of its streams, and says so."""
        if running.busy:
            return  # with the next tuples, if it still lags then
        streams = stream_leaves(running.query)
        running.skipped += sum(self.dispatch.lag(running, stream) for stream in set(streams.values()))
        if running.state == "running":
            self.dispatch.leave(running)
        former, running.shape = running.shape, Shape((running.one,))
        running.positions = {leaf: self.dispatch.ends[stream] for leaf, stream in streams.items()}
        running.starts = dict(running.positions)
        self.ledger.commit(announcement(running))
        self.rooms.leave(former, self.ledger)
        if running.state == "running":
            self._enter_again(running)

    # -- work --------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Let the workers work."""
        for worker in range(self.workers):
            thread = threading.Thread(target=self._work, args=(worker,), name=f"headgate-worker-{worker}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def drained(self) -> bool:
        """Nothing waits and nothing runs; what an open window holds may be there."""
        with self.lock:
            return self.scheduler.idle and not any(map(self.dispatch.behind, self.queries.values()))

    def drain(self, timeout: float | None = None) -> bool:
        """Wait until nothing waits and nothing runs."""
        with self.lock:
            drained = self.lock.wait_for(lambda: self._stopping or self.drained(), timeout)
            self._refuse_if_closed()
            return drained

    def _refuse_if_closed(self) -> None:
        if self._stopping:
            raise closed()

    def close(self) -> None:
        """Let running work end, bring everything committed to the sinks, and let go of the directory."""
        with self.lock:
            if self._stopping:
                return
            self._stopping = True
            self.lock.notify_all()
        for thread in self._threads:
            thread.join()
        failures: list[Exception] = []
        for let_go in (
            self.carrier.close,
            self.followers.close,
            lambda: self.costs().save(self.directory.path),
            self.ledger.checkpoint,
            self.ledger.close,
            self.rooms.close,
            self.intake.close,
            self.directory.close,
        ):
            try:
                let_go()
            except Exception as error:  # the rest is let go of all the same
                failures.append(error)
        if failures:
            raise _not_all_written(failures[0]) from failures[0]

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
                for running in self._members(run):
                    if running.state == "running":
                        if outcome.produced:
                            self.dispatch.release(running)
                        self._conclude(running)
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
        """A unit may have several pieces of a query: each goes on with what the one before it leaves."""
        with self.lock:
            walk = Walk.of(run, self.queries)
        done: list[Share] = []
        times: dict[str, list[float]] = {}
        seconds = 0.0
        for step in walk.steps:  # there is one, unless queries are in pieces
            with self.lock:
                shares = walk.shares(step, self.logs)
            for together in walk.groups(shares, run):
                self.carrier.evaluate(together, str(run.id))
            seconds = self.now() - began
            shares = self._succeeded(shares, done)
            times |= self.carrier.commit(shares, run)
            done += shares
            if step is walk.steps[-1]:
                self._rest(run)
            self.carrier.bring(self.queries)
        work = [(share.tuples, share.result.count) for share in done]
        parts = split(seconds, self.scheduler.measured.run_overhead, work)
        told = tuple(one for share, part in zip(done, parts, strict=True) for one in share.outcome(part))
        return Outcome(run, seconds, None, told, tuple(walk.produced(done)), self._answered(times))

    def _succeeded(self, shares: list[Share], before: list[Share]) -> list[Share]:
        """The shares that have results; the queries of the others are suspended, the run goes on without them."""
        failed = [share for share in shares if share.error]
        if failed and not before and len(failed) == len(shares):
            raise HeadgateError(failed[0].error)
        with self.lock:
            for share in failed:
                share.running.busy = False
                self._suspend(share.name, share.error)
        return [share for share in shares if not share.error]

    def _answered(self, times: Mapping[str, Sequence[float]]) -> tuple[Answered, ...]:
        """Response times by query, where the policy wants to know them."""
        if not self.scheduler.policy.wants_answers:
            return ()
        return tuple(Answered(name, tuple(found)) for name, found in times.items() if found)

    def _rest(self, run: Run) -> None:
        """All that a run does to its queries is committed."""
        with self.lock:
            for running in self._members(run):
                running.busy = False
            self.lock.notify_all()

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
                self.dispatch.leave(running)
            running.state, running.error = "suspended", text

    def _enter_again(self, running: RunningQuery) -> None:
        """Let a query go on, which the level of another policy may ask to be cut otherwise."""
        try:
            self._fit(running)
        except Exception as error:
            running.state, running.error = "suspended", one_line(error)
        else:
            self.dispatch.enter(running)
            self.lock.notify_all()

    def _conclude(self, running: RunningQuery) -> None:
        """End a one-time query that has read all; its results stay, and it is not run again."""
        if running.state == "running" and running.over:
            self.dispatch.leave(running)
            former, running.shape = running.shape, Shape((running.one,))
            running.state = "done"
            self.ledger.commit(announcement(running))
            self.rooms.leave(former, self.ledger)
            self.followers.end(running.name)

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
            shape, running.positions, failures = cut_up(running, level, epoch, self._shaper(), self.runner, self.logs)
            self.rooms.take(running, shape)
            letters = letters_of([(running, failure) for failure in failures], self.now())
            self.ledger.commit(replace(announcement(running), letters=letters))
            running.has_told(failures)

    def _join_up(self, running: RunningQuery) -> None:
        """Run all that waits inside, then the query is in one piece again."""
        network = self.dispatch.wire(running)
        for share in left_inside(running, self.logs):
            self.carrier.evaluate([share], "join")
            if share.error:
                raise HeadgateError(share.error)
            self.carrier.commit([share])
            self.ledger.forward()
        former = running.shape
        running.positions = whole_positions(running, network.leaves(running.name))
        running.shape = Shape((running.one,))
        self.ledger.commit(announcement(running))
        self.rooms.leave(former, self.ledger)

    def _shaper(self) -> Shaper:
        return Shaper(self.spark, self.streams, self.tables, self.rooms.folder)

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

    def _sink(self, query: str, told: Mapping[str, Any]) -> Sink:
        if is_room(query):
            return self.rooms.sink(query)
        text, folder, call = str(told.get("sink", "parquet")), self.directory.result(query), self._callbacks.get(query)
        if (table := table_of(text)) is not None:
            call = Appending(self.spark, table)
        if call is None and parse_sink(text).name == "callback":
            text = "blackhole"
        return open_sink(text, folder, call)

    def _keep_letters(self, commit: int, stream: str, letters: Sequence[Mapping[str, Any]]) -> None:
        self.intake.keep_committed(commit, stream, letters)

    def _sink_failed(self, name: str, error: Exception) -> None:
        self._suspend(tenant(name), one_line(error))

    def _call_again(self, query: str, told: Mapping[str, Any]) -> None:
        """Give a callback what it may have missed in a crash: recovery did not know it yet."""
        self.ledger.sinks.pop(query, None)
        self.ledger.sink(query, told)
        for number, commit in self.ledger.commits.commits():
            self.ledger.wait(number, commit, (query,))
        self.ledger.forward()


def _scheduler(policy: str, fuse: Fuse, seed: int, record: Callable[[str], Any] | None) -> Scheduler:
    network = Network.of([], [], [], share=False)
    settings: dict[str, Any] = {
        "measured": Measured.of(network, fits_overhead=True),
        "learn": True,
        "train": WHOLE_QUEUE,
        "fuse": fuse,
        "seed": seed,
        "rest": REST,
    }
    if record is None:
        return Scheduler(network, policy, **settings)
    return RecordingScheduler(network, policy, write=record, **settings)


def _not_all_written(error: Exception) -> HeadgateError:
    """What closing could not do, and that it can be done later."""
    told = disk_error(error) if isinstance(error, OSError) else error
    message, where = (told.message, told.where) if isinstance(told, HeadgateError) else (one_line(told), "")
    hint = "what was acknowledged is safe; free space on the disk and open the directory again to complete it"
    return HeadgateError(f"the session is closed, but not all of it: {message}", where=where, hint=hint)


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{one.name} {one.type}" for one in schema)


def _cut(level: Level) -> Level | None:
    """The level at which queries are cut; None: each is whole.

    Segments change with what is measured, so that they cannot be pieces: a run of one goes over the operators' pieces.
    """
    return Level.OPERATOR if level in FINE else None
