"""A picture of a what-if: the mean response time of every class by policy, recorded beside replayed."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from textwrap import shorten
from typing import TYPE_CHECKING

from headgate.metrics.pictures.scales import decade_ticks, logarithmic, readable, readable_ticks
from headgate.metrics.pictures.style import GREY, INK, QUIET, ranked_styles
from headgate.metrics.pictures.writing import write_picture
from headgate.model.number_text import time_unit
from headgate.what_if.comparison import Comparison
from headgate.what_if.response_times import Judged, Times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 9.0  # inches
ROW = 0.27  # inches from one bar to the next
LONGEST_NAME = 36  # letters


def draw(comparison: Comparison, by: str, path: str | PathLike[str]) -> None:
    """Draw a comparison into a file whose extension names the format."""
    write_picture(lambda: compose(comparison, by), path)


def compose(comparison: Comparison, by: str) -> Figure:
    """A panel for each class: the recorded mean, the same replayed, and the policies from the best on."""
    from matplotlib.figure import Figure

    classes = list(comparison.recorded.classes)
    rows = 2 + len(comparison.policies)
    height = 0.9 + len(classes) * (0.55 + ROW * rows)
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots(len(classes), 1, squeeze=False)[:, 0]
    for ax, name in zip(axes, classes, strict=True):
        _panel(ax, comparison, name, comparison.ranking(by))
    title = f"What if: mean response time by class, ranked by {by}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    note = "grey: the recorded policy, measured and replayed; band: the error of the replay; bars: means; marks: p95"
    figure.supxlabel(note, x=0.01, ha="left", fontsize=8, color=QUIET)
    return figure


def _panel(ax: Axes, comparison: Comparison, name: str, ranking: Sequence[str]) -> None:
    styles = ranked_styles(ranking)
    runs: list[tuple[str, Judged, str]] = [
        (f"recorded: {comparison.recorded.policy}", comparison.recorded, QUIET),
        ("the same, replayed", comparison.replayed, GREY),
        *((policy, comparison.policies[policy], styles[policy].colour) for policy in ranking),
    ]
    times = [judged.classes.get(name, Times()) for _, judged, _ in runs]
    known = [value for one in times for value in (one.mean, one.p95) if value]
    unit, scale = time_unit(known or [1.0])
    by_decades = logarithmic([value / scale for value in known])
    if by_decades:
        ax.set_xscale("log")
    error, base = comparison.error(name), comparison.replayed.classes.get(name, Times()).mean
    if error is not None and base:
        ax.axvspan(base * (1 - error) / scale, base * (1 + error) / scale, color="#EEEEEE", zorder=0)
    left = 0.5 * min(known, default=0.0) / scale if by_decades else 0.0
    for row, (one, (_, _, colour)) in enumerate(zip(times, runs, strict=True)):
        if one.mean:
            ax.barh(row, one.mean / scale - left, left=left, height=0.7, color=colour, zorder=2)
            ax.plot([(one.p95 or one.mean) / scale], [row], marker="|", markersize=9, color=INK, zorder=3)
        ax.annotate(
            _text(one, unit, scale),
            (max(one.p95 or 0.0, one.mean or 0.0) / scale or left, row),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    largest = max(known, default=1.0) / scale
    ax.set_xlim(left, largest * (largest / left) ** 0.33 if by_decades else largest * 1.35)
    ax.set_yticks(range(len(runs)), [shorten(label, LONGEST_NAME, placeholder="…") for label, _, _ in runs])
    ax.set_ylim(len(runs) - 0.4, -0.6)
    (decade_ticks if by_decades else readable_ticks)(ax.xaxis)
    off = "" if error is None else f", replay off by {error:.0%}"
    ax.set_title(f"{name}{off}", loc="left", fontsize=10)
    ax.set_xlabel(f"response time in {unit}")
    ax.grid(axis="x")


def _text(times: Times, unit: str, scale: float) -> str:
    if times.mean is None or times.p95 is None:
        return "no results"
    return f"{readable(times.mean / scale, 3)} {unit}, p95 {readable(times.p95 / scale, 3)} {unit}"
