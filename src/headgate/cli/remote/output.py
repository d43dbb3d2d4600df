"""What commands that ask a server print: lists as tables, one thing as names and values, or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import typer
from rich.text import Text

from headgate.cli.console import note, show, show_json, stdout
from headgate.cli.number_format import NOTHING
from headgate.cli.tables import plain_table, plain_value
from headgate.model.errors import printable
from headgate.model.number_text import duration

Item = Mapping[str, Any]
TIMES = frozenset({"oldest_wait", "watermark", "ahead", "mean", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "max"})
Cell = Callable[[Item], str]


class Column:
    """A column of a list: its heading, and what it shows of an item.

    Numbers are on the `right` and never wrapped; a column is left out where a line has fewer characters than `least`.
    """

    def __init__(self, heading: str, cell: str | Cell, *, right: bool = False, least: int = 0) -> None:
        self.heading, self.right, self.least = heading, right, least
        self._cell = cell

    def of(self, item: Item) -> Text:
        if callable(self._cell):
            return Text(printable(self._cell(item)))
        return Text(printable(plain_value(item.get(self._cell))))


def count(name: str) -> Cell:
    """A cell with a number of things."""
    return lambda item: NOTHING if item.get(name) is None else f"{item[name]:,}"


def rate(name: str) -> Cell:
    """A cell with a number per second."""
    return lambda item: NOTHING if item.get(name) is None else f"{item[name]:,.0f}"


def span(*path: str) -> Cell:
    """A cell with a time, found by its path in an item."""

    def cell(item: Item) -> str:
        value: Any = item
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return NOTHING if value is None else duration(float(value))

    return cell


def show_list(items: Sequence[Item], columns: Sequence[Column], as_json: bool, nothing: str) -> None:
    """Print a list: as JSON, as a table, or that there is nothing."""
    if as_json:
        show_json([dict(item) for item in items])
        return
    if not items:
        note(nothing)
        return
    show(table_of(items, columns))


def table_of(items: Iterable[Item], columns: Sequence[Column]) -> Any:
    """A table of items, with the columns for which there is room."""
    width = stdout().width
    shown = [column for column in columns if column.least <= width]
    table = plain_table(*(column.heading for column in shown))
    for place, column in enumerate(shown):
        if column.right:
            table.columns[place].justify, table.columns[place].no_wrap = "right", True
    for item in items:
        table.add_row(*(column.of(item) for column in shown))
    return table


def show_item(item: Item, as_json: bool, leave_out: Iterable[str] = ()) -> None:
    """Print one thing: as JSON, or a line for each field that has a value."""
    if as_json:
        show_json(dict(item))
        return
    left_out = set(leave_out)
    table = plain_table("", "")
    table.show_header, table.box = False, None
    for name, value in item.items():
        if name not in left_out and value not in (None, "", [], {}):
            table.add_row(Text(name.replace("_", " "), "bold"), Text(_shown(name, value)))
    show(table)


def done(text: str, as_json: bool, answer: Item | None = None) -> None:
    """Say that something is done: in words on stderr, or as JSON on stdout."""
    if as_json:
        show_json({"done": True} if answer is None else dict(answer))
    else:
        note(text)


def json_line(value: Item) -> None:
    """Print one JSON object on a line of its own, at once."""
    typer.echo(json.dumps(dict(value), ensure_ascii=False))


def moment(at: float) -> str:
    """A time in the local time zone."""
    return datetime.fromtimestamp(at).isoformat(sep=" ", timespec="milliseconds")


def _shown(name: str, value: Any) -> str:
    if isinstance(value, str):
        return "\n".join(printable(line) for line in value.splitlines())
    if isinstance(value, Mapping) or (isinstance(value, list) and any(isinstance(part, Mapping) for part in value)):
        return _nested(value)
    if isinstance(value, list):
        return ", ".join(printable(plain_value(part)) for part in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in TIMES:
        return duration(float(value))
    return f"{value:,}" if isinstance(value, int) else plain_value(value)


def _nested(value: Any) -> str:
    """Values within values, a line for each part."""
    if isinstance(value, Mapping):
        pairs = ((name, part) for name, part in value.items() if part not in (None, "", [], {}))
        return "\n".join(f"{printable(str(name))}: {_part(name, part)}" for name, part in pairs)
    return "\n".join(_flat(part) for part in value)


def _flat(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = ((name, part) for name, part in value.items() if part not in (None, "", [], {}))
        return ", ".join(f"{printable(str(name))} {_part(name, part)}" for name, part in pairs)
    if isinstance(value, list):
        return ", ".join(map(_flat, value))
    return printable(plain_value(value))


def _part(name: str, value: Any) -> str:
    """A value in a line with others; times are told as such."""
    if name == "at" and isinstance(value, float):
        return moment(value)
    return duration(float(value)) if name in TIMES and isinstance(value, int | float) else _flat(value)
