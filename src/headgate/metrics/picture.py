"""A picture of a comparison: response times per class under every policy, as boxes and over time.

The boxes are those of Al Moakar 2013: quartiles and median, whiskers to p10 and p90, the mean marked.
matplotlib is imported only when a picture is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headgate.metrics import charts
from headgate.metrics.charts import Scale, Style
from headgate.metrics.overtime import BIN
from headgate.metrics.panels import Panel, logarithmic, panels, unit
from headgate.metrics.records import Records
from headgate.model import HeadgateError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

FORMATS = ("png", "svg", "pdf")
MOST_CLASSES = 8

# Okabe and Ito's colours, which the colour-blind can tell apart, without the yellow that white paper swallows.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#4D4D4D")
DASHES = ("-", "--", ":")
HATCHES = ("", "/////", ".....")
INK = "#333333"
SETTINGS: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "headgate",
}


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
    styles = {policy: _style(number) for number, policy in enumerate(records)}
    rows = 1 if len(shown) <= 4 else 2
    columns = max(1, -(-len(shown) // rows))
    figure = Figure(figsize=(11, 4.9 + 2.0 * rows), layout="constrained")
    grid = figure.add_gridspec(1 + rows, columns, height_ratios=[1.7, *[1.0] * rows])
    charts.boxes(figure.add_subplot(grid[0, :]), shown, styles, scale)
    _small_multiples(figure, grid, shown, styles, scale)
    _head(figure, records, workload, styles)
    return figure


def _small_multiples(
    figure: Figure, grid: GridSpec, shown: Sequence[Panel], styles: Mapping[str, Style], scale: Scale
) -> None:
    first = None
    for number, panel in enumerate(shown):
        row, column = divmod(number, grid.ncols)
        ax = figure.add_subplot(grid[1 + row, column], sharex=first, sharey=first)
        charts.lines(ax, panel, styles, scale)
        if column == 0:
            ax.set_ylabel(f"mean response\ntime ({scale.unit})")
        else:
            ax.tick_params(labelleft=False)
        if number + grid.ncols >= len(shown):
            ax.set_xlabel("time (s)")
        else:
            ax.tick_params(labelbottom=False)
        first = first or ax


def _head(figure: Figure, records: Mapping[str, Records], workload: str, styles: Mapping[str, Style]) -> None:
    from matplotlib.patches import Patch

    classes = len({name for each in records.values() for name in each.priorities})
    alone = f", policy {next(iter(records))}" if len(records) == 1 else ""
    some = f" (the {MOST_CLASSES} most important of {classes} classes)" if classes > MOST_CLASSES else ""
    title = f"Response times{f' of {workload}' if workload else ''}{alone}{some}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    if len(records) > 1:
        handles = [
            Patch(facecolor=s.colour + "44", edgecolor=s.colour, hatch=s.hatch, label=policy)
            for policy, s in styles.items()
        ]
        figure.legend(handles=handles, loc="outside upper left", ncols=6, frameon=False)


def _style(number: int) -> Style:
    again = number // len(COLOURS) % len(DASHES)
    return Style(COLOURS[number % len(COLOURS)], DASHES[again], HATCHES[again])
