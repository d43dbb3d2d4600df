"""A picture of some runs: response times per class under every policy, as boxes and over time.

The boxes are those of Al Moakar 2013: quartiles and median, whiskers to p10 and p90, the mean marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING

from headgate.metrics.measures.over_time import BIN
from headgate.metrics.pictures.boxes import draw_boxes
from headgate.metrics.pictures.panels import panels
from headgate.metrics.pictures.scales import ResponseScale
from headgate.metrics.pictures.small_multiples import MOST_CLASSES, draw_small_multiples, rows_and_columns
from headgate.metrics.pictures.style import INK, Style, style
from headgate.metrics.pictures.writing import write_picture
from headgate.metrics.records.run_records import Records

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 11.0  # inches


def draw(records: Mapping[str, Records], path: str | PathLike[str], *, workload: str = "", bin: float = BIN) -> None:
    """Draw the runs of one workload, by policy, into a file whose extension names the format.

    Lines take bins of `bin` seconds, or wider ones where that would be too many.
    """
    write_picture(lambda: compose(records, workload, bin), path)


def compose(records: Mapping[str, Records], workload: str, bin: float) -> Figure:
    """The whole figure: boxes above, one panel per class below."""
    from matplotlib.figure import Figure

    shown = panels(records, bin, MOST_CLASSES)
    scale = ResponseScale.of([value for panel in shown for value in panel.extent()])
    styles = {policy: style(number) for number, policy in enumerate(records)}
    rows, columns = rows_and_columns(len(shown))
    figure = Figure(figsize=(WIDTH, 4.9 + 2.0 * rows), layout="constrained")
    grid = figure.add_gridspec(1 + rows, columns, height_ratios=[1.7, *[1.0] * rows])
    draw_boxes(figure.add_subplot(grid[0, :]), shown, styles, scale)
    draw_small_multiples(figure, grid, shown, styles, scale)
    _head(figure, records, workload, styles)
    return figure


def _head(figure: Figure, records: Mapping[str, Records], workload: str, styles: Mapping[str, Style]) -> None:
    """The title, and the policies' colours below it: the legend carries both, so that they cannot collide."""
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=look.tint, edgecolor=look.colour, hatch=look.hatch, linestyle=look.dashes, label=policy)
        for policy, look in styles.items()
    ]
    legend = figure.legend(
        handles=handles,
        title=_title(records, workload),
        title_fontproperties={"size": 12, "weight": "bold"},
        loc="outside upper left",
        alignment="left",
        ncols=_columns(list(records)),
        frameon=False,
        borderpad=0.2,
    )
    legend.get_title().set_color(INK)


def _title(records: Mapping[str, Records], workload: str) -> str:
    classes = len({name for run in records.values() for name in run.priorities})
    some = f" (the {MOST_CLASSES} most important of {classes} classes)" if classes > MOST_CLASSES else ""
    return "Response time by class" + (f": {workload}" if workload else "") + some


def _columns(policies: Sequence[str]) -> int:
    """How many policies to put side by side into the legend: all if they fit, else even columns."""
    widths = [0.7 + 0.08 * len(policy) for policy in policies]
    return max(1, len(widths) if sum(widths) <= WIDTH else int(WIDTH / max(widths)))
