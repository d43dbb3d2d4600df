"""The two charts of a picture, each drawn onto axes that it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from headgate.metrics.measures.response import Distribution
from headgate.metrics.pictures.panels import Panel
from headgate.metrics.pictures.style import QUIET, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GROUP = 0.84  # how much of the distance between two classes the boxes of one take
WIDEST = 0.08  # of the whole chart: a lone box is not to fill it
LETTERS = 110  # of class names side by side


class Scale(NamedTuple):
    """How response times are drawn: in which unit, and whether by decades."""

    unit: str
    seconds: float
    logarithmic: bool


def boxes(ax: Axes, panels: Sequence[Panel], styles: Mapping[str, Style], scale: Scale) -> None:
    """Box and whiskers: groups are classes, in each one box per policy, always in the same order."""
    step = min(GROUP / max(1, len(styles)), WIDEST * len(panels))
    for group, panel in enumerate(panels):
        for place, (policy, style) in enumerate(styles.items()):
            if policy in panel.boxes:
                position = group + (place - (len(styles) - 1) / 2) * step
                _box(ax, panel.boxes[policy], position, step * 0.78, style, scale)
        if not panel.boxes:
            ax.text(group, 0.5, "no results", transform=ax.get_xaxis_transform(), ha="center", color=QUIET)
    _class_axis(ax, panels)
    response_axis([ax], scale)
    ax.set_ylabel(f"response time ({scale.unit})")
    note = "box: quartiles and median · whiskers: p10 to p90 · diamond: mean"
    ax.set_title(note, loc="right", fontsize=8, color=QUIET)


def lines(ax: Axes, panel: Panel, styles: Mapping[str, Style], scale: Scale) -> None:
    """Mean response time of one class over time, one line per policy."""
    for policy, line in panel.lines.items():
        style = styles[policy]
        dot = "o" if len(line.time) == 1 else ""
        ax.plot(line.time, line.response / scale.seconds, style.dashes, color=style.colour, lw=1.3, marker=dot, ms=4)
    if not panel.lines:
        ax.text(0.5, 0.5, "no results", transform=ax.transAxes, ha="center", va="center", color=QUIET)
    ax.set_title(panel.name, loc="left", fontsize=9, fontweight="bold")


def response_axis(axes: Sequence[Axes], scale: Scale) -> None:
    """Finish axes that share their response times, once everything is drawn on them."""
    for ax in axes:
        ax.grid(axis="y")
    if axes and scale.logarithmic:
        axes[0].set_yscale("log")
        axes[0].yaxis.set_major_formatter("{x:g}")
    elif axes:
        axes[0].set_ylim(bottom=0.0)


def time_axis(axes: Sequence[Axes], panels: Sequence[Panel]) -> None:
    """Let the time axis reach from the start to the last result drawn."""
    ends = [float(line.time[-1]) for panel in panels for line in panel.lines.values()]
    if axes:
        axes[0].set_xlim(0.0, max(ends, default=0.5) * 1.01)


def _class_axis(ax: Axes, panels: Sequence[Panel]) -> None:
    room = LETTERS // max(1, len(panels))
    names = [panel.name if len(panel.name) <= room else panel.name[: room - 1] + "…" for panel in panels]
    labels = [f"{name}\npriority {panel.priority:g}" for name, panel in zip(names, panels, strict=True)]
    ax.set_xticks(range(len(panels)), labels)
    ax.tick_params(axis="x", length=0)
    ax.set_xlim(-0.5, max(1, len(panels)) - 0.5)
    for edge in range(1, len(panels)):
        ax.axvline(edge - 0.5, color="#CCCCCC", linewidth=0.8)


def _box(ax: Axes, box: Distribution, position: float, width: float, style: Style, scale: Scale) -> None:
    names = {"whislo": "p10", "q1": "p25", "med": "p50", "q3": "p75", "whishi": "p90", "mean": "mean"}
    numbers = {key: (box.at(level) or 0.0) / scale.seconds for key, level in names.items()}
    edge = {"color": style.colour, "linewidth": 1.1}
    ax.bxp(
        [numbers],
        positions=[position],
        widths=width,
        showfliers=False,
        showmeans=True,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": style.tint, "edgecolor": style.colour, "hatch": style.hatch, "linewidth": 1.1},
        whiskerprops=edge,
        capprops=edge,
        medianprops={"color": style.colour, "linewidth": 2.2},
        meanprops={"marker": "D", "markersize": 4, "markerfacecolor": "white", "markeredgecolor": style.colour},
    )
