"""Where the parts of a workload stand in its file, for checks that come after it has been read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from headgate.model import HeadgateError
from headgate.workload.draws import numbered
from headgate.workload.file_locations import FileLocations

_LINE = re.compile(r":(\d+)")


@dataclass(frozen=True, slots=True)
class WorkloadLocations:
    """Finds the lines of streams, tables, classes, queries and changes, by their names or numbers.

    One that was made without a file knows no lines: a workload may come from Python.
    """

    locations: FileLocations | None = None
    indexes: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def of_file(cls, path: Path) -> WorkloadLocations:
        """The places of a file that has been read as a workload."""
        text = path.read_bytes().decode("utf-8-sig")
        data = tomllib.loads(text)
        indexes = {
            (table, name): index
            for table in ("stream", "table", "class", "query")
            for index, section in reversed(list(enumerate(data.get(table, []))))  # the first of a name counts
            for name in numbered(section["name"], section.get("count"))
        }
        return cls(FileLocations.of(text, str(path), data), indexes)

    def written_at(self, table: str, name: str | int, *keys: str) -> str:
        """Which table of the file a part is from, and which of its keys is meant; empty without a file."""
        index = name if isinstance(name, int) else self.indexes.get((table, name))
        return "" if self.locations is None or index is None else f"{table}[{index}]{'.'.join(keys)}"

    @contextmanager
    def at(self, table: str, name: str | int, *keys: str) -> Iterator[None]:
        """Prefix errors raised inside with the line of a part, or of one of its keys."""
        index = name if isinstance(name, int) else self.indexes.get((table, name))
        if self.locations is None or index is None:
            yield
            return
        with self.locations.at(table, index, *keys, name="" if isinstance(name, int) else name):
            yield


def by_line(errors: Iterable[HeadgateError]) -> list[HeadgateError]:
    """Errors in the order of the file."""
    return sorted(errors, key=lambda error: int(match[1]) if (match := _LINE.search(error.where)) else 0)
