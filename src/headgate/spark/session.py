"""`Session`, the Python interface of Headgate on Spark: declare streams, start queries, append rows, read results."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.logs import configure_from_environment
from headgate.metrics.report.run_report import Report
from headgate.model import HeadgateError, Operator, Query, QueryClass, Stream, Table, check_known, closed
from headgate.model.values import located, text
from headgate.plan.fusion import Fuse
from headgate.plan.sql import plan_sql
from headgate.policies.registry import create
from headgate.policy_files import load_policies
from headgate.spark import arguments
from headgate.spark.engine.engine import DEFAULT_POLICY, Engine
from headgate.spark.handle import Handle
from headgate.spark.ingest.dead_letter_replay import LetterReplay
from headgate.spark.ingest.parsing.records import to_table
from headgate.spark.ingest.source_thread import SourceThread
from headgate.spark.ingest.sources import Reader, open_source
from headgate.spark.ingest.sources.objects import opener_of
from headgate.spark.jvm.session_spark import SessionSpark
from headgate.spark.jvm.spark_logs import in_own_thread, quiet_python, quietly
from headgate.spark.report import report
from headgate.spark.session_gate import Gate, gated
from headgate.spark.status import Status, status
from headgate.workload.arrivals import usual_ahead

__all__ = ["Handle", "Session"]

DEFAULT_CLASS = "default"
SPARK_LOG = "spark.log"


class Session:
    """Many continuous queries on one Spark.

    On an embedded Spark, on a running SparkSession (`spark=…`) or on a master (`master="spark://…"`). Data and results
    are kept in `directory`; without one they are deleted when the session ends. Queries of one form share a Spark job
    if they are in the same class; with `fuse="all"` in any class, with "off" never. `policy` is a name with settings,
    as "hnr, train=500", or a file and class of your own, as "./mine.py:Mine".

    A wrong value raises `HeadgateError` and changes nothing. Times are numbers of seconds or text with a unit, as in
    "500 ms". After `close` every call is refused, except reading results that are in files.
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
        # Check all arguments first, since Spark takes some seconds to start.
        given, url = arguments.which_spark(spark, master, directory)
        folder = arguments.folder(directory)
        settings: dict[str, Any] = {
            "policy": arguments.policy(policy),
            "workers": arguments.workers(workers),
            "fuse": arguments.fusion(fuse),
            "seed": arguments.seed(seed),
            "record": record,
        }
        load_policies(policy)
        create(policy)
        arguments.function(record, "record")
        self.gate = Gate()
        self._closing, self._seed = threading.Lock(), seed
        self._final_status: Status | None = None
        configure_from_environment()
        quiet_python()
        self.temporary = folder is None
        self.directory = Path(tempfile.mkdtemp(prefix="headgate-")) if folder is None else folder
        self._spark = SessionSpark(given, url, self.directory / SPARK_LOG)
        try:
            restart = self._restart_spark if self._spark.owned else None
            self.spark = self._spark.start()
            self.engine = Engine(self.spark, self.directory, restart_spark=restart, **settings)
        except BaseException:
            self._release()
            raise
        self.source_thread = SourceThread(self.engine)
        self._began = self.engine.now()

    # -- streams, tables, classes and queries ------------------------------------------------------------------

    @gated
    def stream(
        self,
        name: str,
        schema: str | Sequence[tuple[str, str]],
        *,
        source: str | Iterable[Mapping[str, object] | str | pa.Table] | DataFrame | None = None,
        event_time: str | None = None,
        watermark: float | str = 0.0,
        ahead: float | str | None = None,
    ) -> None:
        """Declare a stream; with a source it is fed from there, else by `append`.

        A source is text ("directory, path=incoming"), an iterable or generator of mappings, JSON texts or Arrow
        tables, or a DataFrame of Structured Streaming (`spark.readStream`), whose checkpoint is kept in the directory.

        Event times may be `watermark` behind the largest so far, and `ahead` of their arrival: text such as "2 s", or
        seconds. Without `ahead` that is "1 h", for made-up rows "none".
        """
        open_reader = opener_of(source, self.engine.directory.checkpoint)
        text = arguments.optional_text(source, "source", "poisson, rate=500") if open_reader is None else None
        stream = Stream(
            name=arguments.name(name, "stream"),
            schema=arguments.columns(schema),
            event_time=arguments.optional_text(event_time, "event_time", "ts"),
            watermark=arguments.delay(watermark, "watermark"),
            ahead=usual_ahead(text) if ahead is None else arguments.ahead(ahead, "ahead"),
            source=text,
        )
        if open_reader is None:
            self.add_stream(stream)
        else:
            self._add_fed(stream, lambda: open_reader(stream))

    @gated
    def add_stream(self, stream: Stream) -> None:
        """Declare a stream given as a model object, and open its source."""
        if stream.source is None:
            self.engine.add_stream(stream)
            return
        text = stream.source
        self._add_fed(stream, lambda: open_source(text, stream, Path(), self._seed, self.engine.now()))

    def _add_fed(self, stream: Stream, open_reader: Callable[[], Reader]) -> None:
        reader = open_reader()
        try:
            self.engine.add_stream(stream)
        except BaseException:
            reader.close()
            raise
        self.source_thread.add(stream.name, reader)

    @gated
    def table(self, name: str, source: str | PathLike[str] | DataFrame) -> None:
        """Declare a stored table, read now: a DataFrame, or the path of a file or folder.

        Files may be Parquet, ORC, CSV with a header, or JSON lines.
        """
        table = Table(name=arguments.name(name, "table"))
        if isinstance(source, DataFrame):
            with quietly():
                self.engine.add_table(table, source)
        else:
            path = str(source) if isinstance(source, PathLike) else source
            with located(f"table '{name}'"), quietly():
                self.engine.add_table(replace(table, path=text(path, "rooms.csv")))

    @gated
    def create_class(self, name: str, priority: float, *, lag: str | None = None) -> None:
        """Declare a class of queries; a larger priority is more important, `lag` limits its queries' lag.

        A class of the same name is refused, unless it is the same.
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
        first, last = arguments.start_and_end(start, end)
        one_time = arguments.flag(once, "once")
        with located("since"):
            text(since, "now")
        with located("sink"):
            text(sink, "parquet")
        query = Query(
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
        if query_class is None:  # last, since it may create the class
            query = replace(query, query_class=self._default_class())
        return self.add_query(query, callback=callback)

    @gated
    def add_query(self, query: Query, *, callback: Callable[[pa.Table], object] | None = None) -> Handle:
        """Start a query given as a model object, now or at its start time."""
        arguments.start_and_end(query.start, query.end)
        arguments.check_callback(query.sink, callback)
        now = self.engine.now()
        start = now + query.start if query.start > 0 else None
        end = now + query.end if query.end < inf else None
        return Handle(self, self.engine.add_query(query, call=callback, start=start, end=end))

    @gated
    def plan(self, sql: str) -> Operator:
        """The plan of some SQL over the streams and tables of this session."""
        with located("sql"):
            text(sql, "SELECT id FROM sensors WHERE temp > 90")
        tables = {name: self.engine.tables.described(name) for name in self.engine.tables}
        return plan_sql(sql, self.engine.streams, tables)

    @gated
    def __getitem__(self, name: str) -> Handle:
        with located("query"):
            text(name, "fire")
        return Handle(self, self.engine.query(name))

    @property
    @gated
    def queries(self) -> dict[str, Handle]:
        """All queries by name."""
        return {view.query.name: Handle(self, view) for view in self.engine.overview().queries}

    @property
    @gated
    def streams(self) -> dict[str, Stream]:
        """All streams by name."""
        return dict(self.engine.streams)

    def __repr__(self) -> str:
        place = repr(str(self.directory))
        return f"<closed session on {place}>" if self.gate.closed else f"<session on {place}: {str(self._status())[1:]}"

    def _repr_html_(self) -> str:
        return repr(self) if self.gate.closed else self._status()._repr_html_()

    # -- data --------------------------------------------------------------------------------------------------

    @gated
    def append(
        self, stream: str, rows: pa.Table | Iterable[Mapping[str, object] | str], timeout: float | str | None = None
    ) -> int:
        """Append rows to a stream; durable on return. Returns how many were accepted; the others are dead letters.

        Late rows are accepted too, for queries without windows, but also leave a dead letter.
        Rows are mappings (fields that are missing are null, those that the stream lacks are left out), a pyarrow.Table
        with the stream's columns, or a DataFrame of pandas or polars. Where a query's lag limit makes sources wait,
        this waits too, at most `timeout` seconds.
        """
        check_known("stream", stream, self.engine.streams)
        checked = arguments.rows(rows)
        self.engine.wait_for_room(stream, arguments.timeout(timeout))
        if isinstance(checked, pa.Table):
            return self.engine.append(stream, checked)
        table, rejected = to_table(checked, self.engine.streams[stream])
        if rejected:
            self.engine.reject(stream, tuple(rejected))
        return self.engine.append(stream, table)

    @gated
    def replay(self, stream: str, reason: str = "") -> LetterReplay:
        """Append a stream's dead letters to it again, checked as any append: all, or those whose reason has a text."""
        check_known("stream", stream, self.engine.streams)
        if reason != "":
            with located("reason"):
                text(reason, "late")
        return self.engine.replay(stream, reason)

    @gated
    def finish(self, stream: str) -> None:
        """Mark a stream as ended, so that its windows close."""
        self.engine.finish(check_known("stream", stream, self.engine.streams))

    @gated
    def drain(self, timeout: float | str | None = None) -> bool:
        """Wait until no tuple waits and no query runs; False after the timeout.

        Not possible in a callback, which would wait for itself.
        """
        if in_own_thread():
            raise HeadgateError("a callback cannot wait until all is done", hint="drain the session in another thread")
        return self.engine.drain(arguments.timeout(timeout))

    # -- scheduling, status, closing ---------------------------------------------------------------------------

    @gated
    def set_policy(self, policy: str, fuse: str | None = None) -> None:
        """Change the scheduling policy and, with `fuse`, which queries share jobs.

        `policy` is a name with settings, as "hnr, train=500", or a file and class of your own, as "./mine.py:Mine".
        """
        scope = None if fuse is None else arguments.fusion(fuse)
        load_policies(arguments.policy(policy))
        self.engine.set_policy(policy, scope)

    @gated
    def set_priority(self, query_class: str, priority: float) -> None:
        """Change the priority of a query class."""
        self.engine.set_priority(query_class, priority)

    @gated
    def status(self) -> Status:
        """Numbers for every class and query, what each worker does, and which sources or whether Spark have failed."""
        self.engine.check_spark()
        return self._status()

    @gated
    def report(self, last: float | str | None = None) -> Report:
        """Every measure that the simulator has, over the newest results, or over those of the last seconds."""
        now = self.engine.now()
        length = arguments.timeout(last)
        return report(self.engine.overview(), now, -inf if length is None else now - length)

    def _status(self) -> Status:
        sources = self.source_thread
        return replace(
            status(self.engine, self._began), source_errors=dict(sources.errors), source_notes=dict(sources.notes)
        )

    def close(self, timeout: float | str | None = None) -> Status:
        """Let active runs end, deliver results to their sinks, and release everything. Returns the final status.

        With a `timeout`, runs that take longer are cancelled and sinks get as long again; the next session on the
        directory does such runs again. Acknowledged rows are safe even if this fails; a second call does nothing more.
        """
        patience = arguments.timeout(timeout)
        if in_own_thread():
            raise HeadgateError("a callback cannot close its session", hint="close it where it was opened")
        self.gate.closed = True
        with self._closing:
            return self._final_status or self._close(patience)

    def _close(self, patience: float | None) -> Status:
        try:
            with quietly():
                self.source_thread.close()
                self.engine.close(patience)
        finally:
            self._final_status = self._status()
            self._release()
        return self._final_status

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _restart_spark(self) -> SparkSession:
        if self.gate.closed:
            raise closed()
        self.spark = self._spark.restart()
        return self.spark

    def _release(self) -> None:
        self._spark.stop()
        if self.temporary:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _class(self, name: str) -> str:
        return check_known("class", name, self.engine.overview().classes)

    def _default_class(self) -> str:
        """The class of queries without one, created when it is first needed."""
        if DEFAULT_CLASS not in self.engine.overview().classes:
            self.engine.add_class(QueryClass(DEFAULT_CLASS))
        return DEFAULT_CLASS
