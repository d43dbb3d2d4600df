"""What the catalog of a data directory keeps of streams and tables, and how they come back from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from pyspark.sql.types import StructType

from headgate.model import QueryClass, Stream, Table
from headgate.model.stream import AHEAD
from headgate.spark.compile.declared_tables import described_table
from headgate.spark.compile.type_names import normal_type
from headgate.spark.machine.definitions import stored_target
from headgate.workload.settings import Settings

Entry = Mapping[str, Any]

_PATHS = ("path", "file")  # settings of sources that may be relative


@dataclass(frozen=True, slots=True)
class SourceText:
    """Where a stream is read, as text; relative paths begin at `base`, and what they lead to must lie in `within`."""

    text: str
    base: Path
    within: Path | None = None

    @property
    def entry(self) -> dict[str, str]:
        """With the folder at which paths begin, if the text has a relative one."""
        settings = Settings(self.text)
        paths = [settings.word(key) for key in _PATHS if key in settings]
        relative = any(path is not None and not Path(path).is_absolute() for path in paths)
        folder = {"folder": str(self.base.absolute())} if relative else {}
        return {"source": self.text, **folder, **_within(self.within)}


def stream_entry(stream: Stream, source: SourceText | str | None, before: Entry | None = None) -> dict[str, Any]:
    """What the catalog keeps of a stream.

    `source` is where it is read, or what kind of object it is read from, which cannot be stored. Types that are written
    otherwise than `before` stay as they were.
    """
    columns = [list(column) for column in stream.schema]
    if before is not None and _normal(before.get("schema", ())) == _normal(columns):
        columns = list(before["schema"])
    entry: dict[str, Any] = {
        "schema": columns,
        "event_time": stream.event_time,
        "watermark": stream.watermark,
        "ahead": None if stream.ahead == inf else stream.ahead,
        "source": None,
    }
    if isinstance(source, SourceText):
        return entry | source.entry
    return entry if source is None else entry | {"source": f"({source})", "given": source}


def _normal(columns: Any) -> list[tuple[str, str]]:
    return [(name, normal_type(kind)) for name, kind in columns]


def stored_stream(name: str, entry: Entry) -> Stream:
    """The stream that was declared."""
    ahead = entry.get("ahead", AHEAD)
    return Stream(
        name=name,
        schema=tuple((column, kind) for column, kind in entry["schema"]),
        event_time=entry["event_time"],
        watermark=entry["watermark"],
        ahead=inf if ahead is None else ahead,
        source=None if entry.get("given") else entry.get("source"),
    )


def stored_source(entry: Entry) -> SourceText | None:
    """Where a stream is read, if that could be stored."""
    if entry.get("given") or entry.get("source") is None:
        return None
    within = entry.get("within")
    return SourceText(entry["source"], Path(entry.get("folder") or "."), None if within is None else Path(within))


def _within(folder: Path | str | None) -> dict[str, str]:
    """What the catalog keeps of the folder in which files must lie."""
    return {} if folder is None else {"within": str(folder)}


def table_entry(table: Table, schema: StructType, *, given: bool) -> dict[str, Any]:
    """What the catalog keeps of a table; the rows of one that was given as a DataFrame are not stored."""
    columns = [list(column) for column in described_table(table.name, schema).schema]
    if given:
        return {"path": None, "given": True, "columns": columns}
    schema_given = [list(column) for column in table.schema]
    return {"path": table.path, "given": False, "schema": schema_given, "columns": columns, **_within(table.within)}


def stored_table(name: str, entry: Entry) -> Table:
    """The table that was declared."""
    schema = tuple(map(tuple, entry.get("schema", ())))
    return Table(name=name, schema=schema, path=entry["path"], within=entry.get("within"))


def stored_class(name: str, entry: Entry) -> QueryClass:
    """The class that was declared; an older format did not keep its priority."""
    return QueryClass(name, entry.get("priority", 1.0), entry.get("lag"), stored_target(entry))
