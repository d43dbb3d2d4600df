"""The demo: 24 SQL queries in three classes on Spark, first under `rr` with a job each, then under `mbd` in groups."""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from headgate.spark.session import Session
from headgate.spark.workload import open_workload
from headgate.workload import read_workload

FIRST, SECOND = ("rr, level=query", "off"), ("mbd, inversion=dsp", "class")  # a policy, and what shares a job
WARM_UP = 5.0  # seconds in which Spark compiles the queries for the first time; not counted


def main() -> None:
    """Run both halves and print what each class got."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="for both halves together")
    parser.add_argument("--workload", type=Path, default=Path(__file__).with_name("plant.toml"))
    options = parser.parse_args()
    print("starting Spark; the first half runs under", title(FIRST), flush=True)
    with open_workload(read_workload(options.workload), policy=FIRST[0], fuse=FIRST[1]) as session:
        session.spark.sparkContext.setLogLevel("ERROR")
        time.sleep(WARM_UP)
        before = half(session, options.seconds / 2)
        print("the second half runs under", title(SECOND), flush=True)
        session.set_policy(*SECOND)
        time.sleep(WARM_UP)
        after = half(session, options.seconds / 2)
        jobs = session.status().spark_jobs
    show(before, after, jobs)


class Half(NamedTuple):
    """What was seen while one policy decided."""

    times: dict[str, list[float]]  # response times by class, the most important first
    longest: tuple[float, str]  # the longest that a tuple waited for its query, and which


def half(session: Session, seconds: float) -> Half:
    """Watch for some seconds."""
    seen = {view.query.name: len(view.responses) for view in session.engine.overview().queries}
    longest, end = (0.0, ""), time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.5)
        longest = max(longest, *((line.oldest_wait, line.name) for line in session.status().queries))
    times: dict[str, list[float]] = {line.name: [] for line in session.status().classes}
    for view in session.engine.overview().queries:
        times[view.query.query_class] += list(view.responses[seen[view.query.name] :])
    return Half(times, longest)


def show(before: Half, after: Half, jobs: int) -> None:
    """Both halves side by side, in seconds."""
    print(f"\nresponse time in seconds, from arrival to durable commit ({jobs} Spark jobs)\n")
    print(f"{'class':12}{title(FIRST):>32}{title(SECOND):>32}")
    print(f"{'':12}" + f"{'p50':>16}{'p95':>16}" * 2)
    for name in before.times:
        cells = [f"{value:>16.3f}" for each in (before, after) for value in percentiles(each.times[name])]
        print(f"{name:12}" + "".join(cells))
    print()
    for each, told in ((before, FIRST), (after, SECOND)):
        seconds, query = each.longest
        print(f"{title(told)}: {inversions(each)}; no tuple waited longer than {seconds:.1f} s (for {query})")
    print("\nNext: .venv/bin/headgate run examples/plant.toml · .venv/bin/headgate compare examples/sensors.toml")


def inversions(half: Half) -> str:
    """Classes that were served later than a less important one, by the median."""
    medians = {name: percentiles(times)[0] for name, times in half.times.items()}
    found = [f"{name} after {lower}" for name, lower in pairwise(medians) if medians[name] > medians[lower]]
    return f"inverted: {', '.join(found)}" if found else "no class inverted"


def title(half: tuple[str, str]) -> str:
    """What a half runs under."""
    return f"{half[0]}, fuse={half[1]}"


def percentiles(times: list[float]) -> tuple[float, float]:
    """Median and 95th percentile; nan where there is no result."""
    if not times:
        return float("nan"), float("nan")
    p50, p95 = np.percentile(times, [50, 95])
    return float(p50), float(p95)


if __name__ == "__main__":
    main()
