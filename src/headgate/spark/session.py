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
from headgate.model.values import UNCHANGED, located, text
from headgate.policies.isolation_checks import check_isolation
from headgate.policies.registry import create
from headgate.policy_files import load_policies
from headgate.spark import arguments
from headgate.spark.engine.catalog_entries import SourceText
from headgate.spark.engine.engine import Engine, Progress
from headgate.spark.engine.new_queries import NewQuery, named
from headgate.spark.handle import Handle
from headgate.spark.ingest.dead_letter_replay import LetterReplay
from headgate.spark.ingest.parsing.records import Read, to_table
from headgate.spark.ingest.sources.objects import object_kind, opener_of
from headgate.spark.ingest.streams import Pushed
from headgate.spark.jvm.session_spark import SessionSpark
from headgate.spark.jvm.spark_logs import in_own_thread, quiet_python, quietly
from headgate.spark.machine.policy_changes import SHORTEST_JOB
from headgate.spark.new_query import new_query, plan_for
from headgate.spark.report import report
from headgate.spark.session_gate import Gate, gated
from headgate.spark.status import Status, status
from headgate.spark.stream_sources import StreamSources

__all__ = ["Handle", "Session"]

SPARK_LOG = "spark.log"


class Session:
    """Many continuous queries on one Spark: declare streams, start queries, feed rows, read results.

    Everything is kept in its directory: data, results, and what was declared. A session on a directory that has been
    used before comes back with all of it, and queries go on where they stood. What cannot be stored waits until it is
    declared again: callbacks, and streams and tables given as objects. Declaring the same thing again is fine.

    * `spark`: a running SparkSession to use. Without one the session uses the Spark that the program has already, or
      starts one; it stops only what it has started. Queries run in a session of their own on the same Spark: what the
      program has set in its session stays so, and changes no results.
    * `master`: where to start Spark, such as "local[4]" or "spark://host:7077".
    * `directory`: where everything is kept. Without one it is deleted when the session ends.
    * `policy`: who runs next, a name with settings, as "hnr, train=500", or a file and class of your own, as
      "./mine.py:Mine". Without one, the directory's, and "express" in a new one.
    * `workers`: how many Spark jobs may run at a time, 1 to 100.
    * `fuse`: which queries of one form share a Spark job: those of the same "class", "all", or with "off" none. Without
      it, as the directory says, and "class" in a new one.
    * `seed`: of everything that is drawn at random.
    * `record`: a function that gets each line of the trace of decisions, such as the `write` of an open file.
    * `held`: no query runs and no source is read before `begin()`, so that things can be changed first.
    * `warm`: before queries run and sources are read, warm Spark up for the queries that are there: True for at most 20
      seconds, or a time; see the method `warm`. A session that is not `held` has those that its directory remembers.
    * `panes`: whether window aggregates keep partial aggregates in memory. Without them every window reads all its rows
      again when it closes.

    Times are numbers of seconds, or text with a unit, as in "500 ms". A wrong value raises `HeadgateError`, which says
    in one line what was expected, and changes nothing. As a context manager the session closes itself at the end.

    >>> import headgate
    >>> hg = headgate.Session(policy="hnr", fuse="all")
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        *,
        master: str = "local[*]",
        directory: str | PathLike[str] | None = None,
        policy: str | None = None,
        workers: int = 2,
        fuse: str | None = None,
        seed: int | None = None,
        record: Callable[[str], Any] | None = None,
        held: bool = False,
        warm: bool | float | str | None = None,
        panes: bool = True,
    ) -> None:
        # Check all arguments first, since Spark takes some seconds to start.
        given, url = arguments.which_spark(spark, master, directory)
        folder = arguments.folder(directory)
        settings: dict[str, Any] = {
            "policy": None if policy is None else arguments.policy(policy),
            "workers": arguments.workers(workers),
            "fuse": None if fuse is None else arguments.fusion(fuse),
            "seed": None if seed is None else arguments.seed(seed),
            "record": record,
            "panes": arguments.flag(panes, "panes"),
        }
        if policy is not None:
            load_policies(policy)
            check_isolation(create(policy), {}, settings["workers"], SHORTEST_JOB, "worker")
        arguments.function(record, "record")
        arguments.flag(held, "held")
        self._warm_limit = arguments.warm(warm)
        self.gate = Gate()
        self._closing = threading.Lock()
        self._final_status: Status | None = None
        configure_from_environment()
        quiet_python()
        self.temporary = folder is None
        self.directory = Path(tempfile.mkdtemp(prefix="headgate-")) if folder is None else folder
        self._spark = SessionSpark(given, url, self.directory / SPARK_LOG)
        try:
            restart = self._restart_spark if self._spark.owned else None
            self.spark = self._spark.start()
            self.engine = Engine(self.spark, self.directory, restart_spark=restart, held=True, **settings)
        except BaseException:
            self._release()
            raise
        self.sources = StreamSources(self.engine)
        self._began = self.engine.now()
        try:
            with quietly():
                self.engine.restoring.restore()
            if not held:
                self.begin()
        except BaseException:
            self.close()
            raise

    @gated
    def begin(self) -> None:
        """Let the queries of a session that is `held` run, and read its sources; otherwise nothing happens."""
        limit, self._warm_limit = self._warm_limit, 0.0
        if limit:
            self.engine.warm(limit)
        self.sources.open_stored()
        self.engine.begin()

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
        """Declare a stream: rows with named, typed columns that come one after the other.

        * `name`: what SQL calls it.
        * `schema`: columns and their types in Spark's words, as text or as pairs.
        * `source`: where the rows come from. Text names a source with its settings ("directory, path=incoming"); an
          iterable or generator gives mappings, JSON texts or Arrow tables; a DataFrame of Spark's `readStream` is read
          by Structured Streaming, with its checkpoint in the session's directory. Without one, `append` feeds it.
        * `event_time`: the timestamp column that windows and time bounds use.
        * `watermark`: how far an event time may be behind the largest so far before its row is late.
        * `ahead`: how far it may be ahead of its arrival; a row beyond that is a dead letter. "1 h" if not given, and
          "none" (no limit) for a source that makes rows up or plays a file back.

        `HeadgateError` if there is a stream or table of this name, a type is unknown or the source cannot be opened.

        >>> hg.stream("readings", "machine string, temp double, ts timestamp", event_time="ts", watermark="5 s")

        A source may make up its rows; settings with the names of columns say what is in them:

        >>> hg.stream("drawn", "n int, colour string", source="constant, rate=1000, rows=50, n=[1, 6], colour=[red]")
        """
        open_reader = opener_of(source, self.engine.directory.checkpoint)
        text = arguments.optional_text(source, "source", "poisson, rate=500") if open_reader is None else None
        stream = arguments.stream(name, schema, text, event_time, watermark, ahead)
        if open_reader is None:
            self.add_stream(stream)
        else:
            self.sources.add_object(stream, object_kind(source), open_reader)

    @gated
    def add_stream(self, stream: Stream) -> None:
        """Declare a stream given as a `headgate.model.Stream`, as the reader of workload files makes them.

        >>> from headgate.model import Stream
        >>> hg.add_stream(Stream(name="alarms", schema=(("machine", "string"), ("level", "int"))))
        """
        if stream.source is None:
            self.engine.add_stream(stream)
        else:
            within = None if stream.within is None else Path(stream.within)
            self.sources.add_text(stream, SourceText(stream.source, Path(), within))

    @gated
    def table(self, name: str, source: str | PathLike[str] | DataFrame) -> None:
        """Declare a stored table that queries may join with. It is read now; later changes of its files are not seen.

        * `name`: what SQL calls it.
        * `source`: a DataFrame, or the path of a file or folder: Parquet, ORC, CSV with a header, or JSON lines.

        `HeadgateError` if there is a stream or table of this name, or if it cannot be read.

        >>> halls = hg.spark.sql("SELECT * FROM VALUES ('oven', 'north'), ('press', 'south') AS t(machine, hall)")
        >>> hg.table("halls", halls)
        """
        table = Table(name=arguments.name(name, "table"))
        if isinstance(source, DataFrame):
            with quietly():
                self.engine.add_table(table, source)
        else:
            path = str(source) if isinstance(source, PathLike) else source
            with located(f"table '{name}'"), quietly():
                self.engine.add_table(replace(table, path=arguments.table_path(text(path, "rooms.csv"))))

    @gated
    def create_class(
        self, name: str, priority: float, *, lag: str | None = None, target: str | float | None = None
    ) -> None:
        """Declare a class of queries. Classes share the machine by priority, as far as the policy looks at it.

        * `name`: what `query` calls it.
        * `priority`: a number above 0; larger is more important.
        * `lag`: the limit for its queries that have none of their own, see `query`.
        * `target`: likewise, how soon results are wanted.

        The same class may be declared again; with other values that is refused: see `change_class`.

        >>> hg.create_class("critical", priority=60)
        """
        self.engine.add_class(QueryClass(name, priority, lag, arguments.target(target)))

    @gated
    def drop_stream(self, name: str) -> None:
        """Remove a stream for good: its source ends, its rows and dead letters are deleted. Results of queries stay.

        * `name`: the stream's name. Afterwards another stream may have it, also with other columns.

        `ConflictError` names the queries that read it, if there are any: stop them first.

        >>> hg.stream("trial", "n int")
        >>> hg.drop_stream("trial")
        >>> "trial" in hg.streams
        False
        """
        self.engine.drop_stream(check_known("stream", name, self.engine.streams))

    @gated
    def drop_table(self, name: str) -> None:
        """Remove a table. `ConflictError` names the queries that read it, if there are any.

        >>> hg.table("shifts", hg.spark.sql("SELECT 'oven' AS machine, 'night' AS shift"))
        >>> hg.drop_table("shifts")
        """
        with quietly():
            self.engine.drop_table(check_known("table", name, self.engine.tables))

    @gated
    def refresh_table(self, name: str) -> None:
        """Read the file or folder of a table anew; queries use the new rows from their next run on.

        * `name`: the table's name. New columns of the file are left out; if it lacks columns that the table had, or has
          them with other types, that is refused and the old rows stay in use.

        `ConflictError` if the table was given as a DataFrame: nobody knows where its rows came from.

        >>> file = hg.directory / "limits.jsonl"
        >>> _ = file.write_text('{"machine": "oven", "limit": 90}')
        >>> hg.table("limits", file)
        >>> _ = file.write_text('{"machine": "oven", "limit": 85}')
        >>> hg.refresh_table("limits")
        """
        with quietly():
            self.engine.refresh_table(check_known("table", name, self.engine.tables))

    @gated
    def change_class(
        self,
        name: str,
        *,
        priority: float | None = None,
        lag: str | None = UNCHANGED,
        target: str | float | None = UNCHANGED,
    ) -> None:
        """Change a class while its queries run; they follow at once.

        * `name`: the name of the class.
        * `priority`, `lag`, `target`: as for `create_class`. What is not given stays; None for `lag` or `target` takes
          it away.

        `HeadgateError` if there is no such class, or a value is wrong; then nothing changes.

        >>> hg.create_class("batch", priority=1, lag="skip, tuples=100000")
        >>> hg.change_class("batch", priority=2, lag=None, target="p90 10 s")
        """
        changes: dict[str, Any] = {} if priority is None else {"priority": priority}
        if lag is not UNCHANGED:
            changes["lag"] = arguments.optional_text(lag, "lag", "skip, tuples=100000")
        if target is not UNCHANGED:
            changes["target"] = arguments.target(target)
        self.engine.change_class(self._class(name), changes)

    @gated
    def drop_class(self, name: str) -> None:
        """Remove a class. `ConflictError` names the queries that are in it, if there are any.

        >>> hg.drop_class("batch")
        """
        self.engine.drop_class(self._class(name))

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
        target: str | float | None = None,
        callback: Callable[[pa.Table], object] | None = None,
    ) -> Handle:
        """Start a query: a continuous one, or with `once` one that reads what is there and ends. Returns its `Handle`.

        * `name`: its name; results are in `directory/results/name`.
        * `sql`: a SELECT over streams and tables of this session. docs/sql.md has what is accepted.
        * `query_class`: its class; without one, "default", which has priority 1.
        * `sink`: where results go: "parquet" or "jsonl" files (exactly once), "table, name=db.alerts", "memory",
          "console", "blackhole".
        * `callback`: a function to call with each Arrow table of results, at least once, instead of a sink.
        * `since`: "now" reads rows that come from now on, "start" also those that the stream has kept.
        * `once`: read all that is kept, then end.
        * `start`, `end`: when it starts and ends, in seconds from now.
        * `lag`: what happens when more rows wait for it: "skip, tuples=100000" jumps over them, "wait, tuples=100000"
          makes the sources wait.
        * `target`: how soon results are wanted: "500 ms" (95 % of them), "p99 2 s", "500 ms ± 20 %"; the status says
          whether it is met. Without one, its class's, or the deadline of its `qos`.
        * `qos`: what a result is worth by its latency in seconds, as `[(0, 1.0), (0.5, 1.0), (2, 0.0)]`; some policies
          need it.

        `HeadgateError` if the name is in use, or the SQL is refused: the message says which part, and why.

        >>> hot = hg.query("hot", "SELECT machine, temp FROM readings WHERE temp > 90", query_class="critical")
        >>> sql = "SELECT machine, max(temp) AS peak FROM readings GROUP BY window(ts, '1 minute'), machine"
        >>> peaks = hg.query("peaks", sql)
        >>> where = hg.query("where", "SELECT r.temp, h.hall FROM readings r JOIN halls h ON r.machine = h.machine")
        >>> colours = hg.query("colours", "SELECT n, colour FROM drawn WHERE n > 3", since="start")
        """
        arguments.function(callback, "callback")
        query = new_query(
            self.engine,
            name,
            sql,
            query_class=query_class,
            sink=sink,
            qos=qos,
            since=since,
            once=once,
            start=start,
            end=end,
            lag=lag,
            target=target,
        )
        if callback is not None:
            query = replace(query, sink="callback")
        if not query.query_class:  # last, since it may create the class
            query = replace(query, query_class=self.engine.default_class())
        return self.add_query(query, callback=callback)

    @gated
    def add_query(self, query: Query, *, callback: Callable[[pa.Table], object] | None = None) -> Handle:
        """Start a query given as a `headgate.model.Query`, now or at its start time. Returns its `Handle`.

        * `query`: what the arguments of `Session.query` become.
        * `callback`: the function of a query whose sink is "callback".

        >>> from headgate.model import Query
        >>> plan = hg.plan("SELECT machine FROM alarms WHERE level > 3")
        >>> loud = hg.add_query(Query(name="loud", query_class="critical", plan=plan))
        """
        new = self._new(query, callback)
        return Handle(self, self.engine.add_query(query, call=new.call, start=new.start, end=new.end))

    @gated
    def add_queries(self, queries: Iterable[Query | Mapping[str, Any]]) -> dict[str, Handle]:
        """Start many queries at once, which is much quicker than one after the other. Returns their handles, by name.

        * `queries`: mappings of the arguments of `Session.query`, or `headgate.model.Query` as for `add_query`.

        All of them are checked before the first one starts. If one is refused, `HeadgateError` says which and why, and
        none is started.

        >>> sql = "SELECT machine, temp FROM readings WHERE temp >"
        >>> above = hg.add_queries({"name": f"above-{limit}", "sql": f"{sql} {limit}"} for limit in (70, 80))
        >>> sorted(above)
        ['above-70', 'above-80']
        """
        classes = self.engine.overview().classes
        new = [self._one_of_many(each, classes) for each in queries]
        if any(not each.query.query_class for each in new):  # last, since it may create the class
            usual = self.engine.default_class()
            new = [each if each.query.query_class else each.of_class(usual) for each in new]
        self.engine.add_queries(new)
        views = {view.query.name: view for view in self.engine.overview().queries}
        return {each.query.name: Handle(self, views[each.query.name]) for each in new}

    def _one_of_many(self, given: Query | Mapping[str, Any], classes: Mapping[str, QueryClass]) -> NewQuery:
        if isinstance(given, Query):
            with named(given.name):
                return self._new(given, None)
        settings = arguments.query_arguments(given)
        with named(str(settings["name"])):
            callback = settings.pop("callback", None)
            arguments.function(callback, "callback")
            query = new_query(self.engine, **settings, classes=classes)
            return self._new(query if callback is None else replace(query, sink="callback"), callback)

    def _new(self, query: Query, callback: Callable[[pa.Table], object] | None) -> NewQuery:
        arguments.start_and_end(query.start, query.end)
        arguments.check_callback(query.sink, callback)
        now = self.engine.now()
        start = now + query.start if query.start > 0 else None
        return NewQuery(query, callback, start, now + query.end if query.end < inf else None)

    @gated
    def plan(self, sql: str) -> Operator:
        """What some SQL over the streams and tables of this session becomes: a tree of `headgate.model.Operator`.

        `HeadgateError` says which part of the SQL is refused, and why.

        >>> hg.plan("SELECT machine FROM alarms WHERE level > 3").kind.value
        'project'
        """
        return plan_for(self.engine, "", sql)

    @gated
    def __getitem__(self, name: str) -> Handle:
        """The `Handle` of a query, by its name.

        >>> hg["hot"].name
        'hot'
        """
        with located("query"):
            text(name, "fire")
        return Handle(self, self.engine.query(name))

    @property
    @gated
    def queries(self) -> dict[str, Handle]:
        """The handles of all queries, by name.

        >>> sorted(hg.queries)
        ['above-70', 'above-80', 'colours', 'hot', 'loud', 'peaks', 'where']
        """
        return {view.query.name: Handle(self, view) for view in self.engine.overview().queries}

    @property
    @gated
    def streams(self) -> dict[str, Stream]:
        """All streams as `headgate.model.Stream`, by name.

        >>> sorted(hg.streams)
        ['alarms', 'drawn', 'readings']
        >>> hg.streams["readings"].columns
        ('machine', 'temp', 'ts')
        """
        return dict(self.engine.streams)

    @gated
    def warm(self, timeout: float | str | None = "20 s", progress: Progress | None = None) -> int:
        """Warm Spark up: run the jobs of all queries on made-up rows, those of the most important classes first.

        The first job of a query takes seconds, since Spark and Java prepare its code; later ones take a fraction. Call
        this after declaring queries and before rows come. Nothing is written and nothing is counted.

        * `timeout`: how long it may take; what is left then is skipped. None: no limit.
        * `progress`: a function that is told how many jobs are done, and of how many.

        Returns how many queries, or groups of queries that share a job, have been warmed up.

        >>> hg.warm(timeout="5 s") > 0
        True
        """
        arguments.function(progress, "progress")
        limit = arguments.timeout(timeout)
        return self.engine.warm(inf if limit is None else limit, progress)

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
        """Append rows to a stream. When this returns they are on disk, and no crash loses them.

        * `stream`: the stream's name.
        * `rows`: a list of mappings or JSON texts; an Arrow table; a DataFrame of pandas, polars or anything else that
          speaks Arrow. In a mapping, a missing field is null; a table must have all columns. Other fields are left out.
        * `timeout`: how long to wait if a query's lag limit makes sources wait.

        Returns how many rows were accepted. The others are dead letters with a reason. A late row is accepted, for
        queries without windows, and also leaves a dead letter.

        >>> at = "2026-01-01T12:00"
        >>> rows = [
        ...     {"machine": "oven", "temp": 97.5, "ts": f"{at}:01Z"},
        ...     {"machine": "press", "temp": 61, "ts": f"{at}:02Z"},
        ...     {"machine": "press", "temp": "warm", "ts": f"{at}:03Z"},  # a dead letter
        ... ]
        >>> hg.append("readings", rows)
        2
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
    def push(
        self,
        stream: str,
        rows: pa.Table | Iterable[Mapping[str, object] | str] | Read,
        *,
        batch: str | None = None,
        timeout: float | str | None = None,
    ) -> Pushed:
        """Append rows to a stream as `append` does, once even if it is repeated, and tell what became of them.

        * `stream`: the stream's name.
        * `rows`: as for `append`, or a pair of an Arrow table and a list of (text, reason): records that are no rows,
          as the parsers of `headgate.spark.ingest.parsing.pushed` give them.
        * `batch`: an id of your own. A push whose id the stream remembers changes nothing, also after a crash. A stream
          remembers the ids of all batches of which it keeps rows, and of the 1000 batches before these.
        * `timeout`: how long to wait if a query's lag limit makes sources wait; after that, `BusyError`.

        Returns an object with `accepted`, `rejected` (dead letters now), `late` (accepted) and `repeated`.

        >>> hg.push("alarms", ['{"machine": "oven", "level": 1}', "{"], batch="a-1")
        Pushed(accepted=1, rejected=1, late=0, repeated=False)
        >>> hg.push("alarms", ['{"machine": "oven", "level": 1}', "{"], batch="a-1")
        Pushed(accepted=1, rejected=1, late=0, repeated=True)
        """
        check_known("stream", stream, self.engine.streams)
        table, bad = arguments.pushed(rows, lambda listed: to_table(listed, self.engine.streams[stream]))
        identity = None if batch is None else f"push {arguments.batch_id(batch)}"
        self.engine.wait_for_room(stream, arguments.timeout(timeout))
        return self.engine.push(stream, table, bad, identity)

    @gated
    def replay(self, stream: str, reason: str = "") -> LetterReplay:
        """Append a stream's dead letters to it again, with the checks of any append.

        * `stream`: the stream's name.
        * `reason`: only letters whose reason contains this text.

        Returns an object with `taken` (how many are rows of the stream now), `dead_again` and `left` (by reason).

        >>> outcome = hg.replay("readings")
        >>> outcome.taken, dict(outcome.dead_again)
        (0, {"column 'temp': 'warm' is not a number": 1})
        """
        check_known("stream", stream, self.engine.streams)
        if reason != "":
            with located("reason"):
                text(reason, "late")
        return self.engine.replay(stream, reason)

    @gated
    def finish(self, stream: str) -> None:
        """End a stream: all its windows close, so that their results come. Rows that are appended later are late.

        A stream whose source has ended, such as a folder with `end=true`, ends by itself.

        >>> hg.finish("readings")
        >>> peaks.wait(rows=2, timeout="1 min").sort_by("machine")["peak"].to_pylist()
        [97.5, 61.0]
        """
        self.engine.finish(check_known("stream", stream, self.engine.streams))

    @gated
    def drain(self, timeout: float | str | None = None) -> bool:
        """Wait until every query has taken all rows that are in its streams. Returns False if the timeout came first.

        It does not wait for sources, which may bring more, nor for windows that are open.
        A callback cannot drain its session, since that would wait for the callback.

        >>> hg.drain(timeout="1 min")
        True
        """
        if in_own_thread():
            raise HeadgateError("a callback cannot wait until all is done", hint="drain the session in another thread")
        return self.engine.drain(arguments.timeout(timeout))

    # -- scheduling, status, closing ---------------------------------------------------------------------------

    @gated
    def set_policy(self, policy: str, fuse: str | None = None) -> None:
        """Let another policy decide from now on; queries go on where they are.

        * `policy`: a name with settings, as "hnr, train=500", or a file and class of your own, as "./mine.py:Mine".
        * `fuse`: which queries share a Spark job: "class", "all" or "off"; without it, as before.

        `HeadgateError` if the policy is unknown, or needs what queries lack, such as a `qos`.

        >>> hg.set_policy("mbd, inversion=dsp", fuse="class")
        """
        scope = None if fuse is None else arguments.fusion(fuse)
        load_policies(arguments.policy(policy))
        self.engine.set_policy(policy, scope)

    @gated
    def set_priority(self, query_class: str, priority: float) -> None:
        """Change the priority of a class, for all its queries.

        * `query_class`: the name of the class.
        * `priority`: a number above 0; larger is more important.

        >>> hg.set_priority("critical", 80)
        """
        self.engine.change_class(query_class, {"priority": priority})

    @gated
    def status(self) -> Status:
        """How everything is doing now, as a `Status`; a notebook shows it as a table.

        It has numbers for each class and query, what each worker does, and what has failed.

        >>> status = hg.status()
        >>> {line.name: line.tuples_out for line in status.queries if line.query_class == "critical"}
        {'hot': 1, 'loud': 0}
        >>> status.dead_letters["readings"]
        1
        """
        self.engine.check_spark()
        return self._status()

    @gated
    def report(self, last: float | str | None = None, *, equal_inverts: bool = False) -> Report:
        """Every measure that the simulator has, over the newest results: response times, slowdowns, QoS, inversion.

        * `last`: only results of the last seconds.
        * `equal_inverts`: whether a class that answers just as late as a less important one is inverted, too.

        Returns a `headgate.metrics.Report`; docs/judging.md explains its numbers.

        >>> hg.report().classes["critical"].response_time.p95 > 0
        True
        """
        now = self.engine.now()
        length = arguments.timeout(last)
        since = -inf if length is None else now - length
        equal = arguments.flag(equal_inverts, "equal_inverts")
        return report(self.engine.overview(), now, since, equal_inverts=equal)

    def _status(self) -> Status:
        sources = self.sources.thread
        return replace(
            status(self.engine, self._began), source_errors=dict(sources.errors), source_notes=dict(sources.notes)
        )

    def close(self, timeout: float | str | None = None) -> Status:
        """Let running jobs end, deliver results to their sinks and release everything. Returns the last `Status`.

        * `timeout`: how long jobs may take to end, before they are cancelled; sinks get as long again. The next session
          on the directory does cancelled runs again. Without one, jobs get five minutes.

        Rows that were appended are safe even if this fails, as on a full disk. A second call does nothing more.
        Afterwards every call is refused, except a handle's `name`, `schema` and, with a `directory`, `read`.

        >>> hg.close().policy
        'mbd, inversion=dsp'
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
                self.sources.thread.close()
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
