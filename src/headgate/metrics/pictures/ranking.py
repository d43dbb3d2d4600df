"""A picture of a comparison: the measure that ranks as bars, and response times of the classes over time.

The best few policies are in colour, in the bars as in the lines, and the rest are grey: the bars' names are the legend.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10
from os import PathLike
from textwrap import wrap
from typing import TYPE_CHECKING

from headgate.metrics.measures.over_time import BIN
from headgate.metrics.pictures.panels import panels
from headgate.metrics.pictures.scales import ResponseScale, decade_ticks, logarithmic, readable, readable_ticks
from headgate.metrics.pictures.small_multiples import MOST_CLASSES, draw_small_multiples, rows_and_columns
from headgate.metrics.pictures.style import GREY, IN_GREY, INK, QUIET, Style, ranked_styles
from headgate.metrics.pictures.writing import write_picture
from headgate.metrics.records.run_records import Records
from headgate.metrics.report.measure_names import Measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 11.0  # inches
ROW = 0.27  # inches from one bar to the next
LONGEST_NAME = 40  # letters of a policy and its settings in one line
LETTER = 0.011  # of the bars' room, that one letter behind a bar takes


@dataclass(frozen=True, slots=True)
class Ranking:
    """The values of a measure by policy, the best first; None where a run has none."""

    workload: str
    measure: Measure
    values: Mapping[str, float | None]

    @property
    def known(self) -> list[float]:
        """The values that can be drawn."""
        return [value for value in self.values.values() if value is not None and isfinite(value)]

    def styles(self) -> dict[str, Style]:
        """How the policies are drawn; those without a value are never among the best."""
        valued = [policy for policy, value in self.values.items() if value is not None and isfinite(value)]
        return dict.fromkeys(self.values, IN_GREY) | ranked_styles(valued)

    def title(self) -> str:
        count = len(self.values)
        policies = f"{count} policies by {self.measure.words}, the best on top"
        return f"{self.workload}: {policies if count > 1 else self.measure.words}"


def draw(ranking: Ranking, records: Mapping[str, Records], path: str | PathLike[str], *, bin: float = BIN) -> None:
    """Draw a ranking and the runs behind it into a file whose extension names the format."""
    write_picture(lambda: compose(ranking, records, bin), path)


def compose(ranking: Ranking, records: Mapping[str, Records], bin: float) -> Figure:
    """The whole figure: bars above, growing with the number of policies, one panel per class below."""
    from matplotlib.figure import Figure

    styles = ranking.styles()
    shown = panels({policy: records[policy] for policy in styles if policy in records}, bin, MOST_CLASSES)
    rows, columns = rows_and_columns(len(shown))
    heights = [0.75 + ROW * sum(name.count("\n") + 1 for name in _names(styles)), *[1.9] * rows]
    figure = Figure(figsize=(WIDTH, sum(heights) + 0.9), layout="constrained")
    grid = figure.add_gridspec(1 + rows, columns, height_ratios=heights)
    _bars(figure.add_subplot(grid[0, :]), ranking, styles)
    draw_small_multiples(
        figure, grid, shown, styles, ResponseScale.of([value for panel in shown for value in panel.extent()])
    )
    figure.suptitle(ranking.title(), x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    if figure.axes[1:]:
        figure.supxlabel(_note(styles), x=0.01, ha="left", fontsize=8, color=QUIET)
    return figure


def _bars(ax: Axes, ranking: Ranking, styles: Mapping[str, Style]) -> None:
    unit, scale = ranking.measure.shown_unit(ranking.known)
    lengths = [_length(value, scale) for value in ranking.values.values()]
    texts = [_text(value, unit, scale) for value in ranking.values.values()]
    by_decades = logarithmic(lengths)
    if by_decades:
        ax.set_xscale("log")
    ax.set_xlim(*_limits(lengths, texts, by_decades))
    colours = [look.colour for look in styles.values()]
    ax.barh(range(len(lengths)), lengths, height=0.72, color=colours, zorder=2)
    for row, (length, text, look) in enumerate(zip(lengths, texts, styles.values(), strict=True)):
        start = max(length, ax.get_xlim()[0])
        ax.annotate(
            text, (start, row), xytext=(4, 0), textcoords="offset points", va="center", color=_ink(look), zorder=3
        )
    _name_axis(ax, styles)
    (decade_ticks if by_decades else readable_ticks)(ax.xaxis)
    ax.set_xlabel(ranking.measure.label(unit, logarithmic=by_decades))
    ax.grid(axis="x")


def _length(value: float | None, scale: float) -> float:
    return value / scale if value is not None and isfinite(value) else 0.0


def _text(value: float | None, unit: str, scale: float) -> str:
    if value is None or not isfinite(value):
        return "no value"
    return f"{readable(value / scale, 3)} {unit}".rstrip()


def _limits(lengths: Sequence[float], texts: Sequence[str], by_decades: bool) -> tuple[float, float]:
    """From 0, or from the decade below the smallest, to where the longest bar's text ends."""
    largest = max(lengths, default=0.0) or 1.0
    room = 1 - LETTER * max(map(len, texts), default=0) - 0.01
    if not by_decades:
        return 0.0, largest / room
    low = 10.0 ** floor(log10(min(length for length in lengths if length > 0) * 0.8))
    return low, low * (largest / low) ** (1 / room)


def _name_axis(ax: Axes, styles: Mapping[str, Style]) -> None:
    ax.set_yticks(range(len(styles)), _names(styles))
    for label, look in zip(ax.get_yticklabels(), styles.values(), strict=True):
        label.set_color(_ink(look))
        label.set_fontweight("bold" if look.strong else "normal")
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(max(1, len(styles)) - 0.4, -0.6)  # the best on top
    ax.spines["left"].set_color(GREY)


def _names(policies: Mapping[str, Style]) -> list[str]:
    return ["\n".join(wrap(policy, LONGEST_NAME)) for policy in policies]


def _ink(look: Style) -> str:
    return look.colour if look.strong else QUIET


def _note(styles: Mapping[str, Style]) -> str:
    grey = sum(not look.strong for look in styles.values())
    return "lines in the colours of the bars" + (f", the other {grey} policies in grey" if grey else "")
