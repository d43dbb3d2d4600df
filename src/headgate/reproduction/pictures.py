"""Pictures of experiments, in the look of a sweep's."""

from __future__ import annotations

from pathlib import Path

from headgate.metrics import Measure, measure_at
from headgate.metrics.pictures.curves import Labels, draw
from headgate.reproduction.outcome import Outcome


def picture_name(outcome: Outcome) -> str:
    """The file of an experiment's picture: sharaf-F5.png."""
    return f"{outcome.experiment.document}-{outcome.experiment.id}.png"


def draw_picture(outcome: Outcome, folder: Path, *, seeds: int) -> Path | None:
    """Draw an experiment's picture into a folder; None if it has none, or nothing to show."""
    experiment = outcome.experiment
    picture = None if experiment.picture is None else experiment.picture(outcome.measurements)
    if picture is None or not any(picture.curves.values()):
        return None
    measure = picture.measure if isinstance(picture.measure, Measure) else measure_at(picture.measure)
    title = f"{experiment.document} {experiment.id}: {measure.words}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / picture_name(outcome)
    curves = {name: curve for name, curve in picture.curves.items() if curve}
    draw(curves, path, Labels(title, picture.setting, measure, seeds, picture.decades))
    return path
