"""A picture of a comparison: response times per class under every policy, as boxes and over time.

The boxes are those of Al Moakar 2013: quartiles and median, whiskers to p10 and p90, the mean marked.
matplotlib is imported only when a picture is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.metrics.measures.over_time import BIN
from headgate.metrics.pictures import charts
from headgate.metrics.pictures.charts import Scale
from headgate.metrics.pictures.panels import Panel, logarithmic, panels, unit
from headgate.metrics.pictures.style import INK, SETTINGS, Style, style
from headgate.metrics.records.run_records import Records
from headgate.model import HeadgateError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

FORMATS = ("png", "svg", "pdf")
MOST_CLASSES = 8
WIDTH = 11.0  # inches


def draw(records: Mapping[str, Records], path: str | PathLike[str], *, workload: str = "", bin: float = BIN) -> None:
    """Draw the runs of one workload, by policy, into a file whose extension names the format.

    Lines take bins of `bin` seconds, or wider ones where that would be too many.
    """
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise HeadgateError(f"cannot draw a picture as '{suffix or path}'", hint=f"use one of {', '.join(FORMATS)}")
    import matplotlib

    with matplotlib.rc_context(SETTINGS):
        figure = compose(records, workload, bin)
        try:
            figure.savefig(path, format=suffix, dpi=150, facecolor="white")
        except OSError as error:
            raise HeadgateError(f"cannot write the picture: {error}", hint="choose another path") from error


def compose(records: Mapping[str, Records], workload: str, bin: float) -> Figure:
    """The whole figure: boxes above, one panel per class below."""
    from matplotlib.figure import Figure

    shown = panels(records, bin, MOST_CLASSES)
    values = [value for panel in shown for value in panel.extent()]
    scale = Scale(*unit(values), logarithmic(values))
    styles = {policy: style(number) for number, policy in enumerate(records)}
    rows = 1 if len(shown) <= 4 else 2
    columns = max(1, -(-len(shown) // rows))
    figure = Figure(figsize=(WIDTH, 4.9 + 2.0 * rows), layout="constrained")
    grid = figure.add_gridspec(1 + rows, columns, height_ratios=[1.7, *[1.0] * rows])
    charts.boxes(figure.add_subplot(grid[0, :]), shown, styles, scale)
    _small_multiples(figure, grid, shown, styles, scale)
    _head(figure, records, workload, styles)
    return figure


def _small_multiples(
    figure: Figure, grid: GridSpec, shown: Sequence[Panel], styles: Mapping[str, Style], scale: Scale
) -> None:
    axes: list[Axes] = []
    for number, panel in enumerate(shown):
        row, column = divmod(number, grid.ncols)
        shared = axes[0] if axes else None
        ax = figure.add_subplot(grid[1 + row, column], sharex=shared, sharey=shared)
        charts.lines(ax, panel, styles, scale)
        ax.tick_params(labelleft=column == 0, labelbottom=number + grid.ncols >= len(shown))
        ax.set_ylabel("" if column else f"mean response\ntime ({scale.unit})")
        ax.set_xlabel("" if number + grid.ncols < len(shown) else "time (s)")
        axes.append(ax)
    charts.response_axis(axes, scale)
    charts.time_axis(axes, shown)


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
