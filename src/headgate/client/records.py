"""Answers of the server whose fields are attributes: the same words as those of a session's `Status`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar


class Record(Mapping[str, Any]):
    """Fields of JSON, as attributes and as a mapping.

    >>> line = Record({"state": "running", "response_time": {"p95": 0.25}})
    >>> line.response_time.p95, line["state"]
    (0.25, 'running')
    """

    OTHER_NAMES: ClassVar[Mapping[str, str]] = {}  # an attribute's name, if it is not the field's
    USUAL: ClassVar[Mapping[str, Any]] = {}  # what is left out if it is as usual

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = dict(fields)

    def __getattr__(self, name: str) -> Any:
        field = self.OTHER_NAMES.get(name, name)
        if field in self._fields and not name.startswith("__"):
            return _wrapped(self._fields[field])
        if name in self.USUAL:
            return self.USUAL[name]
        raise AttributeError(f"there is no '{name}'; there are {', '.join(sorted(self._fields))}")

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._fields,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._fields!r})"

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values."""
        return dict(self._fields)


class Times(Record):
    """Response times in seconds; None for what is not known yet."""

    USUAL: ClassVar[Mapping[str, Any]] = {"count": 0, "mean": None, "p50": None, "p95": None, "p99": None}


class StatusLine(Record):
    """How one query or class is doing; docs/python.md describes the fields."""

    OTHER_NAMES: ClassVar[Mapping[str, str]] = {"query_class": "class"}
    USUAL: ClassVar[Mapping[str, Any]] = {
        "error": "",
        "skipped": 0,
        "undelivered": 0,
        "sink": "",
        "last_commit": None,
        "stalled": None,
        "backfill": None,
        "load": 0.0,
    }

    @property
    def latency(self) -> dict[str, Times]:
        """The response times of results of the last 10 s, minute and 10 minutes."""
        return {name: Times(times) for name, times in self._fields.get("latency", {}).items()}

    @property
    def recent(self) -> Times:
        """The response times of results of the last 10 s."""
        return self.latency.get("last_10_s", Times({}))

    @property
    def response_time(self) -> Times:
        """The response times of results of the last 10 minutes."""
        return self.latency.get("last_10_minutes", Times({}))

    @property
    def target(self) -> Any:
        """How it does by its target, None without one."""
        return _wrapped(self._fields.get("target_status", self._fields.get("target")))


class Status(Record):
    """How the engine of a server is doing; docs/python.md describes the fields.

    `engine` says what the engine is doing; while it starts, there is nothing else.
    """

    USUAL: ClassVar[Mapping[str, Any]] = {
        "policy_error": "",
        "spark_error": "",
        "spark_note": "",
        "policy": "",
        "seconds": 0.0,
        "runs": 0,
        "spark_jobs": 0,
        "disk": Record({}),
        "load": Record({}),
    }

    @property
    def classes(self) -> tuple[StatusLine, ...]:
        """A line for each class."""
        lines = self._fields.get("classes", {})
        return tuple(StatusLine({"name": name, "class": name, **line}) for name, line in lines.items())

    @property
    def queries(self) -> tuple[StatusLine, ...]:
        """A line for each query."""
        return tuple(StatusLine({"name": name, **line}) for name, line in self._fields.get("queries", {}).items())

    @property
    def starved(self) -> tuple[str, ...]:
        """Classes that got nothing lately although their rows wait, while others did."""
        return tuple(self._fields.get("starved", ()))

    @property
    def dead_letters(self) -> dict[str, int]:
        """How many, by stream."""
        return {name: stream["dead_letters"] for name, stream in self._fields.get("streams", {}).items()}

    @property
    def source_errors(self) -> dict[str, str]:
        """By stream, why its source was given up."""
        return self._of_streams("error")

    @property
    def source_notes(self) -> dict[str, str]:
        """By stream, what else there is to know of its source."""
        return self._of_streams("note")

    def _of_streams(self, field: str) -> dict[str, str]:
        return {name: stream[field] for name, stream in self._fields.get("streams", {}).items() if field in stream}

    def __repr__(self) -> str:
        queries = self._fields.get("queries", {})
        counted = f"{len(queries)} {'query' if len(queries) == 1 else 'queries'}, {self.runs:,} runs"
        failed = [name for name, line in queries.items() if line.get("error")]
        told = f"; failed: {', '.join(failed)}" if failed else ""
        return f"<status after {self.seconds:.1f} s under {self.policy}: {counted}{told}>"


def _wrapped(value: Any) -> Any:
    return Record(value) if isinstance(value, dict) else value
