"""A sweep's results as curves: a measure's mean over seeds along the first varied setting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.metrics.measures.confidence import Band, band
from headgate.sweep.varied_settings import POLICY, setting_words

if TYPE_CHECKING:
    from headgate.sweep.plan import SweepRow

SettingValue = float | str
Curves = dict[str, list[tuple[SettingValue, Band]]]


def curves(rows: Sequence[SweepRow], names: Sequence[str], measure: str) -> Curves:
    """One curve per policy and values of the settings after the first; confidence bands come from the seeds."""
    samples: dict[tuple[str, SettingValue], list[float]] = {}
    for row in rows:
        value = row.values.get(measure)
        if value is not None:
            samples.setdefault((_curve_name(row, names[1:]), row.point[names[0]]), []).append(float(value))
    lines: Curves = {}
    for (curve, setting_value), values in samples.items():
        lines.setdefault(curve, []).append((setting_value, band(values)))
    return lines


def present(rows: Sequence[SweepRow], measures: Sequence[str]) -> list[str]:
    """The measures that have a value in at least one row."""
    return [path for path in measures if any(row.values.get(path) is not None for row in rows)]


def draw_sweep(
    workload: str, names: Sequence[str], rows: Sequence[SweepRow], measures: Sequence[str], folder: Path
) -> Iterator[Path]:
    """Draw one picture per measure into a folder."""
    from headgate.metrics import measure_at
    from headgate.metrics.pictures.curves import Labels, draw

    seeds = len({row.seed for row in rows})
    for path in present(rows, measures):
        file = folder / f"{path}.png"
        measure = measure_at(path)
        labels = Labels(f"{workload}: {measure.words}", setting_words(names[0]), measure, seeds)
        draw(curves(rows, names, path), file, labels)
        yield file


def _curve_name(row: SweepRow, settings: Sequence[str]) -> str:
    return ", ".join([row.policy, *(f"{name.removeprefix(POLICY)}={row.point[name]}" for name in settings)])
