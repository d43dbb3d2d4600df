"""Running a workload file on Spark: open a session with its streams, tables, classes and queries, and apply changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headgate.model import HeadgateError, Query, Stream, Table
from headgate.spark.ingest.sources import open_source
from headgate.spark.session import Session
from headgate.spark.sinks.registry import is_file
from headgate.spark.workload_checks import engine_problems
from headgate.workload import Change, Workload

Action = Callable[[Session], object]


def open_workload(workload: Workload, **settings: Any) -> Session:
    """A session with all that a workload has at the start; sources are opened last, so that no query misses tuples.

    The settings are those of `Session`. A stream whose log says that it has ended gets no source.
    """
    directory = settings.get("directory")
    check_workload(workload, None if directory is None else Path(directory))
    session = Session(**{"seed": workload.seed, **settings})
    try:
        _declare(session, workload)
        for query in workload.queries:
            start_query(session, query)
        _open_sources(session, workload)
    except BaseException:
        session.close()
        raise
    return session


def check_workload(workload: Workload, directory: Path | None = None) -> None:
    """Refuse what the engine cannot run, before Spark takes its time to start."""
    for error in engine_problems(workload, directory=directory):
        raise error


def start_query(session: Session, query: Query) -> None:
    """Start a query of a workload; its result folder exists even before its first result."""
    try:
        session.add_query(query)
    except HeadgateError as error:
        place = f"query '{query.name}'"
        raise (error if place in error.message else error.at(place)) from None
    if is_file(query.sink):
        session.engine.directory.result(query.name).mkdir(exist_ok=True)


def ended_before(session: Session) -> list[str]:
    """Streams that ended in an earlier session on the same directory."""
    return [name for name, log in session.engine.logs.items() if log.finished_at is not None]


@dataclass(slots=True)
class Schedule:
    """The [[change]] entries of a workload that the engine can apply, to queries, classes and policy, by time."""

    due: list[tuple[float, Action]]

    @classmethod
    def of(cls, workload: Workload) -> Schedule:
        actions = [(change.at, action) for change in workload.changes if (action := _action(change)) is not None]
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


def _declare(session: Session, workload: Workload) -> None:
    for stream in workload.streams:
        session.engine.add_stream(stream)
    for table in workload.tables:
        session.engine.add_table(_from(workload.directory, table))
    for query_class in workload.classes:
        session.engine.add_class(query_class)


def _from(directory: Path, table: Table) -> Table:
    """The table with a path relative to the workload file made absolute."""
    if table.path is None or "://" in table.path:
        return table
    return replace(table, path=str((directory / table.path).absolute()))


def _open_sources(session: Session, workload: Workload) -> None:
    ended = ended_before(session)
    began = session.engine.now()
    opened = {
        stream.name: open_source(_source(stream), stream, workload.directory, workload.seed, began)
        for stream in workload.streams
        if stream.name not in ended
    }
    for name, reader in opened.items():
        session.source_thread.add(name, reader)


def _source(stream: Stream) -> str:
    """The source of a stream; without one, synthetic tuples with the simulator's arrivals."""
    text = stream.source or stream.arrivals
    assert text is not None, "the reader of workloads refuses a stream without either"
    return text


def _action(change: Change) -> Action | None:
    policy, query_class, priority, query = change.policy, change.query_class, change.priority, change.query
    if policy is not None:
        return lambda session: session.set_policy(policy)
    if query_class is not None and priority is not None:
        return lambda session: session.set_priority(query_class, priority)
    if query is not None and query_class is not None:
        return lambda session: session[query].move(query_class)
    return None
