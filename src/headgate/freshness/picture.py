"""A picture of a plan: freshness over bandwidth, and who gets how much; matplotlib is imported when it is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from headgate.freshness.curve import Floats
from headgate.freshness.exact import Plan
from headgate.freshness.summary import over_bandwidth
from headgate.metrics.pictures.style import COLOURS, QUIET, SETTINGS
from headgate.metrics.pictures.writing import write_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_POINTS = 20_000
FACTORS = np.geomspace(0.1, 10.0, 17)  # of the bandwidth


def draw(plan: Plan, bandwidth: float, path: Path) -> None:
    """Draw a plan into a file whose extension names the format."""
    settings = {**SETTINGS, "text.parse_math": True}  # powers of ten; no text is a user's
    write_picture(lambda: compose(plan, bandwidth), path, settings)


def compose(plan: Plan, bandwidth: float) -> Figure:
    """Three panels: freshness over bandwidth, frequency over change rate, frequency over access."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 3.8), layout="constrained")
    curve, rates, accesses = figure.subplots(1, 3)
    _curve(curve, plan, bandwidth)
    elements = plan.elements
    _allocation(rates, elements.change_rate, plan.frequency, elements.access, "change rate (per period)", "access")
    _allocation(accesses, elements.access, plan.frequency, elements.change_rate, "access", "change rate")
    return figure


def _curve(ax: Axes, plan: Plan, bandwidth: float) -> None:
    points = np.array(over_bandwidth(plan.elements, [float(factor * bandwidth) for factor in FACTORS]))
    ax.plot(points[:, 0], points[:, 1], color=COLOURS[0], label="plan")
    ax.plot(points[:, 0], points[:, 2], color=COLOURS[1], linestyle="--", label="profile ignored (GF)")
    ax.plot([bandwidth], [plan.perceived_freshness], "o", color=COLOURS[0])
    ax.axvline(bandwidth, color=QUIET, linewidth=0.6, linestyle=":")
    ax.set(xscale="log", ylim=(0, 1), xlabel="bandwidth (per period)", ylabel="perceived freshness")
    ax.grid()
    ax.legend(frameon=False, loc="upper left")


def _allocation(ax: Axes, across: Floats, frequency: Floats, shade: Floats, label: str, shaded: str) -> None:
    """A point per element that changes and is wanted, or per one of an even sample; the shade is a rank."""
    shown = np.flatnonzero((across > 0) & (shade > 0))
    shown = shown[:: max(1, -(-len(shown) // MOST_POINTS))]
    ranks = np.argsort(np.argsort(shade[shown])) / max(1, len(shown) - 1)
    points = ax.scatter(across[shown], frequency[shown], c=ranks, s=6, cmap="viridis_r", linewidths=0, rasterized=True)
    ax.set(xscale="log", xlabel=label, ylabel="refreshes (per period)")
    often = frequency[shown][frequency[shown] > 0]
    if len(often):
        least = float(often.min())
        ax.set_yscale("symlog", linthresh=least)
        ax.set_ylim(-least / 4, 2 * float(often.max()))
    ax.grid()
    bar = ax.figure.colorbar(points, ax=ax, ticks=[0.0, 1.0])
    bar.ax.set_yticklabels(["low", "high"])
    bar.set_label(shaded)
