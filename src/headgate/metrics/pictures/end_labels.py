"""Names of lines at their right ends, moved apart where they would cover each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from headgate.metrics.pictures.style import QUIET, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RIGHT = 1.03  # where the names begin, in widths of the axes
_JOINT = {"arrowstyle": "-", "lw": 0.6, "relpos": (0.0, 0.5), "shrinkA": 1, "shrinkB": 4}  # of name and line


def label_ends(ax: Axes, ends: Mapping[str, tuple[float, float]], styles: Mapping[str, Style], *, gap: float) -> None:
    """Write each line's name beside the axes, joined to its last point; `gap` is a name's share of the height.

    The limits of the value axis must be final.
    """
    heights = dict(zip(ends, spread([_height(ax, value) for _, value in ends.values()], gap), strict=True))
    for name, end in ends.items():
        look = styles[name]
        ax.annotate(
            name,
            end,
            xytext=(RIGHT, heights[name]),
            textcoords="axes fraction",
            va="center",
            color=look.colour if look.strong else QUIET,
            fontweight="bold" if look.strong else "normal",
            fontsize=11 if look.strong else 9,
            arrowprops=_JOINT | {"color": look.colour},
            annotation_clip=False,
        )


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Heights between 0 and 1 moved apart to at least `gap`, in the same order; crowded ones share the way.

    >>> [round(height, 2) for height in spread([0.5, 0.1, 0.5], 0.2)]
    [0.6, 0.1, 0.4]
    """
    order = sorted(range(len(heights)), key=lambda place: (heights[place], -place))
    blocks: list[list[float]] = []  # names that touch: where each would have the lowest of all names
    for rank, place in enumerate(order):
        block = [heights[place] - rank * gap]
        while blocks and fmean(blocks[-1]) > fmean(block):
            block = [*blocks.pop(), *block]
        blocks.append(block)
    lowest = [fmean(block) for block in blocks for _ in block]
    room = max(0.0, 1 - (len(order) - 1) * gap)
    placed = {place: min(max(lowest[rank], 0.0), room) + rank * gap for rank, place in enumerate(order)}
    return [placed[place] for place in range(len(heights))]


def _height(ax: Axes, value: float) -> float:
    """Where a value is, in heights of the axes."""
    low, high, at = ax.yaxis.get_transform().transform([*ax.get_ylim(), value])
    return float((at - low) / (high - low))
