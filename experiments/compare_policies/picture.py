"""A picture of all gaps: how many times the lower bound every policy's mean response is on every workload."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.compare_policies.ranking import Outcome
from headgate.metrics.pictures.writing import write_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURE = "response_time.mean"
FARTHEST = 1000.0  # gaps beyond have the same colour


def draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """Policies from the nearest to the farthest, workloads in their order; a dot marks the best of each."""
    bounded = [each for each in outcomes if each.bounds.get(MEASURE) and MEASURE in each.values]
    write_picture(lambda: _figure(bounded), path)


def _figure(outcomes: Sequence[Outcome]) -> Figure:
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    policies = _ordered(outcomes)
    gaps = np.array([[_gap(each, policy) for each in outcomes] for policy in policies])
    figure = Figure(figsize=(11.0, 0.2 * len(policies) + 2.2), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(gaps, norm=LogNorm(1.0, FARTHEST), cmap="viridis_r", aspect="auto")
    axes.set_yticks(range(len(policies)), policies)
    axes.set_xticks(range(len(outcomes)), [each.case.name for each in outcomes], rotation=90)
    dots = [(column, policies.index(name)) for column, each in enumerate(outcomes) for name in each.best(MEASURE)]
    axes.plot(*zip(*dots, strict=True), "o", color="white", markeredgecolor="#333333", markersize=4)
    figure.colorbar(
        image,
        label="mean response / lower bound (logarithmic)",
        extend="max",
        format=lambda value, _: f"{value:g} ×",
    )
    axes.set_title("How far policies are from what no schedule can go below; dots: best of the workload")
    return figure


def _ordered(outcomes: Sequence[Outcome]) -> list[str]:
    """By the mean logarithm of the gap, over the workloads that a policy fits."""
    names = dict.fromkeys(name for each in outcomes for name in each.values[MEASURE])
    logs = {name: [np.log(gap) for each in outcomes if not np.isnan(gap := _gap(each, name))] for name in names}
    return sorted(logs, key=lambda name: (-len(logs[name]), float(np.mean(logs[name]))))


def _gap(outcome: Outcome, policy: str) -> float:
    return outcome.values[MEASURE].get(policy, np.nan) / outcome.bounds[MEASURE]
