"""Headgate from Python: streams, classes and queries on Spark."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.model import QoS, Query, QueryClass, Stream, Table, unknown
from headgate.plan.sql import plan_sql
from headgate.spark.engine import DEFAULT_POLICY, Engine
from headgate.spark.feeding import Feeding
from headgate.spark.jobs.tables import stored
from headgate.spark.jobs.tuning import SETTINGS, builder
from headgate.spark.replay import Replayed
from headgate.spark.running import RunningQuery
from headgate.spark.sources import open_source, to_table
from headgate.spark.status import Line, Status, status
from headgate.spark.store import resultfiles
from headgate.spark.store.sinks import parse_sink
from headgate.workload.fields import read_columns

DEFAULT_CLASS = "default"


class Session:
    """Many continuous queries on one Spark.

    On an embedded Spark, on a running SparkSession (`spark=…`) or on a master (`master="spark://…"`). Data and results
    are kept in `directory`; without one they are gone when the session ends.
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        *,
        master: str = "local[*]",
        directory: str | Path | None = None,
        policy: str = DEFAULT_POLICY,
        workers: int = 2,
        seed: int = 1,
        record: Callable[[str], Any] | None = None,
    ) -> None:
        self._own_spark = spark is None
        self._temporary = directory is None
        self.directory = Path(tempfile.mkdtemp(prefix="headgate-")) if directory is None else Path(directory)
        self.spark = spark or builder(master).getOrCreate()
        self._tune()
        self._seed = seed
        try:
            self.engine = Engine(self.spark, self.directory, policy=policy, workers=workers, seed=seed, record=record)
        except BaseException:
            self._let_go()
            raise
        self.feeding = Feeding(self.engine)
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
        watermark: float = 0.0,
    ) -> None:
        """Declare a stream; with a source it is fed from there, else by `append`."""
        columns = read_columns(schema) if isinstance(schema, str) else tuple(schema)
        self.add_stream(Stream(name=name, schema=columns, event_time=event_time, watermark=watermark, source=source))

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

    def create_class(self, name: str, priority: float) -> None:
        """Declare a class of queries; a larger priority is more important."""
        self.engine.add_class(QueryClass(name, float(priority)))

    def query(
        self,
        name: str,
        sql: str,
        *,
        query_class: str | None = None,
        sink: str = "parquet",
        qos: Sequence[Sequence[float]] | None = None,
        from_start: bool = False,
        callback: Callable[[pa.Table], object] | None = None,
    ) -> Handle:
        """Start a continuous query; it reads what comes from now on, with `from_start` also what is there."""
        tables = {known: self._described(known) for known in self.engine.tables}
        plan = plan_sql(sql, self.engine.streams, tables)
        made = Query(
            name=name,
            query_class=self._class(query_class),
            plan=plan,
            sql=sql,
            qos=None if qos is None else QoS.of(qos),
            sink="callback" if callback is not None else sink,
        )
        return self.add_query(made, from_start=from_start, callback=callback)

    def add_query(
        self, query: Query, *, from_start: bool = False, callback: Callable[[pa.Table], object] | None = None
    ) -> Handle:
        return Handle(self, self.engine.add_query(query, from_start=from_start, call=callback))

    def __getitem__(self, name: str) -> Handle:
        return Handle(self, self.engine.query(name))

    # -- data --------------------------------------------------------------------------------------------------

    def append(self, stream: str, rows: pa.Table | Iterable[Mapping[str, object]]) -> int:
        """Add rows to a stream; durable on return. How many were taken; bad and late ones are dead letters."""
        if stream not in self.engine.streams:
            raise unknown("stream", stream, self.engine.streams)
        if not isinstance(rows, pa.Table):
            rows, bad = to_table(rows, self.engine.streams[stream])
            if bad:
                self.engine.reject(stream, tuple(bad))
        return self.engine.append(stream, rows)

    def replay(self, stream: str, reason: str = "") -> Replayed:
        """Give a stream its dead letters again, all or those whose reason contains a text.

        They go through the checks of any append: one that came too late is too late again.
        """
        return self.engine.replay(stream, reason)

    def finish(self, stream: str) -> None:
        """A stream has ended: its windows close."""
        self.engine.finish(stream)

    def drain(self, timeout: float | None = None) -> bool:
        """Wait until nothing waits and nothing runs; False if that took too long."""
        return self.engine.drain(timeout)

    # -- steering ----------------------------------------------------------------------------------------------

    def set_policy(self, policy: str) -> None:
        self.engine.set_policy(policy)

    def set_priority(self, query_class: str, priority: float) -> None:
        self.engine.set_priority(query_class, float(priority))

    def status(self) -> Status:
        """Every class and query in numbers, what each worker does, and which sources have failed."""
        return replace(status(self.engine, self._began), source_errors=dict(self.feeding.errors))

    def close(self) -> None:
        """Let running work end, bring results to their sinks, and let go."""
        try:
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


class Handle:
    """A query of a session."""

    def __init__(self, session: Session, running: RunningQuery) -> None:
        self._session = session
        self._running = running

    @property
    def name(self) -> str:
        return self._running.name

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
        if not folder.is_dir() and parse_sink(self._running.query.sink or "parquet").name in ("parquet", "jsonl"):
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
