"""What a workload file changes in a data directory that has been used before: a plan of the differences.

All changes are one commit, written before the engine is opened, so all of them are made or none. Only other SQL needs
the engine, which finds the place where the new SQL goes on.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any

from headgate.model import HeadgateError, Query, Stream, Table, folded
from headgate.plan.fusion import Fuse
from headgate.spark.arguments import table_path
from headgate.spark.engine.catalog_entries import SourceText, stream_entry
from headgate.spark.machine.declarations import class_entry
from headgate.spark.machine.definitions import CLASSES, SETTINGS, STREAMS, TABLES, definition, shown
from headgate.spark.sinks.table import needs_callback
from headgate.spark.store.atomic_files import read_json
from headgate.spark.store.commits.commit_log import CommitLog, read_state
from headgate.spark.store.commits.records import Commit, CommittedState
from headgate.spark.store.directory import VERSION, DataDirectory, check_version
from headgate.spark.store.former_formats import former_catalog
from headgate.workload import Workload

Entry = Mapping[str, Any]

_FIXED = {  # of streams: what cannot change, and why
    "schema": "the tuples in its log have these columns",
    "event_time": "its windows were closed by it",
    "watermark": "windows that have closed would close again",
}


@dataclass(frozen=True, slots=True)
class PlanLine:
    """One line of the plan: "+" is new, "~" changes, "-" goes."""

    sign: str
    kind: str
    name: str
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        details = f": {', '.join(self.details)}" if self.details else ""
        return f"{self.sign} {self.kind} {self.name}{details}"


@dataclass(slots=True)
class Changes:
    """Everything that a workload changes in a directory."""

    lines: list[PlanLine] = field(default_factory=list)
    commit: Commit = field(default_factory=Commit)
    other_sql: dict[str, str] = field(default_factory=dict)  # what queries have now whose SQL changes
    fresh: bool = True  # nothing was declared in the directory before

    def write(self, path: Path) -> None:
        """Commit what needs no engine."""
        if not (self.commit.catalog or self.commit.queries):
            return
        with DataDirectory(path) as directory:
            log = CommitLog(directory.commits)
            try:
                log.append(self.commit)
            finally:
                log.close()


def stored_state(path: Path) -> CommittedState:
    """What the commits of a directory say, without opening it; a new one has nothing."""
    file = path / "headgate.json"
    if not file.is_file():
        return CommittedState()
    version = read_json(file).get("format")
    check_version(version, file)
    state = read_state(path / "commits")
    if version != VERSION:
        state.catalog = former_catalog(path / "streams", state)
    return state


def planned_changes(workload: Workload, path: Path, policy: str | None = None, fuse: Fuse | None = None) -> Changes:
    """What a workload changes in a directory; what cannot change is refused, with the reason and what to do."""
    state = stored_state(path)
    settings = state.catalog.get(SETTINGS, {})
    catalog: dict[str, dict[str, Any]] = {}
    found = Changes(fresh=not state.queries and not state.catalog.get(STREAMS))
    for kind, singular, entries in (
        (STREAMS, "stream", _stream_entries(workload, state)),
        (TABLES, "table", {table.name: _table_entry(workload, table) for table in workload.tables}),
        (CLASSES, "class", {query_class.name: class_entry(query_class) for query_class in workload.classes}),
    ):
        if changed := _compare(found, singular, state.catalog.get(kind, {}), entries):
            catalog[kind] = changed
    queries = _queries(found, workload, state)
    if found.other_sql:  # the engine finds their places with the old SQL, which may read what goes
        _check_kept(_keep(catalog), workload)
    for name, given in (("policy", policy), ("fuse", None if fuse is None else fuse.value)):
        if given is not None and name in settings and settings[name] != given:
            found.lines.append(PlanLine("~", name, f"{shown(settings[name])} → {shown(given)}"))
    found.commit = Commit(catalog=catalog, queries=queries)
    return found


def _keep(catalog: dict[str, dict[str, Any]]) -> frozenset[str]:
    """Leave streams and tables that go in the catalog until the next time, and return their names."""
    kept = {name for kind in (STREAMS, TABLES) for name, entry in catalog.get(kind, {}).items() if entry is None}
    for kind in {STREAMS, TABLES} & catalog.keys():
        catalog[kind] = {name: entry for name, entry in catalog[kind].items() if entry is not None}
    return frozenset(kept)


def _check_kept(kept: frozenset[str], workload: Workload) -> None:
    """Refuse a stream or table whose name SQL could not tell from one that is still there."""
    taken = {folded(name): name for name in kept}
    for name in (*(stream.name for stream in workload.streams), *(table.name for table in workload.tables)):
        if folded(name) in taken:
            raise HeadgateError(
                f"'{name}' and '{taken[folded(name)]}', which queries have read so far, are one name to SQL",
                hint="give it a name that differs in more than case, or choose another data directory",
            )


def _compare(found: Changes, kind: str, before: Mapping[str, Entry], now: Mapping[str, Entry]) -> dict[str, Any]:
    """Note the difference, and return the entries to commit; new streams and tables are declared later."""
    changed: dict[str, Any] = {}
    for name, entry in now.items():
        if name not in before:
            found.lines.append(PlanLine("+", kind, name))
            if kind == "class":  # queries may move to it
                changed[name] = entry
            continue
        details = _details(before[name], entry)
        if details:
            found.lines.append(PlanLine("~", kind, name, details))
            former = {key: said for key, said in before[name].items() if key != "columns"}  # of a table: read again
            changed[name] = {**former, **entry}
    for name in before:
        if name not in now:
            found.lines.append(PlanLine("-", kind, name))
            changed[name] = None
    return changed


def _details(before: Entry, now: Entry) -> tuple[str, ...]:
    """What is different, entry by entry; an older format did not say all of it before."""
    return tuple(
        f"{key} {shown(before[key])} → {shown(entry)}" if key in before else f"{key} {shown(entry)}"
        for key, entry in now.items()
        if before.get(key) != entry
    )


# -- streams and tables --------------------------------------------------------------------------------------------


def _stream_entries(workload: Workload, state: CommittedState) -> dict[str, dict[str, Any]]:
    stored = state.catalog.get(STREAMS, {})
    entries = {}
    for stream in workload.streams:
        before = stored.get(stream.name)
        entries[stream.name] = entry = stream_entry(stream, workload_source(workload, stream), before)
        if before is not None:
            _check_fixed(stream.name, before, entry)
            for key in {"folder", "given"} & before.keys():  # neither belongs to the new source
                entry.setdefault(key, None)
    return entries


def _check_fixed(name: str, before: Entry, now: Entry) -> None:
    """Refuse changes that the log of a stream does not allow."""
    for key, reason in _FIXED.items():
        if before[key] != now[key]:
            raise HeadgateError(
                f"stream '{name}' cannot change its {key} from {_with_unit(key, before)} to {_with_unit(key, now)}: "
                f"{reason}",
                hint="give it another name, or choose another data directory",
            )


def _with_unit(key: str, entry: Entry) -> str:
    return shown(entry[key]) + (" s" if key == "watermark" else "")


def workload_source(workload: Workload, stream: Stream) -> SourceText:
    """Where a stream of a workload is read; without a source, synthetic tuples with the simulator's arrivals."""
    text = stream.source or stream.arrivals
    assert text is not None, "the reader of workloads refuses a stream without either"
    return SourceText(text, workload.directory)


def located_table(workload: Workload, table: Table) -> Table:
    """The table with a path relative to the workload file made absolute."""
    return table if table.path is None else replace(table, path=table_path(table.path, workload.directory))


def _table_entry(workload: Workload, table: Table) -> dict[str, Any]:
    located = located_table(workload, table)
    return {"path": located.path, "given": False, "schema": [list(column) for column in located.schema]}


# -- queries -------------------------------------------------------------------------------------------------------


def _queries(found: Changes, workload: Workload, state: CommittedState) -> dict[str, Any]:
    """Note the difference of queries, and return the descriptions to commit; other SQL is left to the engine."""
    changed: dict[str, Any] = {}
    for query in workload.queries:
        before = state.queries.get(query.name)
        if before is None:
            found.lines.append(PlanLine("+", "query", query.name))
            continue
        now = _changed_definition(query, before)
        if not now:
            continue
        if "sql" in now:
            found.other_sql[query.name] = str(before["sql"])
        if "sink" in now and needs_callback(before.get("sink")):
            raise HeadgateError(
                f"query '{query.name}' gives its results to a callback, which may not have taken all of them",
                hint="give it its callback once more in Python, stop it there, or give the new query another name",
            )
        details = [detail for detail in _details(before, now) if not detail.startswith("sql ")]
        found.lines.append(PlanLine("~", "query", query.name, (*(["other SQL"] if "sql" in now else []), *details)))
        changed[query.name] = {**before, **now, "sql": before["sql"], **_new_times(query, before, now)}
    for name in state.queries:
        if name not in {query.name for query in workload.queries}:
            found.lines.append(PlanLine("-", "query", name, ("its results stay",)))
            changed[name] = None
    return changed


def _changed_definition(query: Query, before: Entry) -> dict[str, Any]:
    """The entries of a query's definition that are different now and still matter."""
    begun = "starts" in before
    now = {
        key: entry
        for key, entry in definition(query).items()
        if before.get(key, _UNSAID.get(key)) != entry and not (begun and key in ("since", "start"))
    }
    if begun and query.once != ("until" in before):
        kind = "one-time" if "until" in before else "continuous"
        raise HeadgateError(
            f"query '{query.name}' is a {kind} query in the data directory, and windows of the other kind close at "
            "other times",
            hint="give it another name, or choose another data directory",
        )
    if begun:
        now.pop("once", None)
    if before.get("done"):
        now.pop("end", None)
        if "sql" in now:
            raise HeadgateError(
                f"query '{query.name}' has read all with its SQL and is done",
                hint="give other SQL another name, or take the query out of the file first",
            )
    return now


_UNSAID = {"start": 0.0}  # what descriptions of older formats do not say


def _new_times(query: Query, before: Entry, now: Entry) -> dict[str, Any]:
    """When the query starts and ends, if that has changed: as for a new query, seconds from now on."""
    moment = time.time()
    times: dict[str, Any] = {}
    if "end" in now:
        times["ends"] = None if query.end == inf else moment + query.end
    if "start" in now:
        times["begins"] = moment + query.start
    return times
