"""Running a workload file on Spark: a session with its streams, tables, classes and queries, and its timed changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headgate.model import HeadgateError, Query, Stream, TableJoin, walk
from headgate.model.values import located
from headgate.plan.sql import plan_sql
from headgate.spark import arguments
from headgate.spark.compile.declared_tables import described_table
from headgate.spark.compile.prepared_query import prepare_query
from headgate.spark.compile.schemas import arrow_schema
from headgate.spark.compile.stored_tables import read_table
from headgate.spark.engine.engine import Progress
from headgate.spark.handle import Handle
from headgate.spark.jvm.settings import own_session
from headgate.spark.machine.commands import check_columns
from headgate.spark.session import Session
from headgate.spark.sinks.registry import is_file
from headgate.spark.sinks.table import check_sink
from headgate.spark.store.atomic_files import safe_name
from headgate.spark.store.log.files import check_stored
from headgate.spark.workload_changes import Changes, located_table, planned_changes, workload_source
from headgate.spark.workload_checks import engine_problems
from headgate.workload import Change, Workload

Action = Callable[[Session], object]


def open_workload(
    workload: Workload,
    *,
    warm: bool | float | str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Session:
    """A session with all that a workload says; on a directory that has been used before, it makes the difference.

    The settings are those of `Session`. Nothing runs and nothing is read until everything is declared and, with `warm`,
    Spark is warmed up, so that no query misses tuples; `progress` is told how far that is. A stream that has ended is
    not read again.
    """
    arguments.warm(warm)
    path = None if settings.get("directory") is None else Path(settings["directory"])
    check_workload(workload, path)
    found = Changes() if path is None else planned_changes(workload, path)
    if path is not None:
        _check_on_spark(workload, found, path, settings.get("spark"))
        found.write(path)
    seeded = {"seed": workload.seed, **settings}
    return _opened(lambda session: _declare(session, workload, found), warm, progress, seeded)


def open_directory(
    *, warm: bool | float | str | None = None, progress: Progress | None = None, **settings: Any
) -> Session:
    """A session with what its directory remembers; `warm` and `progress` as for `open_workload`."""
    return _opened(lambda session: None, warm, progress, settings)


def _opened(declare: Action, warm: object, progress: Progress | None, settings: Mapping[str, Any]) -> Session:
    limit, session = arguments.warm(warm), Session(held=True, **settings)
    try:
        declare(session)
        if limit:
            session.warm(limit, progress)
        session.begin()
    except BaseException:
        session.close()
        raise
    return session


def _check_on_spark(workload: Workload, found: Changes, path: Path, spark: SparkSession | None) -> None:
    """Refuse what only Spark can tell to be wrong, before anything is changed; without a Spark nobody can tell yet."""
    if spark is None or found.fresh:
        return
    added = {(line.kind, line.name) for line in found.lines if line.sign == "+"}
    streams = {stream.name: stream for stream in workload.streams}
    for stream in workload.streams:
        if ("stream", stream.name) in added:
            check_stored(path / "streams" / safe_name(stream.name), stream, arrow_schema(stream))
    changed = [query for query in workload.queries if ("query", query.name) in added or query.name in found.other_sql]
    read = {node.table for query in changed for node in walk(query.plan) if isinstance(node, TableJoin)}
    tables = {
        table.name: read_table(spark, located_table(workload, table)) for table in workload.tables if table.name in read
    }
    try:
        _check_queries(spark, changed, found.other_sql, streams, tables)
    finally:
        for frame in tables.values():
            frame.unpersist()  # the engine reads them again, and keeps them


def _check_queries(
    spark: SparkSession,
    changed: Sequence[Query],
    other_sql: Mapping[str, str],
    streams: Mapping[str, Stream],
    tables: Mapping[str, DataFrame],
) -> None:
    """Refuse queries that Spark or their sink refuses, and other SQL whose results have other columns."""
    described = {name: described_table(name, frame.schema) for name, frame in tables.items()}
    own = own_session(spark)
    for query in changed:
        with located(f"query '{query.name}'"):
            now = prepare_query(own, query.plan, streams, tables).schema
            check_sink(spark, query.sink, now)
        if query.name in other_sql:
            try:
                plan = plan_sql(other_sql[query.name], streams, described)
                before = prepare_query(own, plan, streams, tables).schema
            except HeadgateError:  # it reads what is no longer in the file: the engine will compare
                continue
            check_columns(query.name, before, now)


def check_workload(workload: Workload, directory: Path | None = None) -> None:
    """Refuse what the engine cannot run, before Spark takes its time to start."""
    for error in engine_problems(workload, directory=directory):
        raise error


def ended_before(session: Session) -> list[str]:
    """Streams that ended in an earlier session on the same directory."""
    return [name for name, log in list(session.engine.logs.items()) if log.finished_at is not None]


@dataclass(slots=True)
class Schedule:
    """The [[change]] entries of a workload that the engine can apply, to queries, classes and policy, by time."""

    due: list[tuple[float, Action]]

    @classmethod
    def of(cls, changes: Iterable[Change]) -> Schedule:
        actions = [(change.at, action) for change in changes if (action := _action(change)) is not None]
        return cls(sorted(actions, key=lambda timed: timed[0]))

    def is_due(self, seconds: float) -> bool:
        """Whether a change is due so many seconds after the start."""
        return bool(self.due) and self.due[0][0] <= seconds

    def advance(self, session: Session, seconds: float) -> list[str]:
        """Apply the changes that are due so many seconds after the start; returns why some were refused.

        A change that does not fit any more, as of a query that has been stopped, must not end a run.
        """
        refused = []
        while self.is_due(seconds):
            at, action = self.due.pop(0)
            try:
                action(session)
            except HeadgateError as error:
                refused.append(f"the change at {at:g} s was left out: {error}")
        return refused


def left_out(changes: Iterable[Change]) -> int:
    """How many changes only the simulator can apply: those of rates, costs and selectivities."""
    return sum(_action(change) is None for change in changes)


def _declare(session: Session, workload: Workload, found: Changes) -> None:
    """Declare everything; what is there already stays as it is, and goes on."""
    for stream in workload.streams:
        session.engine.add_stream(stream, workload_source(workload, stream))
    for table in workload.tables:
        session.engine.add_table(located_table(workload, table))
    for query_class in workload.classes:
        session.engine.add_class(query_class)
    for query in workload.queries:
        if query.name in found.other_sql:
            _replace(session[query.name], str(query.sql))
    session.add_queries(workload.queries)
    for query in workload.queries:
        if is_file(query.sink):  # its result folder exists even before its first result
            session.engine.directory.result(query.name).mkdir(exist_ok=True)


def _replace(handle: Handle, sql: str) -> None:
    """Give a query other SQL; nothing runs yet, so a paused one can be resumed for it, which opens its fragments."""
    paused = handle.status.state == "paused"
    if paused:
        handle.resume()
    handle.replace(sql)
    if paused:
        handle.pause()


def _action(change: Change) -> Action | None:
    policy, query_class, priority, query = change.policy, change.query_class, change.priority, change.query
    if policy is not None:
        return lambda session: session.set_policy(policy)
    if query_class is not None and priority is not None:
        return lambda session: session.set_priority(query_class, priority)
    if query is not None and query_class is not None:
        return lambda session: session[query].move(query_class)
    return None
