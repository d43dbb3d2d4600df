"""A timeline: above a row per worker with its runs, coloured by class; below the waits of queries for their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from os import PathLike
from typing import TYPE_CHECKING

from headgate.history.records import RunRecord
from headgate.insight.parts import Moments, results
from headgate.insight.why import Explainer
from headgate.metrics.pictures.style import INK, QUIET, Style, style
from headgate.metrics.pictures.writing import write_picture
from headgate.model.number_text import duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_RUNS = 250  # drawn if no stretch is asked for: more are too narrow to see
MOST_QUERIES = 12  # with waits, those that wait longest
MARKED = 3  # longest waits that are named
BAR = 0.72  # of a row's height
LETTERS = 26


def usual_stretch(explainer: Explainer) -> tuple[float, float]:
    """The newest stretch whose runs can still be told apart."""
    runs = explainer.runs[-MOST_RUNS:]
    whole = len(explainer.runs) <= MOST_RUNS
    return (explainer.history.began if whole else runs[0].began), explainer.history.now


def draw_timeline(explainer: Explainer, path: str | PathLike[str], since: float, upto: float) -> None:
    """Draw what ran between two times, and who waited."""
    write_picture(lambda: _compose(explainer, since, upto), path)


def _compose(explainer: Explainer, since: float, upto: float) -> Figure:
    from matplotlib.figure import Figure

    history, names = explainer.history, explainer.classes.ordered()
    looks = {name: style(place) for place, name in enumerate(names)}
    shown_runs = [run for run in explainer.runs if run.ended >= since and run.began <= upto]
    workers = _rows(shown_runs, int(history.header.get("workers", 0)))
    waits = _waits(explainer, since, upto)
    rows = 1 + max(workers.values(), default=0), max(1, len(waits))
    figure = Figure(figsize=(11.0, 1.9 + 0.3 * sum(rows)), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=rows)
    _draw_runs(above, shown_runs, workers, looks, history.origin)
    _draw_waits(below, explainer, waits, looks, (since, upto))
    below.set_xlim(since - history.origin, max(upto, since + 1e-9) - history.origin)
    below.set_xlabel("seconds since the start")
    shown = {run.query_class for run in shown_runs}
    shown |= {explainer.classes.of.get(query, "") for query in waits}
    _legend(figure, {name: look for name, look in looks.items() if name in shown}, explainer)
    policy = history.header.get("policy", "")
    figure.suptitle(
        f"runs and waits under {policy}" if policy else "runs and waits", x=0.01, ha="left", fontweight="bold"
    )
    return figure


def _rows(runs: Sequence[RunRecord], workers: int) -> dict[int, int]:
    """The row of each run: its worker, or the first that is free where the driver counts committing runs as well."""
    if all(run.worker < workers for run in runs):
        return {run.id: run.worker for run in runs}
    free: list[float] = []  # from when on, by row
    rows: dict[int, int] = {}
    for run in runs:
        row = next((row for row, at in enumerate(free) if at <= run.began), len(free))
        free[row:] = [run.evaluated, *free[row + 1 :]]
        rows[run.id] = row
    return rows


def _draw_runs(
    ax: Axes, runs: Sequence[RunRecord], rows: Mapping[int, int], looks: Mapping[str, Style], origin: float
) -> None:
    for run in runs:
        look, place = looks[run.query_class], rows[run.id] - BAR / 2
        ax.broken_barh(
            [(run.began - origin, run.evaluated - run.began)],
            (place, BAR),
            facecolor="white" if run.cancelled or run.unfinished else look.colour,
            edgecolor=look.colour if run.cancelled or run.unfinished else "white",
            hatch="////" if run.cancelled else "...." if run.unfinished else None,
            linewidth=0.2,
            zorder=3,
        )
        if run.ended > run.evaluated:
            ax.broken_barh(
                [(run.evaluated - origin, run.ended - run.evaluated)],
                (place, BAR),
                facecolor=look.tint,
                edgecolor="none",
                zorder=2,
            )
    workers = 1 + max(rows.values(), default=0)
    ax.set_yticks(range(workers), [f"worker {worker}" for worker in range(workers)])
    _finish_rows(ax, workers)


def _draw_waits(
    ax: Axes,
    explainer: Explainer,
    waits: Mapping[str, Sequence[Moments]],
    looks: Mapping[str, Style],
    stretch: tuple[float, float],
) -> None:
    origin = explainer.history.origin
    for place, (query, lives) in enumerate(waits.items()):
        look = looks[explainer.classes.of[query]]
        for life in lives:
            ax.plot([life.arrival - origin, life.ready - origin], [place] * 2, ":", color=QUIET, lw=1.0, zorder=2)
            ax.broken_barh(
                [(life.ready - origin, life.began - life.ready)],
                (place - 0.2, 0.4),
                facecolor=look.tint,
                edgecolor=look.colour,
                linewidth=0.6,
                zorder=3,
            )
            ax.plot(life.began - origin, place, "|", color=look.colour, ms=9, mew=1.4, zorder=4)
    ax.set_yticks(range(len(waits)), [_shortened(query) for query in waits])
    _finish_rows(ax, len(waits))
    marked = sorted(
        ((life.began - life.ready, place, life) for place, lives in enumerate(waits.values()) for life in lives),
        key=lambda wait: -wait[0],
    )
    _mark(ax, marked, origin, stretch)
    if not waits:
        ax.text(0.5, 0.5, "nothing waited", transform=ax.transAxes, ha="center", va="center", color=QUIET)


def _mark(ax: Axes, waits: Sequence[tuple[float, int, Moments]], origin: float, stretch: tuple[float, float]) -> None:
    """Name the longest waits, one of each query."""
    named: set[int] = set()
    for seconds, place, life in waits:
        if len(named) == MARKED or seconds <= 0:
            return
        if place in named:
            continue
        named.add(place)
        middle = (max(life.ready, stretch[0]) + min(life.began, stretch[1])) / 2 - origin
        ax.annotate(
            duration(seconds),
            (middle, place),
            xytext=(0, 8),
            textcoords="offset points",
            ha="center",
            va="bottom",
            annotation_clip=False,
            fontsize=7.5,
            fontweight="bold",
            color=INK,
            zorder=6,
        )


def _waits(explainer: Explainer, since: float, upto: float) -> dict[str, list[Moments]]:
    """The waits of the queries that waited longest, by class and name."""
    found: dict[str, list[Moments]] = {}
    for result in results(explainer.history, slowest=True):
        if result.moments.began >= since and result.moments.arrival <= upto:
            found.setdefault(result.query, []).append(result.moments)
    for query in explainer.classes.of:
        if (still := explainer.waiting(query)) is not None:
            found.setdefault(query, []).append(still.moments)
    longest = _longest(found, explainer.classes.of)
    order = {name: place for place, name in enumerate(explainer.classes.ordered())}
    ordered = sorted(longest, key=lambda query: (order.get(explainer.classes.of.get(query, ""), len(order)), query))
    return {query: found[query] for query in ordered if query in explainer.classes.of}


def _longest(found: Mapping[str, Sequence[Moments]], of: Mapping[str, str]) -> list[str]:
    """The queries that waited longest, of each class the same number as far as it has them."""
    ranked = sorted(found, key=lambda query: -max(life.began - life.ready for life in found[query]))
    of_class: dict[str, list[str]] = {}
    for query in ranked:
        of_class.setdefault(of.get(query, ""), []).append(query)
    turns = [query for turn in zip_longest(*of_class.values()) for query in turn if query is not None]
    return turns[:MOST_QUERIES]


def _finish_rows(ax: Axes, rows: int) -> None:
    ax.set_ylim(max(rows, 1) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x")


def _legend(figure: Figure, looks: Mapping[str, Style], explainer: Explainer) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Patch | Line2D] = [Patch(color=look.colour, label=_shortened(name)) for name, look in looks.items()]
    runs = explainer.runs
    if any(run.ended > run.evaluated for run in runs):
        handles.append(Patch(facecolor="#DDDDDD", label="committing"))
    if any(run.cancelled for run in runs):
        handles.append(Patch(facecolor="white", edgecolor=QUIET, hatch="////", label="cancelled"))
    if any(run.unfinished for run in runs):
        handles.append(Patch(facecolor="white", edgecolor=QUIET, hatch="....", label="not ended"))
    handles.append(Patch(facecolor="#F2F2F2", edgecolor=QUIET, label="waits in the queue"))
    if any(answer.released is not None for run in runs for answer in run.answers.values()):
        handles.append(Line2D([], [], linestyle=":", color=QUIET, label="waits for its window"))
    figure.legend(handles=handles, loc="outside upper right", ncols=min(6, len(handles)), frameon=False, fontsize=8)


def _shortened(name: str) -> str:
    return name if len(name) <= LETTERS else name[: LETTERS - 1] + "…"
