"""The live table of `headgate run`: classes, and the queries of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from headgate.cli.number_format import NOTHING
from headgate.cli.tables import plain_table

if TYPE_CHECKING:
    from headgate.spark.status import Status, StatusLine

DEADLINES = ("missed\ndeadline",)


def status_table(status: Status, height: int | None = None) -> Table:
    """The engine's classes, each with its queries below it; with a height, as many of these as there is room for.

    States have a column where some query does not run, missed deadlines where some query has a QoS graph: 80 columns
    have no room for one that says the same everywhere.
    """
    states = any(line.state != "running" for line in status.queries)
    deadlines = any(line.quality.missed is not None for line in status.queries)
    table = plain_table("", "state") if states else plain_table("")
    table.columns[0].overflow = "ellipsis"
    for heading in (
        "waiting",
        "oldest\nwait s",
        "p50\ns",
        "p95\ns",
        "runs",
        "tuples\nin",
        "tuples\nout",
        "dead",
        *DEADLINES[:deadlines],
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    room = len(status.queries) if height is None else max(0, height - len(status.classes))
    shown = 0
    for class_line in status.classes:
        table.add_row(*_status_cells(class_line, [class_line.name, ""][: 1 + states], deadlines), style="bold")
        members = [line for line in status.queries if line.query_class == class_line.name][: room - shown]
        shown += len(members)
        for line in members:
            table.add_row(*_status_cells(line, [f"  {line.name}", line.state][: 1 + states], deadlines))
    if shown < len(status.queries):
        table.add_row(Text(f"  {len(status.queries) - shown} more"))
    return table


def judged(status: Status) -> str:
    """Classes whose median result came later than that of a less important class; empty if there is one class."""
    if not status.inversion:
        return ""
    inverted = [f"{pair.above} after {pair.below}" for pair in status.inversion if pair.ratio]
    return f"inverted: {', '.join(inverted)}" if inverted else "no class inverted"


def _status_cells(line: StatusLine, names: list[str], deadlines: bool) -> list[Text]:
    times = (line.oldest_wait, line.response_time.p50, line.response_time.p95)
    counts = (line.runs, line.tuples_in, line.tuples_out, line.dead_letters)
    shown = [*names, f"{line.waiting:,}", *(NOTHING if seconds is None else f"{seconds:.2f}" for seconds in times)]
    missed = [NOTHING if line.quality.missed is None else f"{line.quality.missed:,}"] if deadlines else []
    return [Text(cell) for cell in (*shown, *(f"{count:,}" for count in counts), *missed)]
