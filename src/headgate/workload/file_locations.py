"""Where in the file an error is: `w.toml:12: query 'q1', operators[0]`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from headgate.model import HeadgateError
from headgate.workload.toml_lines import Loc, lines


@dataclass(frozen=True, slots=True)
class FileLocations:
    r"""Which line each setting of a workload file stands on, for error messages.

    >>> text, data = '[[query]]\nname = "q"\ncount = 0', {"query": [{"name": "q", "count": 0}]}
    >>> locations = FileLocations.of(text, "w.toml", data)
    >>> locations.where("query", 0, "count")
    "w.toml:3: query 'q', count"
    >>> with locations.at("query", 0, "count"):
    ...     raise HeadgateError("must be at least 1, found 0")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: w.toml:3: query 'q', count: must be at least 1, found 0
    """

    file: str
    lines: Mapping[Loc, int]
    data: Mapping[str, Any]

    @classmethod
    def of(cls, text: str, file: str, data: Mapping[str, Any]) -> FileLocations:
        return cls(file, lines(text), data)

    @contextmanager
    def at(self, *loc: str | int, name: str = "") -> Iterator[None]:
        """Prefix errors raised inside with this location, unless they have one already.

        `name` is the name of the query where one section describes several (`count`).
        """
        try:
            yield
        except HeadgateError as error:
            raise (error if self._marked(error) else error.at(self.where(*loc, name=name))) from None

    def where(self, *loc: str | int, name: str = "", label: Loc | None = None) -> str:
        """File, line and name of a setting, as an error shows them; `label` names another setting instead."""
        line = self.line(loc)
        name_in_file = _label(loc if label is None else label, self.data, name)
        return ": ".join(filter(None, (f"{self.file}:{line}" if line else self.file, name_in_file)))

    def line(self, loc: Loc) -> int:
        """The line of a setting, or of the nearest table around it; 0 if there is none."""
        for length in range(len(loc), 0, -1):
            if loc[:length] in self.lines:
                return self.lines[loc[:length]]
        return 0

    def _marked(self, error: HeadgateError) -> bool:
        return error.where == self.file or error.where.startswith(f"{self.file}:")


def _label(loc: Loc, data: Mapping[str, Any], name: str) -> str:
    if not loc:
        return ""
    table, rest = str(loc[0]), loc[1:]
    if rest and isinstance(rest[0], int):
        name = name or _name(data, table, rest[0])
        table, rest = f"{table} '{name}'" if name else f"{table}[{rest[0]}]", rest[1:]
    inside = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest).lstrip(".")
    return f"{table}, {inside}" if inside else table


def _name(data: Mapping[str, Any], table: str, index: int) -> str:
    rows = data.get(table)
    row = rows[index] if isinstance(rows, list) and index < len(rows) else None
    name = row.get("name") if isinstance(row, dict) else None
    return name if isinstance(name, str) else ""
