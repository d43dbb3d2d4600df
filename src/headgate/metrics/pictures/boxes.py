"""Response times as boxes and whiskers, in groups by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headgate.metrics.measures.response import Distribution
from headgate.metrics.pictures.panels import Panel
from headgate.metrics.pictures.scales import ResponseScale, finish_response_axes
from headgate.metrics.pictures.style import QUIET, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GROUP = 0.84  # how much of the distance between two classes the boxes of one take
WIDEST = 0.08  # of the whole chart: a lone box is not to fill it
LETTERS = 110  # of class names side by side


def draw_boxes(ax: Axes, panels: Sequence[Panel], styles: Mapping[str, Style], scale: ResponseScale) -> None:
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
    finish_response_axes([ax], scale)
    ax.set_ylabel(f"response time ({scale.unit})")
    note = "box: quartiles and median · whiskers: p10 to p90 · diamond: mean"
    ax.set_title(note, loc="right", fontsize=8, color=QUIET)


def _class_axis(ax: Axes, panels: Sequence[Panel]) -> None:
    room = LETTERS // max(1, len(panels))
    names = [panel.name if len(panel.name) <= room else panel.name[: room - 1] + "…" for panel in panels]
    labels = [f"{name}\npriority {panel.priority:g}" for name, panel in zip(names, panels, strict=True)]
    ax.set_xticks(range(len(panels)), labels)
    ax.tick_params(axis="x", length=0)
    ax.set_xlim(-0.5, max(1, len(panels)) - 0.5)
    for edge in range(1, len(panels)):
        ax.axvline(edge - 0.5, color="#CCCCCC", linewidth=0.8)


def _box(ax: Axes, box: Distribution, position: float, width: float, style: Style, scale: ResponseScale) -> None:
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
