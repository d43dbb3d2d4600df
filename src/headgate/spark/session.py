"""Headgate from Python: streams, classes and queries on Spark."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from headgate.logs import configure_from_environment
from headgate.metrics.report.run_report import Report
from headgate.model import HeadgateError, Operator, Query, QueryClass, Stream, Table, check_known, closed
from headgate.model.values import located, text
from headgate.plan.grouping import Fuse
from headgate.plan.sql import plan_sql
from headgate.policies.registry import create
from headgate.spark import arguments
from headgate.spark.engine.engine import DEFAULT_POLICY, Engine
from headgate.spark.handle import Handle
from headgate.spark.ingest.dead_letter_replay import LetterReplay
from headgate.spark.ingest.parsing.records import to_table
from headgate.spark.ingest.source_thread import SourceThread
from headgate.spark.ingest.sources import open_source
from headgate.spark.jvm.process import Java, forget_dead
from headgate.spark.jvm.settings import SETTINGS, allow_null_elements, builder, start
from headgate.spark.jvm.spark_logs import THREADS, quiet_end, quiet_python, quietly, spark_log_to
from headgate.spark.public_calls import Gate, gated
from headgate.spark.report import report
from headgate.spark.status import Status, status
from headgate.workload.arrivals import usual_ahead

__all__ = ["Handle", "Session"]

DEFAULT_CLASS = "default"
SPARK_LOG = "spark.log"
_SQL = "SELECT id FROM sensors WHERE temp > 90"


class Session:
    """Many continuous queries on one Spark.

    On an embedded Spark, on a running SparkSession (`spark=…`) or on a master (`master="spark://…"`). Data and results
    are kept in `directory`; without one they are gone when the session ends. Queries of one form share a job, those of
    one class or, with `fuse`, "all" or none ("off").

    What is wrong with a value is told by `HeadgateError`, and nothing has changed then. Times are numbers of seconds
    or text with a unit, "500 ms". After `close` every call is refused, except reading results that lie in files.
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        *,
        master: str = "local[*]",
        directory: str | PathLike[str] | None = None,
        policy: str = DEFAULT_POLICY,
        workers: int = 2,
        fuse: str = Fuse.CLASS,
        seed: int = 1,
        record: Callable[[str], Any] | None = None,
    ) -> None:
        # All that can be wrong is found before Spark takes its time to start.
        given = None if spark is None else arguments.running_spark(spark)
        url = arguments.master(master, "given" if given is not None else directory)
        if given is not None:
            arguments.check_shared(str(given.sparkContext.master), directory)
        folder = arguments.folder(directory)
        settings: dict[str, Any] = {
            "policy": arguments.policy(policy),
            "workers": arguments.workers(workers),
            "fuse": arguments.fusion(fuse),
            "seed": arguments.seed(seed),
            "record": record,
        }
        create(policy)
        arguments.function(record, "record")
        self.gate = Gate()
        self._closing = threading.Lock()
        self._ended: Status | None = None
        self._seed = seed
        configure_from_environment()
        quiet_python()
        self.temporary = folder is None
        self.directory = Path(tempfile.mkdtemp(prefix="headgate-")) if folder is None else folder
        self._own_spark = given is None and not _spark_runs()
        self._url = url
        self._unlog: Callable[[], None] = lambda: None
        try:
            self.spark = given or self._started()
            self._tune()
            revive = self._start_spark_again if self._own_spark else None
            self.engine = Engine(self.spark, self.directory, revive=revive, **settings)
        except BaseException:
            self._let_go()
            raise
        self.source_thread = SourceThread(self.engine)
        self._began = self.engine.now()

    # -- what there is -----------------------------------------------------------------------------------------

    @gated
    def stream(
        self,
        name: str,
        schema: str | Sequence[tuple[str, str]],
        *,
        source: str | None = None,
        event_time: str | None = None,
        watermark: float | str = 0.0,
        ahead: float | str | None = None,
    ) -> None:
        """Declare a stream; with a source it is fed from there, else by `append`.

        Event times may be `watermark` behind the largest so far, and `ahead` of their arrival: text such as "2 s", or
        seconds. Without `ahead` that is "1 h", for made-up rows "none".
        """
        fed = arguments.optional_text(source, "source", "poisson, rate=500")
        made = Stream(
            name=arguments.name(name, "stream"),
            schema=arguments.columns(schema),
            event_time=arguments.optional_text(event_time, "event_time", "ts"),
            watermark=arguments.delay(watermark, "watermark"),
            ahead=usual_ahead(fed) if ahead is None else arguments.ahead(ahead, "ahead"),
            source=fed,
        )
        self.add_stream(made)

    @gated
    def add_stream(self, stream: Stream) -> None:
        """Declare a stream as the model knows it, and open its source."""
        if stream.source is None:
            self.engine.add_stream(stream)
            return
        reader = open_source(stream.source, stream, Path(), self._seed, self.engine.now())
        try:
            self.engine.add_stream(stream)
        except BaseException:
            reader.close()
            raise
        self.source_thread.add(stream.name, reader)

    @gated
    def table(self, name: str, source: str | PathLike[str] | DataFrame) -> None:
        """Declare a stored table, read now: a DataFrame, or the path of a file or folder.

        Of Parquet, ORC, CSV with a header, or JSON lines.
        """
        made = Table(name=arguments.name(name, "table"))
        if isinstance(source, DataFrame):
            with quietly():
                self.engine.add_table(made, source)
        else:
            path = str(source) if isinstance(source, PathLike) else source
            with located(f"table '{name}'"), quietly():
                self.engine.add_table(replace(made, path=text(path, "rooms.csv")))

    @gated
    def create_class(self, name: str, priority: float, *, lag: str | None = None) -> None:
        """Declare a class of queries; a larger priority is more important, `lag` limits its queries' lag.

        A class that is there already is refused, unless it is the same.
        """
        self.engine.add_class(QueryClass(name, priority, lag))

    @gated
    def query(
        self,
        name: str,
        sql: str,
        *,
        query_class: str | None = None,
        sink: str = "parquet",
        qos: Sequence[Sequence[float]] | None = None,
        since: str = "now",
        once: bool = False,
        start: float | str = 0.0,
        end: float | str = inf,
        lag: str | None = None,
        callback: Callable[[pa.Table], object] | None = None,
    ) -> Handle:
        """Start a continuous query, or with `once` one that reads what is there and ends.

        It reads what comes from now on, or `since="start"` also what is kept; a query that runs `once` does so in any
        case. `start` and `end` are seconds from now. `lag`, as "skip, tuples=100000" or "wait, tuples=100000", says
        what happens when it falls too far behind.
        """
        arguments.name(name, "query")
        arguments.function(callback, "callback")
        first, last = arguments.life(start, end)
        one_time = arguments.flag(once, "once")
        with located("since"):
            text(since, "now")
        with located("sink"):
            text(sink, "parquet")
        made = Query(
            name=name,
            query_class="" if query_class is None else self._class(query_class),
            plan=self.plan(sql),
            sql=sql,
            qos=arguments.quality(qos),
            start=first,
            end=last,
            sink="callback" if callback is not None else sink,
            since="start" if one_time else since,
            once=one_time,
            lag=arguments.optional_text(lag, "lag", "skip, tuples=100000"),
        )
        if query_class is None:  # last, when all else has been found right
            made = replace(made, query_class=self._default())
        return self.add_query(made, callback=callback)

    @gated
    def add_query(self, query: Query, *, callback: Callable[[pa.Table], object] | None = None) -> Handle:
        """Start a query as the model knows it, at once or when its time has come."""
        arguments.life(query.start, query.end)
        arguments.check_callback(query.sink, callback)
        now = self.engine.now()
        start = now + query.start if query.start > 0 else None
        end = now + query.end if query.end < inf else None
        return Handle(self, self.engine.add_query(query, call=callback, start=start, end=end))

    @gated
    def plan(self, sql: str) -> Operator:
        """The plan of some SQL over the streams and tables of this session."""
        with located("sql"):
            text(sql, _SQL)
        tables = {known: self._described(known) for known in self.engine.tables}
        return plan_sql(sql, self.engine.streams, tables)

    @gated
    def __getitem__(self, name: str) -> Handle:
        with located("query"):
            text(name, "fire")
        return Handle(self, self.engine.query(name))

    # -- data --------------------------------------------------------------------------------------------------

    @gated
    def append(
        self, stream: str, rows: pa.Table | Iterable[Mapping[str, object] | str], timeout: float | str | None = None
    ) -> int:
        """Add rows to a stream; durable on return. How many are in the stream now; the others are dead letters.

        Late ones are in the stream too, for queries without windows, and leave a letter.
        Rows are mappings (fields that are missing are null, those that the stream lacks are left out), a pyarrow.Table
        with the stream's columns, or a DataFrame of pandas or polars. Where a query's lag limit makes sources wait,
        this waits too, at most `timeout` seconds.
        """
        check_known("stream", stream, self.engine.streams)
        found = arguments.rows(rows)
        self.engine.make_room(stream, arguments.timeout(timeout))
        if isinstance(found, pa.Table):
            return self.engine.append(stream, found)
        table, bad = to_table(found, self.engine.streams[stream])
        if bad:
            self.engine.reject(stream, tuple(bad))
        return self.engine.append(stream, table)

    @gated
    def replay(self, stream: str, reason: str = "") -> LetterReplay:
        """Give a stream its dead letters again, all or those whose reason contains a text.

        They go through the checks of any append.
        """
        check_known("stream", stream, self.engine.streams)
        if reason != "":
            with located("reason"):
                text(reason, "late")
        return self.engine.replay(stream, reason)

    @gated
    def finish(self, stream: str) -> None:
        """A stream has ended: its windows close."""
        self.engine.finish(check_known("stream", stream, self.engine.streams))

    @gated
    def drain(self, timeout: float | str | None = None) -> bool:
        """Wait until nothing waits and nothing runs; False if that took too long.

        A callback cannot: it would wait for itself.
        """
        if _in_callback():
            raise HeadgateError("a callback cannot wait until all is done", hint="drain the session in another thread")
        return self.engine.drain(arguments.timeout(timeout))

    # -- steering ----------------------------------------------------------------------------------------------

    @gated
    def set_policy(self, policy: str, fuse: str | None = None) -> None:
        """Let another policy decide from now on, and let other queries share jobs if `fuse` is given."""
        self.engine.set_policy(arguments.policy(policy), None if fuse is None else arguments.fusion(fuse))

    @gated
    def set_priority(self, query_class: str, priority: float) -> None:
        """Let a class be more or less important from now on."""
        self.engine.set_priority(query_class, priority)

    @gated
    def status(self) -> Status:
        """Every class and query in numbers, what each worker does, which sources have failed, and whether Spark has."""
        self.engine.look_for_spark()
        return self._status()

    @gated
    def report(self, last: float | str | None = None) -> Report:
        """Every measure that the simulator has, over the newest results, or over those of the last seconds."""
        now = self.engine.now()
        length = arguments.timeout(last)
        return report(self.engine.overview(), now, -inf if length is None else now - length)

    def _status(self) -> Status:
        return replace(status(self.engine, self._began), source_errors=dict(self.source_thread.errors))

    def close(self) -> Status:
        """Let running work end, bring results to their sinks, and let go. How everything stood at the end.

        What was acknowledged is safe also if this fails, as on a full disk; a second call does nothing more.
        """
        if _in_callback():
            raise HeadgateError("a callback cannot close its session", hint="close it where it was opened")
        self.gate.closed = True
        with self._closing:
            if self._ended is None:
                self._close()
            assert self._ended is not None
            return self._ended

    def _close(self) -> None:
        try:
            with quietly():
                self.source_thread.close()
                self.engine.close()
        finally:
            self._ended = self._status()
            self._let_go()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _started(self) -> SparkSession:
        """The Spark that this program has, or one of our own, whose log is in the directory."""
        if not self._own_spark:
            return builder(self._url).getOrCreate()
        log = self.directory / SPARK_LOG
        spark = start(self._url, log)
        self._unlog = spark_log_to(spark, log)
        quiet_end(spark)
        return spark

    def _start_spark_again(self) -> SparkSession:
        """Spark has died, and it was ours: another one with the same settings takes its place."""
        if self.gate.closed:
            raise closed()
        forget_dead()
        self.spark = self._started()
        self._tune()
        return self.spark

    def _let_go(self) -> None:
        if self._own_spark and hasattr(self, "spark"):
            if Java().dead:
                forget_dead()
            else:
                self.spark.stop()
                self._unlog()
        if self.temporary:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _class(self, name: str) -> str:
        return check_known("class", name, self.engine.overview().classes)

    def _default(self) -> str:
        """A query without a class is of the class `default`, made when it is first needed."""
        if DEFAULT_CLASS not in self.engine.overview().classes:
            self.engine.add_class(QueryClass(DEFAULT_CLASS))
        return DEFAULT_CLASS

    def _described(self, name: str) -> Table:
        columns = self.engine.tables.schema(name)
        return Table(name=name, schema=tuple((one.name, one.dataType.simpleString()) for one in columns))

    def _tune(self) -> None:
        """Settings that can change on a running session; those of an own one are all set already."""
        allow_null_elements(self.spark)
        for key, value in SETTINGS.items():
            if self.spark.conf.isModifiable(key):
                self.spark.conf.set(key, value)


def _in_callback() -> bool:
    """Whether a thread of ours is here, in somebody's code."""
    return threading.current_thread().name.startswith(THREADS)


def _spark_runs() -> bool:
    """Whether this program has a Spark already that lives: then it is used, and not stopped at the end."""
    context: Any = SparkContext
    if context._gateway is not None and Java().dead:
        forget_dead()
    return context._active_spark_context is not None
