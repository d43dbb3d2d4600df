"""A picture of one measure over a setting: a line per policy, its confidence as a band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple

from headgate.metrics.measures.confidence import Band
from headgate.metrics.pictures.panels import logarithmic, unit
from headgate.metrics.pictures.style import QUIET, SETTINGS, Style, style
from headgate.model import HeadgateError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curve = Sequence[tuple[float | str, Band]]  # from left to right
SIZE = (6.4, 4.0)  # inches
MOST_DOTS = 20  # of a line; more would cover it


class Labels(NamedTuple):
    """Title and axis labels of a picture."""

    title: str
    setting: str
    measure: str
    runs: int  # seeds behind every point

    @property
    def is_time(self) -> bool:
        return "response_time." in self.measure


def draw(curves: Mapping[str, Curve], path: str | PathLike[str], labels: Labels) -> None:
    """Draw curves by name into a PNG."""
    import matplotlib

    with matplotlib.rc_context(SETTINGS):
        figure = compose(curves, labels)
        try:
            figure.savefig(path, format="png", dpi=110, facecolor="white")
        except OSError as error:
            raise HeadgateError(f"cannot write the picture: {error}", hint="choose another folder") from error


def compose(curves: Mapping[str, Curve], labels: Labels) -> Figure:
    """The figure: a line per policy with its confidence band."""
    from matplotlib.figure import Figure

    values = [point.mean for curve in curves.values() for _, point in curve]
    name, scale = unit(values) if labels.is_time else ("", 1.0)
    figure = Figure(figsize=SIZE, layout="constrained")
    ax = figure.add_subplot()
    for number, (policy, curve) in enumerate(curves.items()):
        _line(ax, policy, curve, scale, style(number))
    if logarithmic(values) and min(values) > 0:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    else:
        ax.set_ylim(bottom=0.0 if min(values, default=0.0) >= 0 else None)
    ax.grid(axis="y")
    ax.set_xlabel(labels.setting)
    ax.set_ylabel(f"{labels.measure} ({name})" if name else labels.measure)
    ax.set_title(labels.title, loc="left", fontsize=11, fontweight="bold")
    if labels.runs > 1:
        ax.set_title(f"mean of {labels.runs} seeds, 95 % confidence", loc="right", fontsize=8, color=QUIET)
    ax.legend(frameon=False)
    return figure


def _line(ax: Axes, policy: str, curve: Curve, scale: float, look: Style) -> None:
    places = [x for x, _ in curve]
    means = [point.mean / scale for _, point in curve]
    lows = [(point.mean - point.half) / scale for _, point in curve]
    highs = [(point.mean + point.half) / scale for _, point in curve]
    dot = "o" if len(curve) <= MOST_DOTS else ""
    ax.plot(places, means, look.dashes, color=look.colour, lw=1.4, marker=dot, ms=3.5, label=policy)
    if lows != highs:
        ax.fill_between(places, lows, highs, color=look.colour, alpha=0.18, lw=0)
