"""Small panels side by side, one per class: mean response time over time, a line per policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headgate.metrics.pictures.panels import Panel
from headgate.metrics.pictures.scales import ResponseScale, finish_response_axes
from headgate.metrics.pictures.style import QUIET, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

MOST_CLASSES = 8
MOST_IN_A_ROW = 4


def rows_and_columns(classes: int) -> tuple[int, int]:
    """How the panels of some classes are laid out.

    >>> rows_and_columns(3), rows_and_columns(5)
    ((1, 3), (2, 3))
    """
    rows = 1 if classes <= MOST_IN_A_ROW else 2
    return rows, max(1, -(-classes // rows))


def draw_small_multiples(
    figure: Figure, grid: GridSpec, shown: Sequence[Panel], styles: Mapping[str, Style], scale: ResponseScale
) -> None:
    """Draw the panels below the first row of the grid; all share their axes."""
    axes: list[Axes] = []
    for number, panel in enumerate(shown):
        row, column = divmod(number, grid.ncols)
        shared = axes[0] if axes else None
        ax = figure.add_subplot(grid[1 + row, column], sharex=shared, sharey=shared)
        _lines(ax, panel, styles, scale)
        ax.tick_params(labelleft=column == 0, labelbottom=number + grid.ncols >= len(shown))
        ax.set_ylabel("" if column else f"mean response\ntime ({scale.unit})")
        ax.set_xlabel("" if number + grid.ncols < len(shown) else "time (s)")
        axes.append(ax)
    finish_response_axes(axes, scale)
    _finish_time_axis(axes, shown)


def _lines(ax: Axes, panel: Panel, styles: Mapping[str, Style], scale: ResponseScale) -> None:
    for policy, line in panel.lines.items():
        look = styles[policy]
        ax.plot(
            line.time,
            line.response / scale.seconds,
            look.dashes,
            color=look.colour,
            lw=1.5 if look.strong else 0.7,
            zorder=3 if look.strong else 2,
            marker="o" if len(line.time) == 1 else "",
            ms=4,
            clip_on=len(line.time) > 1,
            label=policy,
        )
    if not panel.lines:
        ax.text(0.5, 0.5, "no results", transform=ax.transAxes, ha="center", va="center", color=QUIET)
    ax.set_title(panel.name, loc="left", fontsize=9, fontweight="bold")


def _finish_time_axis(axes: Sequence[Axes], panels: Sequence[Panel]) -> None:
    """Let the time axis reach from the start to the last result drawn."""
    ends = [float(line.time[-1]) for panel in panels for line in panel.lines.values()]
    if axes:
        axes[0].set_xlim(0.0, max(ends, default=0.5) * 1.01)
