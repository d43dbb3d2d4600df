"""The demo: 24 SQL queries in three classes on Spark, first under `rr` with a job each, then under `mbd` in groups."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

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


def half(session: Session, seconds: float) -> dict[str, list[float]]:
    """The response times of every class within some seconds."""
    queries = session.engine.queries.values()
    seen = {running.name: len(running.tally.responses) for running in queries}
    time.sleep(seconds)
    times: dict[str, list[float]] = {line.name: [] for line in session.status().classes}
    for running in queries:
        times[session.engine.class_of(running.name)] += list(running.tally.responses[seen[running.name] :])
    return times


def show(before: dict[str, list[float]], after: dict[str, list[float]], jobs: int) -> None:
    """Both halves side by side, in seconds."""
    print(f"\nresponse time in seconds, from arrival to durable commit ({jobs} Spark jobs)\n")
    print(f"{'class':12}{title(FIRST):>32}{title(SECOND):>32}")
    print(f"{'':12}" + f"{'p50':>16}{'p95':>16}" * 2)
    for name in before:
        cells = [f"{value:>16.3f}" for times in (before[name], after[name]) for value in percentiles(times)]
        print(f"{name:12}" + "".join(cells))
    print("\nNext: .venv/bin/headgate run examples/plant.toml · .venv/bin/headgate compare examples/sensors.toml")


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
