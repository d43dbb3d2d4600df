"""The engine as its callers see it: every call is a message to the owner, and its answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.core import RecordingScheduler, Scheduler
from headgate.model import WHOLE_QUEUE, HeadgateError, Query, QueryClass, Stream, Table, check_name, check_relation
from headgate.model.values import located
from headgate.model.values import priority as priority_of
from headgate.plan.grouping import Fuse
from headgate.plan.network import Network
from headgate.policies.guarded import Guarded
from headgate.spark.compile.declared_tables import Tables
from headgate.spark.engine.costs import costs_of
from headgate.spark.engine.owner import SINK, Owner
from headgate.spark.engine.recorder import Recorder
from headgate.spark.execution.committer import Committer
from headgate.spark.execution.evaluator import SparkEvaluator
from headgate.spark.execution.job_runner import JobRunner
from headgate.spark.execution.log_facts import LogFacts
from headgate.spark.execution.open_sinks import OpenSinks, sizes, stored_sinks, uncalled
from headgate.spark.execution.performer import Performer
from headgate.spark.execution.recovery import Owed, complete
from headgate.spark.ingest.dead_letter_replay import LetterReplay
from headgate.spark.ingest.streams import StreamIngest
from headgate.spark.jvm.errors import one_line
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.machine import messages as m
from headgate.spark.machine.lag import parse_lag
from headgate.spark.machine.machine import Machine
from headgate.spark.machine.preparing import RememberedQuery
from headgate.spark.machine.tasks import FILES
from headgate.spark.machine.views import Overview, QueryView
from headgate.spark.queries.fragment_logs import FragmentLogs, is_fragment_log, query_of
from headgate.spark.sinks.base import Call
from headgate.spark.sinks.followers import BUFFER, Followers
from headgate.spark.sinks.registry import behind_of, needs_own_thread, parse_sink
from headgate.spark.sinks.table import TableAppender, table_of
from headgate.spark.store.atomic_files import disk_error
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.costs import Costs
from headgate.spark.store.dead_letters import Letter
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.frame_file import GROUP
from headgate.spark.store.journal import Journal
from headgate.spark.store.log.stream_log import StreamLog
from headgate.stats import Measured

DEFAULT_POLICY = "mbd, inversion=dsp"
REST = 0.004  # seconds for each operator between two looks at statistics: a look takes some microseconds for each
PATIENCE = 10.0  # seconds that sinks get to take what waits for them when the engine is closed


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
        revive: Callable[[], SparkSession] | None = None,
    ) -> None:
        self.tables = Tables(keep=revive is not None)
        self.runner = JobRunner(spark, run_limit, ours=revive is not None)
        self.followers = Followers()
        self._lanes = count(1)
        self._spark, self._revive = spark, revive
        self._began = time.time() - time.monotonic()
        self._closed = False
        self.directory = DataDirectory(directory)
        try:
            self.commits = CommitLog(self.directory.commits)
            self.fragment_logs = FragmentLogs(self.directory)
            owed = complete(
                self.directory, self.commits, stored_sinks(self.directory, self._table_call, self.fragment_logs.sink)
            )
            self.fragment_logs.sweep(self.commits.state.queries)
        except BaseException:
            self.directory.close()
            raise
        self.ingest = StreamIngest(self.directory, self.now)
        self.sinks = OpenSinks(self.directory, self._table_call)
        self._recorder = Recorder(Journal(self.directory.journal), record)
        self._evaluator = SparkEvaluator(
            spark,
            self.runner,
            self.ingest.logs,
            self.ingest.streams,
            self.tables,
            self.directory.waiting,
            self.directory.aside,
            self.followers,
            self.now,
        )
        committer = Committer(self.commits, self.fragment_logs, self.followers, self.now)
        performer = Performer(
            self._evaluator, committer, self.sinks, self.fragment_logs, self.ingest, self._start_spark_again
        )
        machine = Machine(
            _scheduler(policy, fuse, seed, None if record is None else self._recorder.note),
            LogFacts(self.ingest.logs),
            workers=workers,
            known=_known(self.commits, owed, uncalled(self.directory, self.commits)),
            commits=self.commits.number,
            explain=one_line,
        )
        for query, each in owed.items():
            if not is_fragment_log(query):
                machine.delivery.owe(query, str(each.told.get("sink", "parquet")), sizes(each.outputs))
        self._owner = Owner(machine, performer.perform, committer.write, self.now, self._recorder.note, workers, GROUP)

    # -- what there is -----------------------------------------------------------------------------------------

    @property
    def streams(self) -> Mapping[str, Stream]:
        return self.ingest.streams

    @property
    def logs(self) -> Mapping[str, StreamLog]:
        return self.ingest.logs

    def now(self) -> float:
        """Seconds since the epoch, on a clock that never goes back."""
        return self._began + time.monotonic()

    def add_stream(self, stream: Stream) -> None:
        check_name(stream.name, "the name of a stream")
        self._owner.ask(m.DeclareStream, stream)

    def add_table(self, table: Table, frame: DataFrame | None = None) -> None:
        """Declare a table: where it is stored, or as a DataFrame."""
        check_name(table.name, "the name of a table")
        again = self.tables.lost(table.name)
        if not again:
            check_relation("table", table.name, dict.fromkeys(self.tables, "table"))
        try:
            found = self.runner.ask(lambda: self.tables.read(self._spark, table, frame))
        except SparkGoneError as gone:
            self._owner.tell(m.SparkDied(str(gone)))
            raise
        if not again:
            self._owner.ask(m.DeclareTable, table.name)
        self.tables.put(table.name, found)

    def add_class(self, query_class: QueryClass) -> None:
        """Declare a class; the same one again changes nothing."""
        name = check_name(query_class.name, "the name of a class")
        with located(f"class '{name}', priority"):
            made = replace(query_class, priority=priority_of(query_class.priority))
        if made.lag is not None:
            with located(f"class '{name}', lag"):
                parse_lag(made.lag)
        self._owner.ask(m.DeclareClass, made)

    def add_query(
        self, query: Query, *, call: Call | None = None, start: float | None = None, end: float | None = None
    ) -> QueryView:
        """Start a query where it stood, if the directory knows it; at a time, if one is given, and until another."""
        _check(query)
        text = query.sink or "parquet"
        lane = f"{SINK}{query.name}-{next(self._lanes)}" if needs_own_thread(text) else FILES
        self._owner.ask(m.AddQuery, query, start, end, lane, behind_of(text), call)
        return self.query(query.name)

    def replace_query(self, query: Query) -> None:
        """Give a query other SQL: it goes on in each stream where the old one stood, as if it had started there."""
        _check(query)
        self._owner.ask(m.Replace, query)

    def remove_query(self, name: str) -> None:
        """Stop a query for good; its results stay."""
        self._owner.ask(m.Stop, name)

    def pause(self, name: str) -> None:
        self._owner.ask(m.Pause, name)

    def resume(self, name: str) -> None:
        """Go on where a paused or suspended query stands, first with what its sink has not taken."""
        self._owner.ask(m.Resume, name)

    def query(self, name: str) -> QueryView:
        """A query as it is now."""
        view: QueryView = self._owner.ask(m.Describe, name)
        return view

    def overview(self) -> Overview:
        """Everything as it is now."""
        overview: Overview = self._last if self._closed else self._owner.ask(m.DescribeAll)
        return overview

    def costs(self, overview: Overview | None = None) -> Costs:
        """What has been measured so far."""
        return costs_of(overview or self.overview())

    def follow(self, name: str, timeout: float | None = None, buffer: int = BUFFER) -> Iterator[pa.Table]:
        """A query's results as they are committed, from now on; none comes of one that is done."""
        tables = self.followers.follow(name, timeout, buffer)
        if self.query(name).state == "done":
            self.followers.end(name)
        return tables

    # -- steering ----------------------------------------------------------------------------------------------

    def set_policy(self, policy: str, fuse: Fuse | None = None) -> None:
        """Let another policy decide, over other groups if asked; at another level queries are cut anew."""
        self._owner.ask(m.SetPolicy, policy, None if fuse is None else fuse.value)

    def set_priority(self, query_class: str, priority: float) -> None:
        with located("priority"):
            checked = priority_of(priority)
        self._owner.ask(m.SetPriority, query_class, checked)

    def set_class(self, query: str, query_class: str) -> None:
        self._owner.ask(m.Move, query, query_class)

    # -- data in -----------------------------------------------------------------------------------------------

    def append(self, stream: str, rows: pa.Table, batch: str | None = None) -> int:
        """Add rows to a stream; durable on return. How many were new and got an offset, late ones among them."""
        with self.ingest.changing(stream, self._grown):
            return self.ingest.append(stream, rows, batch)

    def finish(self, stream: str) -> None:
        """A stream has ended: its windows close."""
        with self.ingest.changing(stream, self._grown):
            self.ingest.finish(stream)

    def reject(self, stream: str, bad: tuple[tuple[str, str], ...]) -> None:
        """Keep tuples that could not be read."""
        now = self.now()
        self.ingest.keep(stream, [Letter(reason, now, text=raw) for raw, reason in bad])

    def replay(self, stream: str, reason: str = "") -> LetterReplay:
        """Give a stream its dead letters again, all or those whose reason contains a text."""
        with self.ingest.changing(stream, self._grown):
            return self.ingest.replay(stream, reason)

    def _grown(self, stream: str, first: int, last: int) -> None:
        """Tell the owner of what has been appended, in the order in which it was."""
        self._owner.tell(m.Appended(stream, last, self.ingest.chunks(stream, first, last)))

    def full(self, stream: str) -> str | None:
        """The query that a stream's source must wait for, if there is one."""
        holder: str | None = self._owner.ask(m.WhoHolds, stream) if self._owner.holds else None
        return holder

    def make_room(self, stream: str, timeout: float | None = None) -> None:
        """Wait until no query's lag limit holds a stream's source back."""
        if not self._owner.holds:
            return
        try:
            self._owner.ask(m.MakeRoom, stream, timeout=timeout)
        except TimeoutError:
            raise HeadgateError(
                f"stream '{stream}' takes nothing more: query '{self.full(stream)}' is at its lag limit",
                hint="resume or stop that query, or give it a limit that skips",
            ) from None

    # -- work --------------------------------------------------------------------------------------------------

    def drained(self) -> bool:
        """Whether nothing waits and nothing runs; what an open window holds may be there."""
        return bool(self._owner.ask(m.IsDrained))

    def drain(self, timeout: float | None = None) -> bool:
        """Wait until nothing waits and nothing runs, and sinks have what they can take."""
        try:
            return bool(self._owner.ask(m.Drain, timeout=timeout))
        except TimeoutError:
            return False

    def close(self, patience: float = PATIENCE) -> list[str]:
        """Let running work end, bring everything committed to the sinks, and let go of the directory.

        A sink that takes longer than the patience is left behind; the queries of such are returned.
        """
        if self._closed:
            return []
        failures: list[Exception] = []
        left: list[str] = []
        try:
            left = self._owner.ask(m.Close, patience)
        except Exception as error:
            failures.append(error)
        self._last = self._owner.ask(m.DescribeAll)
        self._closed = True
        for let_go in (
            self._owner.end,
            self.followers.close,
            lambda: self.costs(self._last).save(self.directory.path),
            self.sinks.close,
            self.commits.close,
            self.fragment_logs.close,
            self.ingest.close,
            self._recorder.close,
            self.directory.close,
        ):
            try:
                let_go()
            except Exception as error:  # the rest is let go of all the same
                failures.append(error)
        if failures:
            raise _not_all_written(failures[0]) from failures[0]
        return left

    # -- inner -------------------------------------------------------------------------------------------------

    def _table_call(self, sink: str) -> Call | None:
        table = table_of(sink)
        return None if table is None else TableAppender(lambda: self._spark, table)

    def look_for_spark(self) -> None:
        """Notice that Spark has died, though nothing runs that would meet it."""
        if not self._closed and self.runner.java.dead:
            self._owner.tell(m.SparkDied(str(self.runner.java.gone())))

    def _start_spark_again(self) -> dict[str, str]:
        """Start Spark anew, if it does not live. Which tables could not be read again, and why."""
        if not self.runner.java.dead:
            return {}
        if self._revive is None:
            raise self.runner.java.gone()
        spark = self._revive()
        lost = self.tables.read_again(spark)
        self._spark = spark
        self.runner.use(spark)
        self._evaluator.use(spark)
        return lost


def _known(commits: CommitLog, owed: Mapping[str, Owed], uncalled: Mapping[str, int]) -> dict[str, RememberedQuery]:
    """What commits say of the queries of former lives."""
    inside: dict[str, list[tuple[str, int, Any]]] = {}
    for name, each in owed.items():
        if is_fragment_log(name):
            inside.setdefault(query_of(name), []).extend((name, number, output) for number, output in each.outputs)
    state = commits.state
    return {
        name: RememberedQuery(
            dict(said), dict(state.positions.get(name, {})), tuple(inside.get(name, ())), uncalled.get(name)
        )
        for name, said in state.queries.items()
    }


def _check(query: Query) -> None:
    """Refuse what can be seen to be wrong with a query without Spark."""
    check_name(query.name, "the name of a query")
    if query.since not in ("now", "start"):
        raise HeadgateError(f"since is 'now' or 'start', found '{query.since}'", hint="leave it out for 'now'")
    if query.lag is not None:
        parse_lag(query.lag)
    parse_sink(query.sink or "parquet")


def _scheduler(policy: str, fuse: Fuse, seed: int, record: Callable[[str], Any] | None) -> Scheduler:
    network = Network.of([], [], [], share=False)
    settings: dict[str, Any] = {
        "measured": Measured.of(network, fits_overhead=True),
        "learn": True,
        "train": WHOLE_QUEUE,
        "fuse": fuse,
        "seed": seed,
        "rest": REST,
        "guard": Guarded,
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
