"""The report of a reproduction as a page of Markdown: every published result with its verdict."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from headgate import __version__
from headgate.reproduction.catalogue import Catalogue
from headgate.reproduction.comparisons import CROSSING_TOLERANCE, RATIO_TOLERANCE, Verdict
from headgate.reproduction.experiment import Document
from headgate.reproduction.outcome import Outcome, counts
from headgate.reproduction.pictures import draw_picture

PICTURES = Path("pictures") / "reproduction"  # beside the report
PACKAGES = ("numpy", "numba", "pyspark", "pyarrow")
HEAD = ("Document", "Figure", "Claim", "Published", "Measured", "Verdict", "Picture")


@dataclass(frozen=True, slots=True)
class Circumstances:
    """When, with which size and on what a reproduction was made."""

    day: date
    full: bool

    def text(self) -> str:
        size = "full" if self.full else "quick"
        short = "" if self.full else " Runs of that size are short and over few seeds: a first look, not the last word."
        return f"Made on {self.day.isoformat()} by `headgate reproduce --{size} --report`, on {machine()}.{short}"


def machine() -> str:
    """Cores and versions."""
    versions = [f"headgate {__version__}", f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return f"{os.cpu_count()} cores ({platform.machine()}), {', '.join(versions)}"


def write_report(path: Path, catalogue: Catalogue, outcomes: Sequence[Outcome], circumstances: Circumstances) -> None:
    """Write the page, and the pictures into a folder beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(_page(path, catalogue, outcomes, circumstances)), encoding="utf-8")


def _page(path: Path, catalogue: Catalogue, outcomes: Sequence[Outcome], made: Circumstances) -> Iterator[str]:
    counted = counts(outcomes)
    yield "# The documents' results, run again\n"
    yield f"{made.text()} How to run one, and how to write one: [reproducing.md](reproducing.md).\n"
    yield (
        f"Of {len(outcomes)} published results {counted[Verdict.REPRODUCED]} are reproduced, "
        f"{counted[Verdict.PARTLY]} partly, {counted[Verdict.NOT]} not. A verdict follows from the numbers by one "
        "rule: *reproduced* is the published order exactly, "
        f"ratios within {RATIO_TOLERANCE * 100:.0f} %, crossing points within {CROSSING_TOLERANCE * 100:.0f} %; "
        "*partly* is the published order with figures outside of that; everything else is *not*. Measured numbers are "
        "means over the seeds with their 95 % interval.\n"
    )
    yield from _overview(catalogue, outcomes)
    for document in catalogue.documents:
        own = [outcome for outcome in outcomes if outcome.experiment.document == document.name]
        if own:
            yield from _chapter(path, document, own, full=made.full)


def _overview(catalogue: Catalogue, outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield _row(("Document", *Verdict))
    yield _row(["---"] * 4)
    for document in catalogue.documents:
        counted = counts(outcome for outcome in outcomes if outcome.experiment.document == document.name)
        if any(counted.values()):
            yield _row((document.title, *map(str, counted.values())))
    yield ""


def _chapter(path: Path, document: Document, outcomes: Sequence[Outcome], *, full: bool) -> Iterator[str]:
    yield f"## {document.title}\n"
    if document.chosen:
        yield f"{_one_line(document.chosen)}\n"
    yield _row(HEAD)
    yield _row(["---"] * len(HEAD))
    for outcome in outcomes:
        yield _row(_cells(path, outcome, full=full))
    yield ""
    for outcome in outcomes:
        yield from _remarks(outcome)


def _cells(path: Path, outcome: Outcome, *, full: bool) -> Iterator[str]:
    experiment = outcome.experiment
    seeds = experiment.size(full).seeds
    drawn = draw_picture(outcome, path.parent / PICTURES, seeds=seeds)
    yield experiment.document
    yield f"**{experiment.id}** {experiment.source}"
    yield _one_line(experiment.claim)
    yield "<br>".join(outcome.published)
    yield "<br>".join([*outcome.measured, f"({seeds} {'seed' if seeds == 1 else 'seeds'})"])
    yield outcome.verdict if outcome.verdict is Verdict.REPRODUCED else f"**{outcome.verdict}**"
    yield f"[picture]({(PICTURES / drawn.name).as_posix()})" if drawn else ""


def _remarks(outcome: Outcome) -> Iterator[str]:
    """Why it is not fully reproduced, and what it depends on."""
    experiment = outcome.experiment
    parts = []
    if outcome.verdict is not Verdict.REPRODUCED:
        parts += [*_misses(outcome), _one_line(experiment.paragraph)]
    if experiment.sensitive:
        parts.append(f"Depends on: {_one_line(experiment.sensitive)}")
    if parts:
        yield f"### {experiment.document} {experiment.id}: {outcome.verdict}\n"
        yield from (f"{part}\n" for part in parts if part)


def _misses(outcome: Outcome) -> Iterator[str]:
    order = [each.what for each in outcome.comparisons if not each.order_ok]
    figures = [each.what for each in outcome.comparisons if each.order_ok and not each.figures_ok]
    if order:
        yield f"Not in the published order: {'; '.join(order)}."
    if figures:
        yield f"Figures too far away: {'; '.join(figures)}."


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '∣') for cell in cells)} |"


def _one_line(text: str) -> str:
    return " ".join(text.split())
