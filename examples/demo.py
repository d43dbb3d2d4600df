"""The demo: 24 SQL queries in three classes on Spark, first under `rr` with a job each, then under `mbd` in groups."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import NamedTuple

from headgate.metrics.report.run_report import Report
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

    report: Report  # by the measures of the simulator
    longest: tuple[float, str]  # the longest that a tuple waited for its query, and which


def half(session: Session, seconds: float) -> Half:
    """Watch for some seconds."""
    longest, began = (0.0, ""), time.monotonic()
    while time.monotonic() < began + seconds:
        time.sleep(0.5)
        longest = max(longest, *((line.oldest_wait, line.name) for line in session.status().queries))
    return Half(session.report(last=time.monotonic() - began), longest)


def show(before: Half, after: Half, jobs: int) -> None:
    """Both halves side by side, in seconds."""
    print(f"\nresponse time in seconds, from arrival to durable commit ({jobs} Spark jobs)\n")
    print(f"{'class':12}{title(FIRST):>32}{title(SECOND):>32}")
    print(f"{'':12}" + f"{'p50':>16}{'p95':>16}" * 2)
    for name in before.report.classes:
        times = [half.report.classes[name].response_time for half in (before, after)]
        print(f"{name:12}" + "".join(cell(seconds) for time in times for seconds in (time.p50, time.p95)))
    print()
    for half, policy in ((before, FIRST), (after, SECOND)):
        seconds, query = half.longest
        print(f"{title(policy)}: {judged(half.report)}; no tuple waited longer than {seconds:.1f} s (for {query})")
    print("\nNext: .venv/bin/headgate run examples/plant.toml · .venv/bin/headgate compare examples/sensors.toml")


def judged(report: Report) -> str:
    """Classes that were served later than a less important one, by the median, and classes that starve."""
    inverted = [f"{pair.above} after {pair.below}" for pair in report.inversion.levels["p50"] if pair.ratio]
    starving = f"; starving: {', '.join(report.starvation.rising)}" if report.starvation.rising else ""
    return (f"inverted: {', '.join(inverted)}" if inverted else "no class inverted") + starving


def title(half: tuple[str, str]) -> str:
    """What a half runs under."""
    return f"{half[0]}, fuse={half[1]}"


def cell(seconds: float | None) -> str:
    """A number of the table; empty where there is no result."""
    return " " * 16 if seconds is None else f"{seconds:>16.3f}"


if __name__ == "__main__":
    main()
