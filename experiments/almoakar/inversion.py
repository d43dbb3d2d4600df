"""Priority inversion under eight schedulers on five workloads: published beside measured.

    python -m experiments.almoakar.inversion [--seconds 1] [--seeds 2] [--workload 5I]* [--jobs 1] [--write]

Prints the tables of README.md in this folder; `--write` puts them there. The whole takes about a quarter of an hour.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from experiments.almoakar.published import FIGURES, LEVELS, SCHEDULERS, UNINVERTED, Figure
from headgate.metrics import measure
from headgate.sim import simulate
from headgate.workload import read_workload

WORKLOADS = Path(__file__).parents[2] / "workloads"
PAGE = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- measured -->\n", "<!-- end -->\n"


@dataclass(frozen=True, slots=True)
class Run:
    """One simulation: PrIR of neighbouring classes at every level, and mean response times in ms."""

    workload: str
    scheduler: str
    seed: int
    inversion: Mapping[str, tuple[float, ...]]
    means: Mapping[str, float]

    @property
    def inverted(self) -> list[str]:
        """The levels at which some class answers later than the next lower one."""
        return [level for level in LEVELS if max(self.inversion[level]) > 0]


def run(workload: str, scheduler: str, seed: int, seconds: float) -> Run:
    """Simulate one."""
    found = replace(read_workload(WORKLOADS / f"almoakar-{workload}.toml"), duration=seconds, seed=seed)
    report = measure(simulate(found, scheduler))
    pairs = {level: tuple(pair.ratio or 0.0 for pair in report.inversion.levels[level]) for level in LEVELS}
    means = {name: 1000 * (each.response_time.mean or 0.0) for name, each in report.classes.items()}
    return Run(workload, scheduler, seed, pairs, means)


def run_all(workloads: Sequence[str], seeds: int, seconds: float, jobs: int) -> Iterator[Run]:
    """Simulate all, some at a time."""
    wanted = [
        (workload, scheduler, seed)
        for workload in workloads
        for scheduler in SCHEDULERS
        for seed in range(1, seeds + 1)
    ]
    with ProcessPoolExecutor(jobs) as pool:
        for number, found in enumerate(pool.map(run, *zip(*wanted, strict=True), [seconds] * len(wanted)), 1):
            print(f"{number}/{len(wanted)} {found.workload} {found.scheduler}", file=sys.stderr, flush=True)
            yield found


def inversions(runs: Sequence[Run]) -> str:
    """Who inverts where: a row for each workload and scheduler."""
    rows = []
    for workload, scheduler in dict.fromkeys((each.workload, each.scheduler) for each in runs):
        own = [each for each in runs if (each.workload, each.scheduler) == (workload, scheduler)]
        levels = [level for level in LEVELS if any(level in each.inverted for each in own)]
        published = "none" if scheduler in UNINVERTED[workload] else "inverts"
        found = ", ".join(levels) or "none"
        worst = max(max(each.inversion["mean"]) for each in own)
        same = (published == "none") == (not levels)
        rows.append((workload, f"`{scheduler}`", published, found, f"{worst:.3g}", _means(own), _verdict(same)))
    head = (
        "workload",
        "scheduler",
        "published",
        "measured: inverts at",
        "PrIR at the mean",
        "class means, ms",
        "verdict",
    )
    return _table(head, rows)


def figures(runs: Sequence[Run]) -> str:
    """The printed numbers."""
    rows = []
    for figure in FIGURES:
        own = [each for each in runs if (each.workload, each.scheduler) == (figure.workload, figure.scheduler)]
        if own:
            value = fmean(_value(figure, each) for each in own)
            same = _verdict(figure.low <= value <= figure.high)
            rows.append((figure.workload, f"`{figure.scheduler}`", figure.what, figure.printed, f"{value:.3g}", same))
    return _table(("workload", "scheduler", "number", "published", "measured", "verdict"), rows)


def _value(figure: Figure, found: Run) -> float:
    if figure.what == "PrIR":
        return max(found.inversion["mean"])
    above, below = figure.what.split("/")
    return found.means[above] / found.means[below]


def _means(own: Sequence[Run]) -> str:
    return " ".join(f"{fmean(each.means[name] for each in own):.3g}" for name in own[0].means)


def _verdict(same: bool) -> str:
    return "reproduced" if same else "**not reproduced**"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head), *map(list, rows)]
    rule = ["---"] * len(lines[0])
    return "".join(f"| {' | '.join(line)} |\n" for line in (lines[0], rule, *lines[1:]))


def main() -> None:
    """Run, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="simulated seconds of each run")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--workload", action="append", choices=list(UNINVERTED))
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.name}")
    given = parser.parse_args()
    runs = list(run_all(given.workload or list(UNINVERTED), given.seeds, given.seconds, given.jobs))
    text = f"## Who inverts\n\n{inversions(runs)}\n## Printed numbers\n\n{figures(runs)}"
    print(text)
    if given.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}{text}{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
