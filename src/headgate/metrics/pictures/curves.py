"""A picture of one measure over a setting: a line per policy, its confidence as a band.

Every line is named at its right end, so that no legend covers any of them. A few lines are in colour; of many only the
best ones, and the rest are grey and without bands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from os import PathLike
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from headgate.metrics.measures.confidence import Band
from headgate.metrics.pictures.end_labels import label_ends
from headgate.metrics.pictures.scales import decade_ticks, logarithmic, readable_ticks
from headgate.metrics.pictures.style import COLOURS, IN_GREY, QUIET, SETTINGS, Style, style
from headgate.metrics.pictures.writing import write_picture
from headgate.metrics.report.measure_names import Measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curve = Sequence[tuple[float | str, Band]]  # from left to right
NumberedCurve = Sequence[tuple[float, Band]]
WIDTH, HEIGHT = 10.0, 6.0  # inches; higher where more lines have to be named
NAME = 0.21  # inches that the name of a line takes
MOST_COLOURED = len(COLOURS)  # lines; of more than so many the best few are in colour
BEST = 5
MOST_DOTS = 20  # of a line; more would cover it
MOST_TICKS = 15  # as many values of the setting can be written side by side below the axis
SIDE_BY_SIDE = 0.1  # of the way from one name to the next, over which policies are spread
LEAST_SHARE = 0.01  # of its mean, to which a band reaches: no measure is below 0, and 0 has no place on some scales
LINES = ("-", "--", "-.", ":")
FONTS = {"font.size": 11.0}


class Labels(NamedTuple):
    """What a picture says about its curves."""

    title: str
    setting: str  # in words, with its unit
    measure: Measure
    runs: int = 1  # seeds behind every point
    decades: bool = True  # go by decades if the values spread over them


def draw(curves: Mapping[str, Curve], path: str | PathLike[str], labels: Labels) -> None:
    """Draw curves by name into a file whose extension names the format."""
    write_picture(lambda: compose(curves, labels), path, {**SETTINGS, **FONTS})


def compose(curves: Mapping[str, Curve], labels: Labels) -> Figure:
    """The figure: a line per policy with its confidence band."""
    from matplotlib.figure import Figure

    means = [point.mean for curve in curves.values() for _, point in curve]
    unit, scale = labels.measure.shown_unit([max(means, default=0.0)])
    styles = curve_styles(curves, smaller_is_better=labels.measure.smaller_is_better)
    height = max(HEIGHT, 1.4 + NAME * len(curves))
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    ax = figure.add_subplot()
    places = list(dict.fromkeys(place for curve in curves.values() for place, _ in curve))
    named = len(places) == 1 or any(isinstance(place, str) for place in places)
    drawn = _numbered(curves, places if named else None, scale)
    for number, (policy, curve) in enumerate(drawn.items()):
        _line(ax, curve, styles[policy], LINES[number % len(LINES)], filled=not named)
    by_decades = labels.decades and logarithmic(means)
    _value_axis(ax, [mean / scale for mean in means], by_decades)
    _setting_axis(ax, places, labels.setting, named=named)
    ax.set_ylabel(labels.measure.label(unit, logarithmic=by_decades))
    figure.suptitle(labels.title, x=0.01, ha="left", fontsize=14, fontweight="bold")
    ax.set_title(_note(styles, labels.runs), loc="left", fontsize=10, color=QUIET)
    ends = {policy: (curve[-1][0], curve[-1][1].mean) for policy, curve in drawn.items()}
    label_ends(ax, ends, styles, gap=NAME / (height - 1.4))
    return figure


def curve_styles(curves: Mapping[str, Curve], *, smaller_is_better: bool) -> dict[str, Style]:
    """All in colour if they are few; else the best by their mean rank over the setting's values."""
    if len(curves) <= MOST_COLOURED:
        return {policy: style(number) for number, policy in enumerate(curves)}
    best = sorted(curves, key=_mean_ranks(curves, smaller_is_better).__getitem__)[:BEST]
    return {policy: style(best.index(policy)) if policy in best else IN_GREY for policy in curves}


def _mean_ranks(curves: Mapping[str, Curve], smaller_is_better: bool) -> dict[str, float]:
    """Ranks and not values: where the system is overloaded, values are so large that nothing else would count."""
    sign = 1.0 if smaller_is_better else -1.0
    at: dict[float | str, list[tuple[float, str]]] = {}
    for policy, curve in curves.items():
        for place, point in curve:
            at.setdefault(place, []).append((sign * point.mean, policy))
    ranks: dict[str, list[int]] = {policy: [] for policy in curves}
    for values in at.values():
        for rank, (_, policy) in enumerate(sorted(values)):
            ranks[policy].append(rank)
    return {policy: fmean(found) if found else float(len(curves)) for policy, found in ranks.items()}


def _numbered(
    curves: Mapping[str, Curve], names: Sequence[float | str] | None, scale: float
) -> dict[str, NumberedCurve]:
    """Curves with their values in a unit; where the places are names, each gets a number, the policies side by side."""
    drawn: dict[str, NumberedCurve] = {}
    for number, (policy, curve) in enumerate(curves.items()):
        shift = SIDE_BY_SIDE * (number - (len(curves) - 1) / 2) / len(curves)
        drawn[policy] = [
            (float(place) if names is None else names.index(place) + shift, Band(mean / scale, half / scale))
            for place, (mean, half) in curve
        ]
    return drawn


def _line(ax: Axes, curve: NumberedCurve, look: Style, line: str, *, filled: bool) -> None:
    places, points = zip(*curve, strict=True)
    ax.plot(
        places,
        [point.mean for point in points],
        line if look.strong else "-",
        color=look.colour,
        lw=1.9 if look.strong else 0.9,
        marker=look.marker if len(curve) <= MOST_DOTS else "",
        ms=6,
        zorder=4 if look.strong else 2,
    )
    if look.strong and any(point.half for point in points):
        (_band if filled else _bars)(ax, curve, look, line)


def _bars(ax: Axes, curve: NumberedCurve, look: Style, line: str) -> None:
    """Confidence where there is nothing between two places that a band could fill."""
    places, points = zip(*curve, strict=True)
    means, halves = zip(*points, strict=True)
    ax.errorbar(places, means, halves, fmt="none", ecolor=look.colour, capsize=4, zorder=3)


def _band(ax: Axes, curve: Curve, look: Style, line: str) -> None:
    """A band with edges, so that bands that cross can be followed."""
    places = [place for place, _ in curve]
    lows = [max(point.mean - point.half, LEAST_SHARE * point.mean) for _, point in curve]
    highs = [point.mean + point.half for _, point in curve]
    ax.fill_between(places, lows, highs, color=look.colour, alpha=0.1, lw=0, zorder=1)
    for edge in (lows, highs):
        ax.plot(places, edge, line, color=look.colour, lw=0.7, alpha=0.6, zorder=2)


def _value_axis(ax: Axes, means: Sequence[float], by_decades: bool) -> None:
    """Scale and limits of the measure; where it goes by decades and some values are 0, these are below the decades."""
    ax.grid(axis="y")
    if by_decades and min(means) > 0:
        ax.set_yscale("log")
        ax.set_ylim(bottom=min(means) / 1.6)  # wherever bands reach to
        decade_ticks(ax.yaxis)
        return
    if by_decades:
        ax.set_yscale("symlog", linthresh=min(mean for mean in means if mean > 0))
    ax.set_ylim(bottom=0.0, top=None if any(means) else 1.0)
    readable_ticks(ax.yaxis)


def _setting_axis(ax: Axes, places: Sequence[float | str], words: str, *, named: bool) -> None:
    ax.set_xlabel(words)
    if named:
        ax.set_xticks(range(len(places)), [str(place) for place in places])
        ax.set_xlim(-0.3, len(places) - 0.7)
    else:
        _number_axis(ax, [float(place) for place in places], words)


def _number_axis(ax: Axes, places: Sequence[float], words: str) -> None:
    """Ticks at the values that were simulated, where they fit; by decades where they spread over decades."""
    if logarithmic(places) and min(places) > 0:
        ax.set_xscale("log")
        ax.minorticks_off()
        ax.set_xlabel(f"{words}, logarithmic")
    if _apart([float(each) for each in ax.xaxis.get_transform().transform(sorted(places))]):
        ax.set_xticks(places)
    readable_ticks(ax.xaxis)


def _apart(places: Sequence[float]) -> bool:
    """Whether there is room for a number at each of these places along an axis."""
    return all(right - left >= (places[-1] - places[0]) / MOST_TICKS for left, right in pairwise(places))


def _note(styles: Mapping[str, Style], runs: int) -> str:
    strong = sum(look.strong for look in styles.values())
    remarks = [f"mean of {runs} seeds with its 95 % confidence interval" if runs > 1 else ""]
    if strong < len(styles):
        remarks.append(f"in colour: the {strong} of {len(styles)} lines that rank best on average")
    return " · ".join(remark for remark in remarks if remark)
