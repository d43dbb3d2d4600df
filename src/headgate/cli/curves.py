"""A sweep's results as tables, a Parquet file and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from headgate.cli.console import show
from headgate.cli.units import NOTHING, time_unit
from headgate.metrics.confidence import Band, band

if TYPE_CHECKING:
    from headgate.cli.sweep import Row

Value = float | str
Curves = dict[str, list[tuple[Value, Band]]]


def curves(rows: Sequence[Row], names: Sequence[str], measure: str) -> Curves:
    """The mean over seeds by policy and settings, along the first of the varied settings."""
    found: dict[tuple[str, Value], list[float]] = {}
    for row in rows:
        value = row.values.get(measure)
        if value is not None:
            found.setdefault((_line(row, names[1:]), row.point[names[0]]), []).append(float(value))
    lines: Curves = {}
    for (line, place), values in found.items():
        lines.setdefault(line, []).append((place, band(values)))
    return lines


def present(rows: Sequence[Row], measures: Sequence[str]) -> list[str]:
    """The measures of which there is a value."""
    return [path for path in measures if any(row.values.get(path) is not None for row in rows)]


def show_sweep(workload: str, names: Sequence[str], rows: Sequence[Row], measures: Sequence[str]) -> None:
    """A table for every measure: a row for each value of the first setting, a column for each policy."""
    show(Text(f"{workload}: {len(rows)} simulations", "bold"))
    for path in present(rows, measures) if names else ():
        lines = curves(rows, names, path)
        unit, scale = _unit(lines, path)
        show("", Text(f"{path} {unit}".strip()), _table(lines, names[0], scale))


def write_table(rows: Sequence[Row], path: Path) -> Path:
    """One row for each simulation: policy, settings, seed, and every measure."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = dict.fromkeys(name for row in rows for name in row.values)
    names = list(rows[0].point)
    table = pa.table(
        {
            "policy": pa.array([row.policy for row in rows], pa.string()),
            **{name: pa.array([row.point[name] for row in rows]) for name in names},
            "seed": pa.array([row.seed for row in rows], pa.int64()),
            **{name: pa.array([_number(row.values.get(name)) for row in rows], pa.float64()) for name in columns},
        }
    )
    pq.write_table(table, path)
    return path


def draw_sweep(
    workload: str, names: Sequence[str], rows: Sequence[Row], measures: Sequence[str], folder: Path
) -> Iterator[Path]:
    """A picture for each measure."""
    from headgate.metrics.curves import Labels, draw

    seeds = len({row.seed for row in rows})
    for path in present(rows, measures):
        file = folder / f"{path}.png"
        draw(curves(rows, names, path), file, Labels(workload, names[0], path, seeds))
        yield file


def _line(row: Row, others: Sequence[str]) -> str:
    return ", ".join([row.policy, *(f"{name.removeprefix('policy.')}={row.point[name]}" for name in others)])


def _unit(lines: Curves, path: str) -> tuple[str, float]:
    if "response_time." not in path:
        return "", 1.0
    return time_unit([point.mean for line in lines.values() for _, point in line])


def _table(lines: Curves, setting: str, scale: float) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(setting)
    for line in lines:
        table.add_column(line, justify="right")
    cells = {line: dict(points) for line, points in lines.items()}
    for place in dict.fromkeys(place for points in lines.values() for place, _ in points):
        table.add_row(str(place), *(_cell(cells[line].get(place), scale) for line in lines))
    return table


def _cell(point: Band | None, scale: float) -> str:
    if point is None:
        return NOTHING
    return f"{point.mean / scale:.4g}" + (f" ± {point.half / scale:.2g}" if point.half else "")


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
