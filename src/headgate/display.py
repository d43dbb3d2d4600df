"""Tables for people: as HTML for notebooks, as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import pyarrow as pa

from headgate.model import times

WIDEST = 40  # characters of a value; longer ones are shortened


def html_table(headings: Sequence[str], rows: Sequence[Sequence[object]], caption: str = "") -> str:
    """A table as HTML.

    >>> html_table(["name", "rows"], [["a<b", 3]], "two")
    '<table><caption>two</caption><tr><th>name</th><th>rows</th></tr><tr><td>a&lt;b</td><td>3</td></tr></table>'
    """
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    lines = [_html_row("th", headings), *(_html_row("td", row) for row in rows)]
    return f"<table>{title}{''.join(lines)}</table>"


def text_table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table as text, its columns aligned.

    >>> print(text_table(["name", "rows"], [["fire", 3], ["all", None]]))
    name  rows
    ----  ----
    fire  3
    all   –
    """
    cells = [[_shown(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    lines = [list(headings), ["-" * width for width in widths], *cells]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def first_rows(table: pa.Table, count: int) -> tuple[list[str], list[list[object]]]:
    """The names of a table's columns, and its first rows."""
    first = table.slice(0, count)
    columns = map(times.values, first.columns)
    return first.column_names, [list(row) for row in zip(*columns, strict=True)]


def pandas_frame(table: pa.Table) -> Any:
    """A table as a DataFrame of pandas; columns with times that Python cannot hold have texts in their place."""
    far = [number for number, column in enumerate(table.columns) if not times.python_holds(column)]
    near = table.drop_columns([table.column_names[number] for number in far]) if far else table
    frame = near.to_pandas()
    for number in far:
        frame.insert(number, table.column_names[number], times.values(table.column(number)))
    return frame


def _html_row(tag: str, values: Sequence[Any]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(_shown(value))}</{tag}>" for value in values) + "</tr>"


def _shown(value: object) -> str:
    if value is None:
        return "–"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"
