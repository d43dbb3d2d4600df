"""The two charts of a picture, each drawn onto axes that it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from headgate.metrics.panels import Panel
from headgate.metrics.response import Distribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GROUP = 0.84  # how much of the distance between two classes the boxes of one take
WIDEST = 0.22
QUIET = "#777777"


class Scale(NamedTuple):
    """How response times are drawn: in which unit, and whether by decades."""

    unit: str
    seconds: float
    logarithmic: bool


class Style(NamedTuple):
    """How a policy is drawn."""

    colour: str
    dashes: str
    hatch: str


def boxes(ax: Axes, panels: Sequence[Panel], styles: Mapping[str, Style], scale: Scale) -> None:
    """Box and whiskers: groups are classes, in each one box per policy, always in the same order."""
    step = min(GROUP / max(1, len(styles)), WIDEST * 1.2)
    for group, panel in enumerate(panels):
        for place, (policy, style) in enumerate(styles.items()):
            if policy in panel.boxes:
                position = group + (place - (len(styles) - 1) / 2) * step
                _box(ax, panel.boxes[policy], position, step * 0.78, style, scale)
    for edge in range(1, len(panels)):
        ax.axvline(edge - 0.5, color="#CCCCCC", linewidth=0.8)
    labels = [f"{panel.name}\npriority {panel.priority:g}" for panel in panels]
    ax.set_xticks(range(len(panels)), labels)
    ax.tick_params(axis="x", length=0)
    ax.set_xlim(-0.5, max(1, len(panels)) - 0.5)
    _response_axis(ax, scale, "response time")
    ax.set_title("box: quartiles and median · whiskers: p10 to p90 · diamond: mean", **_note())


def lines(ax: Axes, panel: Panel, styles: Mapping[str, Style], scale: Scale) -> None:
    """Mean response time of one class over time, one line per policy."""
    for policy, line in panel.lines.items():
        style = styles[policy]
        dot = "o" if len(line.time) == 1 else ""
        ax.plot(line.time, line.response / scale.seconds, style.dashes, color=style.colour, lw=1.3, marker=dot, ms=4)
    if not panel.lines:
        ax.text(0.5, 0.5, "no results", transform=ax.transAxes, ha="center", va="center", color=QUIET)
    ax.set_title(panel.name, loc="left", fontsize=9, fontweight="bold")
    _response_axis(ax, scale, "")
    ax.margins(x=0.02)


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
        boxprops={"facecolor": style.colour + "44", "edgecolor": style.colour, "hatch": style.hatch, "linewidth": 1.1},
        whiskerprops=edge,
        capprops=edge,
        medianprops={"color": style.colour, "linewidth": 2.2},
        meanprops={"marker": "D", "markersize": 4, "markerfacecolor": "white", "markeredgecolor": style.colour},
    )


def _response_axis(ax: Axes, scale: Scale, what: str) -> None:
    ax.grid(axis="y")
    if scale.logarithmic:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter("{x:g}")
    else:
        ax.set_ylim(bottom=0.0)
    if what:
        ax.set_ylabel(f"{what} ({scale.unit})")


def _note() -> dict[str, Any]:
    return {"loc": "right", "fontsize": 8, "color": QUIET}
