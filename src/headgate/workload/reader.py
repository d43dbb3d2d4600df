"""Reads a workload from a TOML file, or raises one error line that says what is wrong and where."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from headgate.model import (
    DEFAULT_CLASS,
    HeadgateError,
    Query,
    QueryClass,
    Stream,
    Table,
    check_relation,
    folded,
    relation,
    unknown,
)
from headgate.workload.arrivals import over, read_arrivals, usual_ahead
from headgate.workload.changes import read_change
from headgate.workload.costs import read_costs
from headgate.workload.draws import numbered
from headgate.workload.file_locations import FileLocations
from headgate.workload.problems import Problems, in_one_line
from headgate.workload.queries import Queries
from headgate.workload.schema import File, StreamSection, WorkloadSection
from headgate.workload.validation_errors import validated
from headgate.workload.workload import SOURCE_ORDERS, Workload

_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


def read_workload(path: str | Path, problems: Problems | None = None) -> Workload:
    """The workload that a file describes; with `problems` that are kept, as much of it as can be read."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise HeadgateError(reason, where=str(path), hint="name a workload file (.toml)") from None
    except UnicodeDecodeError:
        raise HeadgateError("is not UTF-8 text", where=str(path), hint="save it as UTF-8") from None
    return parse_workload(text, str(path), problems)


def parse_workload(text: str, file: str = "workload.toml", problems: Problems | None = None) -> Workload:
    r"""The workload that a text describes; `file` is its name in errors and where relative paths start.

    >>> workload = parse_workload('''
    ... stream = [{ name = "s", arrivals = "at, times=[0, 0, 0]" }]
    ... query = [{ name = "q", from = "s", operators = ["select, cost=5ms"] }]
    ... ''')
    >>> workload.name, workload.queries[0].query_class, workload.queries[0].plan.given.cost
    ('workload', 'default', 0.005)
    >>> parse_workload('[workload]\nduration = "5"', file="w.toml")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: w.toml:2: workload, duration: has no unit, found 5; write "5 s" or "5 ms"
    """
    try:
        data = _toml(text, file)
        locations = FileLocations.of(text, file, data)
        problems = problems or Problems()
        return _workload(validated(data, locations, problems), locations, problems)
    except RecursionError:
        raise HeadgateError("is nested too deeply", where=file, hint="write shorter chains and lists") from None
    except HeadgateError as error:
        raise in_one_line(error) from None


def _toml(text: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        message = str(error)
        match = _TOML_PLACE.search(message)
        line = (match[1] or str(text.rstrip().count("\n") + 1)) if match else ""
        reason = _TOML_PLACE.sub("", message)
        raise HeadgateError(
            f"is not TOML: {reason[:1].lower()}{reason[1:]}",
            where=f"{file}:{line}" if line else file,
            hint="correct the line",
        ) from None


def _workload(file: File, locations: FileLocations, problems: Problems) -> Workload:
    taken: dict[str, str] = {}  # what SQL may read
    streams = _streams(file, locations, taken, problems)
    tables = _tables(file, locations, taken, problems)
    classes = _classes(file, locations, problems)
    costs = read_costs(file.costs, locations)
    if not file.query:
        raise HeadgateError("has no query", where=locations.file, hint="add a [[query]] table")
    queries = Queries(locations, streams, tables, classes, costs, file.workload.seed)
    read_queries: list[Query] = []
    for index, section in enumerate(file.query):
        with problems.noted():
            read_queries += queries.read(section, index)
    changes = []
    for index, change in enumerate(file.change):
        if problems.found and (change.query is not None or change.operator is not None):
            continue  # what it names may be what could not be read
        with problems.noted():
            changes.append(read_change(change, index, queries))
    head, path, duration = file.workload, Path(locations.file), float("inf")
    with problems.noted():
        duration = _duration(head, streams, locations)
    return Workload(
        name=head.name or path.stem,
        duration=duration,
        streams=tuple(streams.values()),
        classes=tuple(classes.values()),
        queries=tuple(read_queries),
        tables=tuple(tables.values()),
        changes=tuple(changes),
        seed=head.seed,
        cores=head.cores,
        source_cores=head.source_cores,
        sources=_sources(head, locations),
        windows=head.windows,
        drain=head.drain,
        load=head.load,
        load_of=head.load_of,
        load_by=head.load_by,
        train=head.run_takes,
        fuse=head.fused,
        noise=head.noise,
        learn=head.statistics == "measured",
        run_overhead=head.run_overhead,
        decision_cost=head.decision_cost,
        unpriced=tuple(queries.unpriced),
        directory=path.parent,
    )


def _streams(file: File, locations: FileLocations, taken: dict[str, str], problems: Problems) -> dict[str, Stream]:
    if not file.stream:
        raise HeadgateError("has no stream", where=locations.file, hint="add a [[stream]] table")
    streams: dict[str, Stream] = {}
    for index, section in enumerate(file.stream):
        stream = _stream(section, index, locations, problems)
        with problems.noted(), locations.at("stream", index, "name"):
            for name in numbered(section.name, section.count):
                _only_one("stream", name, streams)
                check_relation("stream", name, taken)
                taken[folded(name)] = relation("stream", name)
                streams[name] = replace(stream, name=name)
    return streams


def _stream(section: StreamSection, index: int, locations: FileLocations, problems: Problems) -> Stream:
    with problems.noted(), locations.at("stream", index, "arrivals"):
        if section.arrivals is not None:
            read_arrivals(section.arrivals)
        elif section.source is None:
            raise HeadgateError("nothing arrives", hint='write for example arrivals = "poisson, rate=100"')
    with problems.noted(), locations.at("stream", index, "event_time"):
        columns = [column for column, _ in section.schema_]
        if section.event_time is not None and columns and section.event_time not in columns:
            raise unknown("column", section.event_time, columns)
    with problems.noted(), locations.at("stream", index, "watermark"):
        if section.watermark is not None and section.event_time is None:
            raise HeadgateError("a watermark needs an event time", hint='write event_time = "…", a column')
    with problems.noted(), locations.at("stream", index, "ahead"):
        if section.ahead is not None and section.event_time is None:
            raise HeadgateError("a bound on event times needs one", hint='write event_time = "…", a column')
    return Stream(
        name=section.name,
        schema=section.schema_,
        event_time=section.event_time,
        watermark=section.watermark or 0.0,
        ahead=usual_ahead(section.source or section.arrivals) if section.ahead is None else section.ahead,
        arrivals=section.arrivals,
        source=section.source,
        source_cost=section.source_cost,
        source_overhead=section.source_overhead,
        bytes=section.bytes,
    )


def _tables(file: File, locations: FileLocations, taken: dict[str, str], problems: Problems) -> dict[str, Table]:
    tables: dict[str, Table] = {}
    for index, section in enumerate(file.table):
        with problems.noted(), locations.at("table", index, "name"):
            _only_one("table", section.name, tables)
            check_relation("table", section.name, taken)
        taken[folded(section.name)] = relation("table", section.name)
        tables[section.name] = Table(name=section.name, schema=section.schema_, path=section.path)
    return tables


def _classes(file: File, locations: FileLocations, problems: Problems) -> dict[str, QueryClass]:
    classes: dict[str, QueryClass] = {}
    for index, section in enumerate(file.class_):
        with problems.noted(), locations.at("class", index, "name"):
            _only_one("class", section.name, classes)
        classes[section.name] = QueryClass(section.name, section.priority, section.lag, section.wanted)
    return classes or {DEFAULT_CLASS.name: DEFAULT_CLASS}


def _only_one(table: str, name: str, there: Mapping[str, object]) -> None:
    if name in there:
        raise HeadgateError(f"{table} '{name}' is given twice", hint=f"give every {table} its own name")


def _duration(head: WorkloadSection, streams: Mapping[str, Stream], locations: FileLocations) -> float:
    """As given; without, a workload ends with its arrivals, and one that nothing simulates does not end."""
    if head.duration is not None:
        return head.duration
    ends = {stream.name: over(stream.arrivals) for stream in streams.values() if stream.arrivals is not None}
    for name, end in ends.items():
        if end == float("inf"):
            message = f"duration is missing, and the arrivals of stream '{name}' do not say when they end"
            where = locations.where("workload", label=())
            raise HeadgateError(message, where=where, hint='write duration = "10 s" in [workload]')
    return max(ends.values(), default=float("inf"))


def _sources(head: WorkloadSection, locations: FileLocations) -> str:
    """The order in which sources are read, if there are the cores for it."""
    if head.sources and SOURCE_ORDERS[head.sources] != bool(head.source_cores):
        lacking = "without cores for sources" if head.source_cores else "with cores for sources"
        hint = "write source_cores = 0" if head.source_cores else "leave source_cores out"
        where = locations.where("workload", "sources")
        raise HeadgateError(f"'{head.sources}' is an order {lacking}", where=where, hint=hint)
    return head.sources
