"""The demo: 23 SQL queries in three classes on Spark; first under `rr`, then at a rate that saturates, under `express`.

In the first half each query has jobs of its own, and takes its turn. In the second half ten times as many tuples come,
queries of a class share jobs, and the critical class is kept apart from the others.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from headgate.metrics.report.run_report import Report
from headgate.spark.jvm.settings import builder
from headgate.spark.session import Session
from headgate.spark.workload import open_workload
from headgate.workload import Workload, read_workload
from headgate.workload.rates import faster


class Part(NamedTuple):
    """A policy, what shares a job, and how many times the workload's rates."""

    policy: str
    fuse: str
    rate: int

    def __str__(self) -> str:
        return f"{self.policy}, fuse={self.fuse}, {self.rate} × the rates"


FIRST, SECOND = Part("rr, level=query", "off", 1), Part("express", "class", 10)
WARM_UP = 8.0  # seconds in which Spark compiles the queries for the first time; not counted
LEFT_OUT = "alarm-in-heat"  # a join that gives results by the thousand at such rates


def main() -> None:
    """Run both halves and print what each class got."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="for both halves together")
    parser.add_argument("--workload", type=Path, default=Path(__file__).with_name("plant.toml"))
    options = parser.parse_args()
    print("starting Spark", flush=True)
    spark = builder("local[*]", "demo").config("spark.log.level", "ERROR").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    workload = read_workload(options.workload)
    before, after = (half(spark, workload, part, options.seconds / 2) for part in (FIRST, SECOND))
    spark.stop()
    show(before, after)


def without(workload: Workload, name: str) -> Workload:
    """The workload without a query."""
    return replace(workload, queries=tuple(query for query in workload.queries if query.name != name))


class Half(NamedTuple):
    """What was seen while one policy decided."""

    report: Report  # by the measures of the simulator
    longest: tuple[float, str]  # the longest that a tuple waited for its query, and which
    jobs: float  # a second
    results: float  # a second


def half(spark: SparkSession, workload: Workload, part: Part, seconds: float) -> Half:
    """Run the queries, and watch them for some seconds."""
    print("now under", part, flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="headgate-demo-") as folder,
        open_workload(
            faster(without(workload, LEFT_OUT), part.rate),
            spark=spark,
            directory=f"{folder}/data",
            policy=part.policy,
            fuse=part.fuse,
        ) as session,
    ):
        time.sleep(WARM_UP)
        return watched(session, seconds)


def watched(session: Session, seconds: float) -> Half:
    """What is seen in some seconds."""
    before, began, longest = session.status(), time.monotonic(), (0.0, "")
    while time.monotonic() < began + seconds:
        time.sleep(0.5)
        lines = ((view.oldest_wait, view.query.name) for view in session.engine.overview().queries)
        longest = max(longest, *lines)
    passed, after = time.monotonic() - began, session.status()
    jobs = (after.spark_jobs - before.spark_jobs) / passed
    results = (after.total().tuples_out - before.total().tuples_out) / passed
    return Half(session.report(last=passed), longest, jobs, results)


def show(before: Half, after: Half) -> None:
    """Both halves side by side, in seconds."""
    print("\nresponse time in seconds, from arrival to durable commit\n")
    print(f"{'class':12}" + "".join(f"{title:>40}" for title in map(str, (FIRST, SECOND))))
    print(f"{'':12}" + f"{'p50':>24}{'p95':>16}" * 2)
    for name in before.report.classes:
        times = [half.report.classes[name].response_time for half in (before, after)]
        print(f"{name:12}" + "".join(f"{cell(time.p50):>24}{cell(time.p95):>16}" for time in times))
    print()
    for half, part in ((before, FIRST), (after, SECOND)):
        seconds, query = half.longest
        work = f"{half.results:,.0f} results and {half.jobs:.0f} Spark jobs a second"
        print(f"{part}: {work}; {judged(half.report)}; no tuple waited longer than {seconds:.1f} s (for {query})")
    print("\nNext: .venv/bin/headgate run examples/plant.toml · .venv/bin/headgate compare examples/sensors.toml")


def judged(report: Report) -> str:
    """Classes that were served later than a less important one, by the median, and classes that starve."""
    inverted = [f"{pair.above} after {pair.below}" for pair in report.inversion.levels["p50"] if pair.ratio]
    starving = f"; starving: {', '.join(report.starvation.rising)}" if report.starvation.rising else ""
    return (f"inverted: {', '.join(inverted)}" if inverted else "no class inverted") + starving


def cell(seconds: float | None) -> str:
    """A number of the table; empty where there is no result."""
    return "" if seconds is None else f"{seconds:.3f}"


if __name__ == "__main__":
    main()
