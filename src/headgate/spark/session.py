"""Headgate from Python: streams, classes and queries on Spark."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.model import HeadgateError, Operator, QoS, Query, QueryClass, Stream, Table, Value, unknown
from headgate.plan.grouping import Fuse
from headgate.plan.sql import plan_sql
from headgate.spark.alarms import Alarms
from headgate.spark.engine import DEFAULT_POLICY, Engine
from headgate.spark.feeding import Feeding
from headgate.spark.jobs.tables import stored
from headgate.spark.jobs.tuning import SETTINGS, builder
from headgate.spark.replay import Replayed
from headgate.spark.running import RunningQuery
from headgate.spark.sources import open_source, to_table
from headgate.spark.status import Line, Status, status
from headgate.spark.store import resultfiles
from headgate.spark.store.sinks import is_file
from headgate.workload.arrivals import usual_ahead
from headgate.workload.fields import given_seconds, read_ahead, read_columns, read_cost

DEFAULT_CLASS = "default"


class Session:
    """Many continuous queries on one Spark.

    On an embedded Spark, on a running SparkSession (`spark=…`) or on a master (`master="spark://…"`). Data and results
    are kept in `directory`; without one they are gone when the session ends. Queries of one form share a job, those of
    one class or, with `fuse`, "all" or none ("off").
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        *,
        master: str = "local[*]",
        directory: str | Path | None = None,
        policy: str = DEFAULT_POLICY,
        workers: int = 2,
        fuse: str = Fuse.CLASS,
        seed: int = 1,
        record: Callable[[str], Any] | None = None,
    ) -> None:
        _check_shared(master if spark is None else str(spark.sparkContext.master), directory)
        self._own_spark = spark is None
        self._temporary = directory is None
        self.directory = Path(tempfile.mkdtemp(prefix="headgate-")) if directory is None else Path(directory)
        self.spark = spark or builder(master).getOrCreate()
        self._tune()
        self._seed = seed
        try:
            self.engine = Engine(
                self.spark,
                self.directory,
                policy=policy,
                workers=workers,
                fuse=_fuse(fuse),
                seed=seed,
                record=record,
            )
        except BaseException:
            self._let_go()
            raise
        self.feeding = Feeding(self.engine)
        self._alarms = Alarms()
        self._began = self.engine.now()
        self.engine.start()

    # -- what there is -----------------------------------------------------------------------------------------

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
        columns = read_columns(schema) if isinstance(schema, str) else tuple(schema)
        allowed = usual_ahead(source) if ahead is None else _seconds(name, "ahead", ahead, read_ahead)
        self.add_stream(
            Stream(
                name=name,
                schema=columns,
                event_time=event_time,
                watermark=_seconds(name, "watermark", watermark, read_cost),
                ahead=allowed,
                source=source,
            )
        )

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
        self.feeding.add(stream.name, reader)

    def table(self, name: str, source: str | DataFrame) -> None:
        """Declare a stored table: a path, or a DataFrame; read now."""
        if isinstance(source, str):
            self.engine.add_table(Table(name=name, path=source))
        else:
            self.engine.tables[name] = stored(source)

    def create_class(self, name: str, priority: float, *, lag: str | None = None) -> None:
        """Declare a class of queries; a larger priority is more important, `lag` limits its queries' lag."""
        self.engine.add_class(QueryClass(name, float(priority), lag))

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
        start: float = 0.0,
        end: float = inf,
        lag: str | None = None,
        callback: Callable[[pa.Table], object] | None = None,
    ) -> Handle:
        """Start a continuous query, or with `once` one that reads what is there and ends.

        It reads what comes from now on, or `since="start"` also what is kept; a query that runs `once` does so in any
        case. `start` and `end` are seconds from now. `lag`, as "skip, tuples=100000" or "wait, tuples=100000", says
        what happens when it falls too far behind.
        """
        if not start >= 0 or not end > start:
            raise HeadgateError(
                f"a query cannot start at {start:g} s and end at {end:g} s", hint="let end be after start"
            )
        made = Query(
            name=name,
            query_class=self._class(query_class),
            plan=self.plan(sql),
            sql=sql,
            qos=None if qos is None else QoS.of(qos),
            start=float(start),
            end=float(end),
            sink="callback" if callback is not None else sink,
            since="start" if once else since,
            once=once,
            lag=lag,
        )
        return self.add_query(made, callback=callback)

    def add_query(self, query: Query, *, callback: Callable[[pa.Table], object] | None = None) -> Handle:
        """Start a query as the model knows it, at once or when its time has come."""
        running = self.engine.add_query(query, call=callback, at_once=query.start <= 0)
        if query.start > 0:
            self._alarms.after(query.start, lambda: self._if_there(self.engine.begin, query.name))
        if query.end < inf:
            self._alarms.after(query.end, lambda: self._if_there(self.engine.remove_query, query.name))
        return Handle(self, running)

    def _if_there(self, act: Callable[[str], None], name: str) -> None:
        if name in self.engine.queries:  # else somebody has stopped it
            act(name)

    def plan(self, sql: str) -> Operator:
        """The plan of some SQL over the streams and tables of this session."""
        tables = {known: self._described(known) for known in self.engine.tables}
        return plan_sql(sql, self.engine.streams, tables)

    def __getitem__(self, name: str) -> Handle:
        return Handle(self, self.engine.query(name))

    # -- data --------------------------------------------------------------------------------------------------

    def append(self, stream: str, rows: pa.Table | Iterable[Mapping[str, object]], timeout: float | None = None) -> int:
        """Add rows to a stream; durable on return. How many are in the stream now; the others are dead letters.

        Late ones are in the stream too, for queries without windows, and leave a letter. Where a query's lag limit
        makes sources wait, this waits too, at most `timeout` seconds.
        """
        if stream not in self.engine.streams:
            raise unknown("stream", stream, self.engine.streams)
        self.engine.make_room(stream, timeout)
        if not isinstance(rows, pa.Table):
            rows, bad = to_table(rows, self.engine.streams[stream])
            if bad:
                self.engine.reject(stream, tuple(bad))
        return self.engine.append(stream, rows)

    def replay(self, stream: str, reason: str = "") -> Replayed:
        """Give a stream its dead letters again, all or those whose reason contains a text.

        They go through the checks of any append.
        """
        return self.engine.replay(stream, reason)

    def finish(self, stream: str) -> None:
        """A stream has ended: its windows close."""
        self.engine.finish(stream)

    def drain(self, timeout: float | None = None) -> bool:
        """Wait until nothing waits and nothing runs; False if that took too long."""
        return self.engine.drain(timeout)

    # -- steering ----------------------------------------------------------------------------------------------

    def set_policy(self, policy: str, fuse: str | None = None) -> None:
        """Let another policy decide from now on, and let other queries share jobs if `fuse` is given."""
        self.engine.set_policy(policy, None if fuse is None else _fuse(fuse))

    def set_priority(self, query_class: str, priority: float) -> None:
        self.engine.set_priority(query_class, float(priority))

    def status(self) -> Status:
        """Every class and query in numbers, what each worker does, and which sources have failed."""
        return replace(status(self.engine, self._began), source_errors=dict(self.feeding.errors))

    def close(self) -> None:
        """Let running work end, bring results to their sinks, and let go."""
        try:
            self._alarms.close()
            self.feeding.close()
            self.engine.close()
        finally:
            self._let_go()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _let_go(self) -> None:
        if self._own_spark:
            self.spark.stop()
        if self._temporary:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _class(self, name: str | None) -> str:
        """A query without a class is of the class `default`, made when it is first needed."""
        classes = self.engine.scheduler.network.classes
        if name is None:
            if DEFAULT_CLASS not in classes:
                self.create_class(DEFAULT_CLASS, 1.0)
            return DEFAULT_CLASS
        if name not in classes:
            raise unknown("class", name, classes)
        return name

    def _described(self, name: str) -> Table:
        frame = self.engine.tables[name]
        return Table(name=name, schema=tuple((one.name, one.dataType.simpleString()) for one in frame.schema))

    def _tune(self) -> None:
        """Settings that can change on a running session; those of an own one are all set already."""
        for key, value in SETTINGS.items():
            if self.spark.conf.isModifiable(key):
                self.spark.conf.set(key, value)


def _seconds(stream: str, what: str, value: float | str, read: Callable[[Value], float]) -> float:
    try:
        return given_seconds(value, read)
    except HeadgateError as error:
        raise error.at(f"stream {stream}, {what}") from None


def _fuse(text: str) -> Fuse:
    if text not in list(Fuse):
        raise unknown("fusion", text, list(Fuse))
    return Fuse(text)


def _check_shared(master: str, directory: str | Path | None) -> None:
    """Executors of a cluster read and write files of the data directory themselves."""
    if directory is None and not master.startswith("local"):
        raise HeadgateError(
            "on a cluster a session needs a directory that all machines share",
            where=f"master {master}",
            hint="give directory=, a path on shared storage",
        )


class Handle:
    """A query of a session."""

    def __init__(self, session: Session, running: RunningQuery) -> None:
        self._session = session
        self._last = running

    @property
    def _running(self) -> RunningQuery:
        """As it is now, or as it was when it was stopped."""
        self._last = self._session.engine.queries.get(self._last.name, self._last)
        return self._last

    @property
    def name(self) -> str:
        return self._last.name

    @property
    def schema(self) -> pa.Schema:
        """The columns of its results."""
        return self._running.one.evaluation.schema

    @property
    def status(self) -> Line:
        self._session.engine.query(self.name)  # says so if it has been stopped
        return next(line for line in self._session.status().queries if line.name == self.name)

    def results(self, timeout: float | None = None) -> Iterator[pa.RecordBatch]:
        """Results as they come, from now on; ends when the query does, or when none came for `timeout` seconds."""
        tables = self._session.engine.follow(self.name, timeout)
        return (batch for table in tables for batch in table.to_batches())

    def read(self) -> pa.Table:
        """All results that lie in its files."""
        self._session.engine.ledger.forward()
        folder = self._session.engine.directory.result(self.name)
        if not folder.is_dir() and is_file(self._running.query.sink):
            return self.schema.empty_table()  # there was no result yet
        return resultfiles.read(folder)

    def pause(self) -> None:
        self._session.engine.pause(self.name)

    def resume(self) -> None:
        self._session.engine.resume(self.name)

    def stop(self) -> None:
        """End it for good; its results stay."""
        self._session.engine.remove_query(self.name)

    def move(self, query_class: str) -> None:
        """Put it into another class."""
        self._session.engine.set_class(self.name, query_class)

    def replace(self, sql: str) -> None:
        """Give it other SQL with the same columns; it goes on in its streams where it stands."""
        self._session.engine.replace_query(replace(self._running.query, plan=self._session.plan(sql), sql=sql))
