"""The engine's facade: each call becomes a message to the owner thread, and returns its reply."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.history.ring import HistoryRing
from headgate.model import (
    DEFAULT_CLASS,
    BusyError,
    HeadgateError,
    Operator,
    Query,
    QueryClass,
    Stream,
    Table,
    TableJoin,
    check_name,
    relation,
    walk,
)
from headgate.model.names import visible
from headgate.model.target_checks import check_not_contradicted, check_reachable
from headgate.model.values import located
from headgate.model.values import priority as priority_of
from headgate.plan.fusion import Fuse
from headgate.plan.sql import plan_sql
from headgate.spark.compile.declared_tables import DeclaredTable, Tables
from headgate.spark.engine.catalog_entries import SourceText, stored_class, stream_entry
from headgate.spark.engine.costs import costs_of
from headgate.spark.engine.initial_state import new_machine, new_scheduler
from headgate.spark.engine.new_queries import NewQuery, named
from headgate.spark.engine.owner import SINK, Owner
from headgate.spark.engine.recorder import Recorder
from headgate.spark.engine.restoring import Restoring
from headgate.spark.engine.stored_settings import settle
from headgate.spark.engine.table_declarations import TableDeclarations
from headgate.spark.engine.table_files import TableFiles
from headgate.spark.execution.committer import Committer
from headgate.spark.execution.evaluator import SparkEvaluator
from headgate.spark.execution.job_runner import JobRunner
from headgate.spark.execution.log_facts import LogFacts
from headgate.spark.execution.memory import settle_memory
from headgate.spark.execution.open_sinks import OpenSinks, stored_sinks
from headgate.spark.execution.performer import Performer
from headgate.spark.execution.recovery import UndeliveredResults, complete
from headgate.spark.execution.spark_watcher import SparkWatcher
from headgate.spark.ingest.dead_letter_replay import LetterReplay
from headgate.spark.ingest.parsing.records import Bad
from headgate.spark.ingest.streams import Pushed, StreamIngest
from headgate.spark.jvm.errors import one_line
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.machine import messages as m
from headgate.spark.machine.cost_views import CostView
from headgate.spark.machine.definitions import STREAMS
from headgate.spark.machine.lag_limits import parse_lag
from headgate.spark.machine.machine import Machine
from headgate.spark.machine.network_views import NetworkView
from headgate.spark.machine.plan_views import CheckedPlan, PlanView
from headgate.spark.machine.policy_changes import SHORTEST_JOB
from headgate.spark.machine.tasks import FILES
from headgate.spark.machine.views import Overview, QueryView
from headgate.spark.queries.fragment_logs import FragmentLogs
from headgate.spark.sinks.base import Call
from headgate.spark.sinks.followers import BUFFER, Followers
from headgate.spark.sinks.registry import behind_of, needs_own_thread, parse_sink
from headgate.spark.sinks.result_ranges import ResultRange, position_after, read_range
from headgate.spark.sinks.table import TableAppender, needs_callback, table_of
from headgate.spark.store.atomic_files import disk_error
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.costs import Costs
from headgate.spark.store.dead_letters import Letter
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.disk_watch import DiskWatch
from headgate.spark.store.frame_file import GROUP
from headgate.spark.store.journal import Entry as JournalEntry
from headgate.spark.store.journal import Journal
from headgate.spark.store.log.stream_log import StreamLog
from headgate.spark.store.own_files import check_table_files

Progress = Callable[[int, int], object]  # is told how many jobs are done, and of how many

PATIENCE = 10.0  # seconds that sinks get to take what waits for them when the engine is closed


def _untold(done: int, jobs: int) -> None:
    """Nobody wants to know how far a warm-up is."""


def _no_source(stream: str) -> None:
    """Nobody reads sources."""


class Engine:
    """Streams, queries and workers on one data directory and one Spark."""

    def __init__(
        self,
        spark: SparkSession,
        directory: Path,
        *,
        policy: str | None = None,
        workers: int = 2,
        fuse: Fuse | None = None,
        run_limit: float = 300.0,
        seed: int | None = None,
        record: Callable[[str], Any] | None = None,
        restart_spark: Callable[[], SparkSession] | None = None,
        held: bool = False,
        panes: bool = True,
    ) -> None:
        settle_memory()
        self._panes = panes
        self.tables = Tables(
            keep=restart_spark is not None, located=TableFiles(directory / "aside"), check=check_table_files
        )
        self.runner = JobRunner(spark, run_limit, ours=restart_spark is not None)
        self.followers = Followers()
        self._lanes = count(1)
        self._spark, self._restart_spark = spark, restart_spark
        self._began = time.time() - time.monotonic()
        self._closed = False
        self.end_source: Callable[[str], object] = _no_source  # of a stream that is dropped; set by who reads sources
        self.directory = DataDirectory(directory)
        try:
            undelivered = self._recover()
            self.settings = settle(self.commits, policy, fuse, seed)
        except BaseException:
            self.directory.close()
            raise
        self.disk = DiskWatch(self.directory.path)
        self.ingest = StreamIngest(self.directory, self.now)
        self.sinks = OpenSinks(self.directory, self._table_call)
        self._recorder = Recorder(Journal(self.directory.journal), HistoryRing(self.directory.history), record)
        self._evaluator = self._new_evaluator()
        scheduler = new_scheduler(
            self.settings.policy,
            self.settings.fuse,
            self.settings.seed,
            workers,
            None if record is None else self._recorder.note,
        )
        machine = new_machine(
            scheduler,
            LogFacts(self.ingest.logs, panes=panes),
            self.directory,
            self.commits,
            undelivered,
            workers,
            held=held,
        )
        machine.policy_changes.failed = self.settings.policy_error
        self._owner = self._start(machine, workers)
        self._watcher = SparkWatcher(self.runner, self._owner.tell)
        self._tables = TableDeclarations(self.tables, self._read_table, self._owner, self.commits)
        self.restoring = Restoring(self)

    def _recover(self) -> dict[str, UndeliveredResults]:
        """Open the commit log and complete what it holds; returns what sinks did not take."""
        self.directory.check_commits()
        self.commits = CommitLog(self.directory.commits)
        self.fragment_logs = FragmentLogs(self.directory)
        sinks = stored_sinks(self.directory, self._table_call, self.fragment_logs.sink)
        undelivered = complete(self.directory, self.commits, sinks)
        self.fragment_logs.sweep(self.commits.state.queries)
        return undelivered

    def _new_evaluator(self) -> SparkEvaluator:
        return SparkEvaluator(
            self._spark,
            self.runner,
            self.ingest.logs,
            self.ingest.streams,
            self.tables,
            self.directory.waiting,
            self.directory.aside,
            self.followers,
            self.now,
            panes=self._panes,
        )

    def _start(self, machine: Machine, workers: int) -> Owner:
        """Start the threads."""
        committer = Committer(self.commits, self.fragment_logs, self.followers, self.now, self.directory.aside)
        performer = Performer(
            self._evaluator,
            committer,
            self.sinks,
            self.fragment_logs,
            self.ingest,
            self._start_spark_again,
            lambda stream: self.end_source(stream),
        )
        return Owner(machine, performer.perform, committer.write, self.now, self._recorder.note, workers, GROUP)

    # -- declarations and queries ------------------------------------------------------------------------------

    @property
    def streams(self) -> Mapping[str, Stream]:
        return self.ingest.streams

    @property
    def logs(self) -> Mapping[str, StreamLog]:
        return self.ingest.logs

    def now(self) -> float:
        """Seconds since the epoch, on a clock that never goes back."""
        return self._began + time.monotonic()

    def stored(self, kind: str) -> Mapping[str, Any]:
        """The entries of the catalog of a kind, by name."""
        return self.commits.state.catalog.get(kind, {})

    def begin(self) -> None:
        """Start runs, if the engine was `held`."""
        self._owner.ask(m.Begin)

    def warm(self, limit: float, progress: Progress | None = None) -> int:
        """Run the jobs of all queries on made-up rows; returns how many units were run within so many seconds."""
        warmed: int = self._owner.ask(m.Warm, limit, progress or _untold)
        return warmed

    def add_stream(self, stream: Stream, source: SourceText | str | None = None) -> None:
        """Declare a stream; `source` is where it is read, or what kind of object, for the catalog to keep."""
        name = check_name(stream.name, "the name of a stream")
        entry = stream_entry(stream, source, self.stored(STREAMS).get(name))
        self._owner.ask(m.DeclareStream, stream, entry)
        self.restoring.plan_again()

    def restore_stream(self, stream: Stream, entry: Mapping[str, Any], reached: int) -> None:
        """Declare a stream as the catalog has it; if its log ends before what was `reached`, it is refused."""
        self._owner.ask(m.DeclareStream, stream, entry, reached)

    def add_table(self, table: Table, frame: DataFrame | None = None) -> None:
        """Declare a table, by its path or as a DataFrame; one that is there may be declared again as it is."""
        check_name(table.name, "the name of a table")
        if self._tables.add(table, frame):
            self.restoring.plan_again()

    def drop_stream(self, name: str) -> None:
        """Remove a stream for good, with its source, tuples and dead letters; refused while queries read it."""
        self._owner.ask(m.DropStream, name)

    def drop_table(self, name: str) -> None:
        """Remove a table; refused while queries read it."""
        self._tables.drop(name)

    def refresh_table(self, name: str) -> None:
        """Read a table anew; queries use the new rows from their next run on."""
        self._tables.refresh(name)
        self.restoring.plan_again()

    def change_class(self, name: str, changes: Mapping[str, Any]) -> None:
        """Change some fields of a class; its queries follow at once."""
        check_class(QueryClass(name, **changes))
        if "priority" in changes:
            with located("priority"):
                changes = {**changes, "priority": priority_of(changes["priority"])}
        self._owner.ask(m.ChangeClass, name, changes)

    def drop_class(self, name: str) -> None:
        """Remove a class; refused while queries are in it."""
        self._owner.ask(m.DropClass, name)

    def restore_class(self, name: str, entry: Mapping[str, Any]) -> None:
        """Declare a class as the catalog has it."""
        self._owner.ask(m.DeclareClass, stored_class(name, entry), entry)

    def restore_table(self, name: str, entry: Mapping[str, Any]) -> None:
        """Read a table as the catalog has it; one that cannot be read keeps its name, and is absent."""
        self._tables.restore(name, entry)

    def add_class(self, query_class: QueryClass) -> None:
        """Declare a query class; declaring the same one again changes nothing."""
        name = check_name(query_class.name, "the name of a class")
        with located(f"class '{name}', priority"):
            checked = replace(query_class, priority=priority_of(query_class.priority))
        check_class(checked)
        self._owner.ask(m.DeclareClass, checked)

    def default_class(self) -> str:
        """The class of queries that name none, made when it is first needed."""
        if DEFAULT_CLASS.name not in self.overview().classes:
            self.add_class(DEFAULT_CLASS)
        return DEFAULT_CLASS.name

    def add_query(
        self, query: Query, *, call: Call | None = None, start: float | None = None, end: float | None = None
    ) -> QueryView:
        """Start a query now or at `start`, and stop it at `end`; one that the data directory knows continues there."""
        if (query_class := self.overview().classes.get(query.query_class)) is not None:
            check_not_contradicted(query, query_class)
        addition = self._addition(NewQuery(query, call, start, end))
        self._owner.ask(lambda ticket: replace(addition, ticket=ticket))
        return self.query(query.name)

    def plan(self, sql: str, space: str = "", streams: Mapping[str, Stream] | None = None) -> Operator:
        """The plan of some SQL over the streams and tables that are declared, or over those of a namespace.

        `streams` are others than those that are declared.
        """
        tables = {name: self.tables.described(name) for name in self.tables}
        return plan_sql(sql, visible(self.streams if streams is None else streams, space), visible(tables, space))

    def add_queries(self, new: Sequence[NewQuery]) -> None:
        """Start queries together: if one is refused, none is started. The error says which."""
        classes, additions = self.overview().classes, []
        for each in new:
            with named(each.query.name):
                if (query_class := classes.get(each.query.query_class)) is not None:
                    check_not_contradicted(each.query, query_class)
                additions.append(self._addition(each))
        self._owner.ask(m.AddQueries, tuple(additions))

    def restore_queries(self, new: Sequence[NewQuery]) -> None:
        """Start queries that the directory remembers; one that cannot go on says so in its state."""
        self._owner.ask(m.AddQueries, tuple(map(self._addition, new)), apart=True)

    def _addition(self, new: NewQuery) -> m.AddQuery:
        _check(new.query)
        text = new.query.sink or "parquet"
        lane = f"{SINK}{new.query.name}-{next(self._lanes)}" if needs_own_thread(text) else FILES
        lacks = (*self._lacks(new.query, new.call), *new.lacks)
        return m.AddQuery(0, new.query, new.start, new.end, lane, behind_of(text), new.call, lacks)

    def _lacks(self, query: Query, call: Call | None) -> tuple[str, ...]:
        """What a query cannot run without and is not there, as users read it."""
        text = query.sink or "parquet"
        callback = ("its callback",) if call is None and needs_callback(text) else ()
        tables = sorted({node.table for node in walk(query.plan) if isinstance(node, TableJoin)})
        lost = (f"{relation('table', name)}, which {why}" for name in tables if (why := self.tables.why_lost(name)))
        return (*callback, *lost)

    def check_query(self, query: Query, query_class: QueryClass | None = None) -> CheckedPlan:
        """Check a query as `add_query` does, and start nothing; `query_class` is its class if that is not there yet."""
        _check(query)
        known = self.overview().classes.get(query.query_class, query_class)
        if known is not None:
            check_not_contradicted(query, known)
        checked: CheckedPlan = self._owner.ask(m.CheckNewQuery, query, query_class)
        return checked

    def replace_query(self, query: Query) -> None:
        """Give a query new SQL; it continues in each stream at the old query's position, as if it had started there."""
        _check(query)
        self._owner.ask(m.Replace, query)

    def remove_query(self, name: str) -> None:
        """Stop a query for good; its results stay."""
        self._owner.ask(m.Stop, name)

    def pause(self, name: str, reason: str = "") -> None:
        """Let a query take no more tuples until it is resumed; the status and the journal tell the reason."""
        self._owner.ask(m.Pause, name, reason)

    def resume(self, name: str) -> None:
        """Continue a paused or suspended query, after its sink has taken what it refused before."""
        self._owner.ask(m.Resume, name)

    def query(self, name: str) -> QueryView:
        """A snapshot of one query."""
        view: QueryView = self._owner.ask(m.Describe, name)
        return view

    def plan_of(self, name: str) -> PlanView:
        """What was measured of a query's operators, and which queries share its jobs."""
        view: PlanView = self._owner.ask(m.DescribePlan, name)
        return view

    def network(self) -> NetworkView:
        """All queries as they are scheduled: which run together, what waits before their operators."""
        view: NetworkView = self._owner.ask(m.DescribeNetwork)
        return view

    @property
    def scheduling_seconds(self) -> float:
        """Seconds that the owner thread has taken to decide and to keep its books."""
        return self._owner.seconds

    def overview(self) -> Overview:
        """A snapshot of the engine; after closing, the last one."""
        overview: Overview = self._last if self._closed else self._owner.ask(m.DescribeAll)
        return overview

    def costs(self) -> Costs:
        """The costs measured so far."""
        view: CostView = self._last_costs if self._closed else self._owner.ask(m.DescribeCosts)
        return costs_of(view, self.overview())

    def listen_to_journal(self, tell: Callable[[JournalEntry], object]) -> None:
        """Call a function with every line of the journal from now on, once it is written; it must not take long."""
        self._recorder.listeners += (tell,)

    def follow(self, name: str, timeout: float | None = None, buffer: int = BUFFER) -> Iterator[pa.Table]:
        """A query's results as they are committed from now on; the iterator of a done query ends at once."""
        tables = self.followers.follow(name, timeout, buffer)
        if self.query(name).state == "done":
            self.followers.end(name)
        return tables

    def follow_commits(
        self, name: str, timeout: float | None = None, buffer: int = BUFFER
    ) -> Iterator[tuple[int, pa.Table]]:
        """The same, with the number of the commit that each table belongs to."""
        tables = self.followers.follow_commits(name, timeout, buffer)
        if self.query(name).state == "done":
            self.followers.end(name)
        return tables

    def read_range(self, name: str, first: int, limit: int, schema: pa.Schema | None = None) -> ResultRange:
        """Durable results of a query by row number, see `sinks.result_ranges`."""
        return read_range(self.directory.path, name, first, limit, schema, durable=self.commits.number)

    def position(self, name: str) -> tuple[int, int]:
        """The newest durable commit, and how many rows of a query's results there are up to it."""
        return position_after(self.directory.path, name, durable=self.commits.number)

    # -- scheduling --------------------------------------------------------------------------------------------

    def set_policy(self, policy: str, fuse: Fuse | None = None) -> None:
        """Change the policy and, if given, which queries share jobs; if its level differs, queries are cut again."""
        self._owner.ask(m.SetPolicy, policy, None if fuse is None else fuse.value)

    def set_class(self, query: str, query_class: str) -> None:
        """Put a query into another class."""
        if query_class == DEFAULT_CLASS.name:
            self.default_class()
        self._owner.ask(m.Move, query, query_class)

    # -- data in -----------------------------------------------------------------------------------------------

    def append(self, stream: str, rows: pa.Table, batch: str | None = None) -> int:
        """Append rows to a stream; durable on return. Returns how many were new, late ones included."""
        with self.ingest.changing(stream, self._grown):
            return self.ingest.append(stream, rows, batch)

    def push(self, stream: str, rows: pa.Table, bad: Sequence[Bad] = (), batch: str | None = None) -> Pushed:
        """Append rows and keep bad records as dead letters, all by one write; a batch counts once."""
        with self.ingest.changing(stream, self._grown):
            return self.ingest.push(stream, rows, bad, batch)

    def finish(self, stream: str) -> None:
        """Mark a stream as ended, so that its windows close."""
        with self.ingest.changing(stream, self._grown):
            self.ingest.finish(stream)

    def reject(self, stream: str, bad: tuple[tuple[str, str], ...]) -> None:
        """Keep records that could not be parsed as dead letters."""
        now = self.now()
        self.ingest.keep(stream, [Letter(reason, now, text=raw) for raw, reason in bad])

    def replay(self, stream: str, reason: str = "") -> LetterReplay:
        """Append a stream's dead letters to it again: all, or those whose reason contains a text."""
        with self.ingest.changing(stream, self._grown):
            return self.ingest.replay(stream, reason)

    def _grown(self, stream: str, first: int, last: int) -> None:
        """Tell the owner about appended tuples; called in the order of the appends."""
        self._owner.tell(m.Appended(stream, last, self.ingest.chunks(stream, first, last)))

    def lagging_query(self, stream: str) -> str | None:
        """The query whose lag limit makes the source of a stream wait, if any."""
        name: str | None = self._owner.ask(m.FindLaggingQuery, stream) if self._owner.sources_may_wait else None
        return name

    def wait_for_room(self, stream: str, timeout: float | None = None) -> None:
        """Wait until no query's lag limit holds back the source of a stream."""
        if not self._owner.sources_may_wait:
            return
        try:
            self._owner.ask(m.WaitForRoom, stream, timeout=timeout)
        except TimeoutError:
            raise BusyError(
                f"stream '{stream}' takes nothing more: query '{self.lagging_query(stream)}' is at its lag limit",
                hint="resume or stop that query, or give it a limit that skips",
            ) from None

    # -- draining and closing ----------------------------------------------------------------------------------

    def drained(self) -> bool:
        """Whether no tuple waits and no run is active; open windows may hold tuples."""
        return bool(self._owner.ask(m.IsDrained))

    def drain(self, timeout: float | None = None) -> bool:
        """Wait until no tuple waits, no run is active, and sinks have taken all they can. False after the timeout."""
        try:
            return bool(self._owner.ask(m.Drain, timeout=timeout))
        except TimeoutError:
            return False

    def close(self, timeout: float | None = None) -> list[str]:
        """Let active runs end, deliver committed results to the sinks, and release the directory.

        Runs that take longer than the timeout, or without one than any run may take, are cancelled, and the next engine
        on the directory does them again; sinks get as long again, or `PATIENCE`. Returns the queries whose sinks took
        longer, and were not waited for.
        """
        if self._closed:
            return []
        run_patience = self.runner.limit if timeout is None else timeout
        failures: list[Exception] = []
        left: list[str] = []
        try:
            left = self._owner.ask(m.Close, min(PATIENCE, run_patience), run_patience)
        except Exception as error:
            failures.append(error)
        self._last, self._last_costs = self._owner.ask(m.DescribeAll), self._owner.ask(m.DescribeCosts)
        self._closed = True
        self._watcher.close()
        for close in (
            partial(self._owner.end, wait=timeout is None),
            self.followers.close,
            lambda: self.costs().save(self.directory.path),
            self.sinks.close,
            self.commits.close,
            self.fragment_logs.close,
            self.ingest.close,
            self._recorder.close,
            self.directory.close,
        ):
            try:
                close()
            except Exception as error:  # the others are closed all the same
                failures.append(error)
        if failures:
            raise _not_all_written(failures[0]) from failures[0]
        return left

    # -- Spark -------------------------------------------------------------------------------------------------

    def _table_call(self, sink: str) -> Call | None:
        table = table_of(sink)
        return None if table is None else TableAppender(lambda: self._spark, table)

    def check_spark(self) -> None:
        """Check whether Spark has died, in case no run is active that would notice it."""
        if not self._closed and self.runner.java.dead:
            self._owner.tell(m.SparkDied(str(self.runner.java.gone())))

    def _read_table(self, table: Table, frame: DataFrame | None) -> DeclaredTable:
        """The rows of a table as they are now."""
        try:
            return self.runner.call(lambda: self.tables.read(self._spark, table, frame))
        except SparkGoneError as gone:
            self._owner.tell(m.SparkDied(str(gone)))
            raise

    def _start_spark_again(self) -> dict[str, str]:
        """Restart Spark, if it is dead. Returns the tables that could not be read again, and why."""
        if not self.runner.java.dead:
            return {}
        if self._restart_spark is None:
            raise self.runner.java.gone()
        spark = self._restart_spark()
        lost = self.tables.read_again(spark)
        self._spark = spark
        self.runner.use(spark)
        self._evaluator.use(spark)
        return lost


def _check(query: Query) -> None:
    """Refuse a query whose name, `since`, lag limit or sink is wrong."""
    check_name(query.name, "the name of a query")
    if query.since not in ("now", "start"):
        raise HeadgateError(f"since is 'now' or 'start', found '{query.since}'", hint="leave it out for 'now'")
    if query.lag is not None:
        parse_lag(query.lag)
    with located(f"query '{query.name}'"):
        check_reachable(query.target, SHORTEST_JOB, "a Spark job")
    parse_sink(query.sink or "parquet")


def check_class(query_class: QueryClass) -> None:
    """Refuse a class whose lag limit or target is wrong."""
    if query_class.lag is not None:
        with located(f"class '{query_class.name}', lag"):
            parse_lag(query_class.lag)
    with located(f"class '{query_class.name}'"):
        check_reachable(query_class.target, SHORTEST_JOB, "a Spark job")


def _not_all_written(error: Exception) -> HeadgateError:
    """The error of a close that could not write everything."""
    cause = disk_error(error) if isinstance(error, OSError) else error
    message, where = (cause.message, cause.where) if isinstance(cause, HeadgateError) else (one_line(cause), "")
    hint = "what was acknowledged is safe; free space on the disk and open the directory again to complete it"
    return HeadgateError(f"the session is closed, but not all of it: {message}", where=where, hint=hint)
