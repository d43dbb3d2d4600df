"""Parsing and checking the arguments of public calls; the rules are those of workload files."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from headgate.model import HeadgateError, QoS, Stream, Target, check_name, unknown
from headgate.model.values import as_text, located, text, whole
from headgate.plan.fusion import Fuse
from headgate.spark.store.directory import check_directory
from headgate.workload.arrivals import usual_ahead
from headgate.workload.fields import check_columns, read_ahead, read_columns, read_qos, read_span, read_target

WARM = 20.0  # seconds for a warm-up, if nobody says otherwise
MOST_WORKERS = 100  # each is a thread that runs a Spark job
LONGEST_ID = 200  # characters of a batch's id, of which a log remembers thousands
_MASTER = re.compile(r"local(\[(\*|[1-9]\d*)(,\s*[1-9]\d*)?\])?|local-cluster\[.+\]|yarn|(spark|k8s)://.+")
_OF_A_QUERY = (
    *("name", "sql", "query_class", "sink", "qos", "since", "once", "start", "end", "lag", "target", "callback"),
)
_ROWS = "give a list of mappings (or JSON texts), a pyarrow.Table, or a DataFrame of pandas or polars"


def span(value: object, name: str) -> float:
    """Seconds, from a number or from text with a unit; may be infinite."""
    with located(name):
        return read_span(value)


def delay(value: object, name: str) -> float:
    """A finite number of seconds."""
    seconds = span(value, name)
    if seconds == inf:
        raise HeadgateError(f"must be finite, found {as_text(value)}", where=name, hint='write for example "5 s"')
    return seconds


def ahead(value: object, name: str) -> float:
    """How far event times may be ahead of their arrival: seconds, or "none" for no limit."""
    if isinstance(value, str):
        with located(name):
            return read_ahead(value)
    return span(value, name)


def timeout(value: object, name: str = "timeout") -> float | None:
    """Seconds to wait at most; None: no limit."""
    if value is None:
        return None
    seconds = span(value, name)
    return None if seconds > threading.TIMEOUT_MAX else seconds


def warm(value: object) -> float:
    """How many seconds a warm-up may take; False and None: there is none."""
    if value is None or isinstance(value, bool):
        return WARM if value else 0.0
    return delay(value, "warm")


def workers(value: object, name: str = "workers") -> int:
    """How many runs may be active at a time."""
    with located(name):
        return whole(value, 1, MOST_WORKERS)


def seed(value: object) -> int:
    """The seed of all random numbers."""
    with located("seed"):
        return whole(value, 0)


def policy(value: object) -> str:
    """A policy and its settings, as text."""
    with located("policy"):
        return text(value, "hnr, train=500")


def fusion(value: object) -> Fuse:
    """Which queries may share a job."""
    with located("fuse"):
        scope = text(value, "class")
    if scope not in list(Fuse):
        raise unknown("fusion", scope, list(Fuse))
    return Fuse(scope)


def flag(value: object, name: str) -> bool:
    """True or false; other values are refused, even 0 and 1."""
    with located(name):
        if not isinstance(value, bool):
            raise HeadgateError(f"must be true or false, found {as_text(value)}", hint=f"write {name}=True")
        return value


def function(value: Any, name: str) -> None:
    """Refuse what cannot be called; None means that no function was given."""
    if value is not None and not callable(value):
        raise HeadgateError(f"must be a function, found {as_text(value)}", where=name, hint="give one, or leave it out")


def query_arguments(given: object) -> dict[str, Any]:
    """The arguments of `Session.query` in a mapping; refuses what is none, others, and one without name or SQL.

    >>> query_arguments({"name": "hot", "class": "critical"})
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: unknown argument of a query 'class'; did you mean 'query_class'?
    """
    if not isinstance(given, Mapping):
        hint = 'give a mapping such as {"name": "hot", "sql": "SELECT …"}, or a headgate.model.Query'
        raise HeadgateError(f"a query must be a mapping of arguments, found {as_text(given)}", hint=hint)
    for key in given:
        if key not in _OF_A_QUERY:
            raise unknown("argument of a query", str(key), _OF_A_QUERY)
    for key in ("name", "sql"):
        if key not in given:
            raise HeadgateError(f"a query has no {key}", where=f"query {as_text(given.get('name'))}", hint="add it")
    return dict(given)


def which_spark(spark: object, master_url: object, directory: object) -> tuple[SparkSession | None, str]:
    """The running Spark that was given, if any, and else the URL of the master on which to start one."""
    given = None if spark is None else running_spark(spark)
    url = master(master_url, "given" if given is not None else directory)
    if given is not None:
        check_shared(str(given.sparkContext.master), directory)
    return given, url


def master(value: object, directory: object) -> str:
    """The URL of a Spark master. A cluster needs a shared directory, since its executors read and write files there."""
    with located("master"):
        url = text(value, "local[*]")
        if _MASTER.fullmatch(url) is None:
            hint = 'write "local[*]", "local[4]", "spark://host:7077", "yarn" or "k8s://…"'
            raise HeadgateError(f"'{url}' is no master of Spark", hint=hint)
    check_shared(url, directory)
    return url


def check_shared(master: str, directory: object) -> None:
    """Refuse a cluster without a directory that all its machines see."""
    if directory is None and not master.startswith("local"):
        raise HeadgateError(
            "on a cluster a session needs a directory that all machines share",
            where=f"master {master}",
            hint="give directory=, a path on shared storage",
        )


def running_spark(value: object) -> SparkSession:
    """A Spark session that can be used: not of Spark Connect, and not stopped."""
    if not isinstance(value, SparkSession):
        kind = "a Spark Connect session" if "connect" in type(value).__module__ else as_text(value)
        raise HeadgateError(
            f"must be a SparkSession, found {kind}", where="spark", hint="leave it out for one of our own"
        )
    context: Any = value.sparkContext
    if context._jsc is None:
        raise HeadgateError("the Spark session has been stopped", where="spark", hint="start another one")
    return value


def folder(value: object) -> Path | None:
    """The data directory, if it can be opened; None: a temporary one."""
    if value is None:
        return None
    if not isinstance(value, str | os.PathLike) or not str(value).strip():
        shown = as_text(value) if not isinstance(value, str) else "no path"
        raise HeadgateError(
            f"must be a path, found {shown}", where="directory", hint="leave it out for a temporary one"
        )
    path = Path(os.fsdecode(value))
    check_directory(path)
    return path


def columns(value: Any) -> tuple[tuple[str, str], ...]:
    """A stream's columns and their types: text as in the file, or pairs."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return _pairs(value)
    with located("schema"):
        return read_columns(text(value, "id bigint, temp double, ts timestamp"))


def _pairs(value: Sequence[Any]) -> tuple[tuple[str, str], ...]:
    with located("schema"):
        for pair in value or ("nothing",):
            if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
                hint = 'write for example "id bigint, ts timestamp" or [("id", "bigint"), ("ts", "timestamp")]'
                raise HeadgateError(f"must be columns and their types, found {as_text(pair)}", hint=hint)
        return check_columns([(name, kind) for name, kind in value])


def table_path(path: str, directory: Path = Path()) -> str:
    """The path of a table's file or folder, made absolute: Java keeps the folder in which it was started.

    >>> table_path("hdfs://host/halls"), table_path("halls.csv", Path("/data"))
    ('hdfs://host/halls', '/data/halls.csv')
    """
    return path if "://" in path else str((directory / path).absolute())


def stream(
    name_given: object, schema: object, source: str | None, event_time: object, watermark: object, ahead_given: object
) -> Stream:
    """A stream as it is declared in a call."""
    return Stream(
        name=name(name_given, "stream"),
        schema=columns(schema),
        event_time=optional_text(event_time, "event_time", "ts"),
        watermark=delay(watermark, "watermark"),
        ahead=usual_ahead(source) if ahead_given is None else ahead(ahead_given, "ahead"),
        source=source,
    )


def optional_text(value: object, name: str, example: str) -> str | None:
    """Text that may be left out."""
    if value is None:
        return None
    with located(name):
        return text(value, example)


def name(value: object, kind: str) -> str:
    """The name of a new stream, table, class or query."""
    return check_name(value, f"the name of a {kind}")


def quality(value: Any) -> QoS | None:
    """A QoS graph; points may be any sequences of two numbers."""
    if value is None:
        return None
    with located("qos"):
        several = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
        points = [list(point) if isinstance(point, tuple) else point for point in value] if several else value
        return read_qos(points)


def target(value: object) -> Target | None:
    """How soon results are wanted: text as in the file, or a number of seconds."""
    if value is None:
        return None
    with located("target"):
        if isinstance(value, int | float) and not isinstance(value, bool):
            return Target.parse(f"{read_span(value):.12g} s")
        return read_target(value)  # type: ignore[arg-type]


def start_and_end(start: object, end: object) -> tuple[float, float]:
    """When a query starts and ends, in seconds from now."""
    first, last = span(start, "start"), span(end, "end")
    if first == inf or not last > first:
        raise HeadgateError(f"a query cannot start at {first:g} s and end at {last:g} s", hint="let end be after start")
    return first, last


def rows(value: Any) -> pa.Table | list[Any]:
    """Rows for `append`: a table, or a list of mappings and JSON texts."""
    if isinstance(value, pa.Table):
        return value
    if isinstance(value, pa.RecordBatch):
        return pa.Table.from_batches([value])
    if hasattr(value, "__arrow_c_stream__"):
        return _from_arrow(value)
    if isinstance(value, Mapping):
        raise HeadgateError("append takes rows, found one mapping", hint="put it in a list: [row]")
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise HeadgateError(f"append takes rows, found {as_text(value)}", hint=_ROWS)
    listed = list(value)
    for place, row in enumerate(listed):
        if not isinstance(row, Mapping | str):
            raise HeadgateError(f"append takes rows, found {as_text(row)} at place {place}", hint=_ROWS)
    return listed


def pushed(value: Any, parse: Callable[[list[Any]], tuple[pa.Table, list[Any]]]) -> tuple[pa.Table, list[Any]]:
    """Rows for `push`: as for `append`, or a table together with records that are no rows; `parse` reads a list."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], pa.Table):
        return value[0], list(value[1])
    checked = rows(value)
    return (checked, []) if isinstance(checked, pa.Table) else parse(checked)


def batch_id(value: Any) -> str:
    """The id of a batch."""
    with located("batch"):
        found = text(value, "2026-01-01-0007")
        if not 0 < len(found) <= LONGEST_ID:
            raise HeadgateError(f"must have 1 to {LONGEST_ID} characters, found {len(found)}", hint="give a short id")
    return found


def _from_arrow(value: Any) -> pa.Table:
    try:
        return pa.table(value)
    except (pa.ArrowException, TypeError, ValueError) as error:
        line = next(iter(str(error).splitlines()), type(error).__name__)
        raise HeadgateError(f"append cannot take {as_text(value)}: {line}", hint=_ROWS) from error


def check_callback(sink: str | None, call: Callable[..., object] | None) -> None:
    """Refuse a callback sink without a function."""
    if sink is not None and sink.split(",")[0].strip() == "callback" and call is None:
        raise HeadgateError("a callback sink needs a function", hint="give callback=, or choose another sink")
