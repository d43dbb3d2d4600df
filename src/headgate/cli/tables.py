"""The look that all tables of the command line share."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from headgate.cli.number_format import NOTHING, number


def plain_table(*headings: str) -> Table:
    """An empty table with these headings."""
    table = Table(
        box=SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, pad_edge=False, show_edge=False, header_style="bold"
    )
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def plain_value(value: Any) -> str:
    """One value of a row as people read it.

    >>> plain_value(None), plain_value(3.14159265), plain_value("a"), plain_value(1234567)
    ('–', '3.14159', 'a', '1234567')
    """
    if value is None:
        return NOTHING
    return number(value) if isinstance(value, float) else str(value)
