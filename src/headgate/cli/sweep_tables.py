"""A sweep's results as tables in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from headgate.cli.console import show
from headgate.cli.number_format import NOTHING
from headgate.metrics import measure_at
from headgate.metrics.measures.confidence import Band
from headgate.model.number_text import with_margin
from headgate.sweep.curves import Curves, curves, present

if TYPE_CHECKING:
    from headgate.sweep.plan import SweepRow


def show_sweep(workload: str, names: Sequence[str], rows: Sequence[SweepRow], measures: Sequence[str]) -> None:
    """Show one table per measure: a row for each value of the first setting, a column for each policy."""
    show(Text(f"{workload}: {len(rows)} simulations", "bold"))
    for path in present(rows, measures) if names else ():
        lines = curves(rows, names, path)
        unit, scale = _unit(lines, path)
        show("", Text(f"{path} {unit}".strip()), _table(lines, names[0], scale))


def _unit(lines: Curves, path: str) -> tuple[str, float]:
    measure = measure_at(path)
    values = [point.mean for line in lines.values() for _, point in line]
    return measure.shown_unit(values) if measure.is_time else ("", 1.0)


def _table(lines: Curves, setting: str, scale: float) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(setting)
    for line in lines:
        table.add_column(line, justify="right")
    bands = {line: dict(points) for line, points in lines.items()}
    for value in dict.fromkeys(value for points in lines.values() for value, _ in points):
        table.add_row(str(value), *(_cell(bands[line].get(value), scale) for line in lines))
    return table


def _cell(point: Band | None, scale: float) -> str:
    return NOTHING if point is None else with_margin(point.mean / scale, point.half / scale)
