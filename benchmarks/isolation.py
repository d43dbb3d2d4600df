"""Whether the important class stays quick while the others saturate Spark: the plant, at many times its rates.

    python benchmarks/isolation.py --quick                         20 times the rates, the default and mbd; four minutes
    python benchmarks/isolation.py --plot out/isolation.png        everything

At each rate first the critical class alone, under the default policy, then all classes under each policy. Everything
runs on one Spark, one after the other, on a directory of its own: a warm-up that does not count, then the time that
does. Printed are, for each class: mean, median, p95 and p99 of response times in seconds, results per second, and the
longest that a tuple waited. Ratios are of one run.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

from headgate.spark.jvm.settings import builder
from headgate.spark.machine.views import Overview
from headgate.spark.session import Session
from headgate.spark.workload import open_workload
from headgate.workload import Workload, read_workload

PLANT = Path(__file__).parents[1] / "examples" / "plant.toml"
LEFT_OUT = ("alarm-in-heat",)  # it gives results by the thousand at these rates, and is none of the others' business
HIGHEST = "critical"


@dataclass(frozen=True)
class Case:
    """What runs for a while."""

    rate: float  # times that of the file
    policy: str
    alone: bool = False  # the critical class only
    workers: int = 2

    def __str__(self) -> str:
        return f"{self.rate:g} ×, {'critical alone, ' if self.alone else ''}{self.policy}"


@dataclass
class Seen:
    """What a class got."""

    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    per_second: float = 0.0  # results
    longest_wait: float = 0.0  # of a tuple, as far as somebody looked


@dataclass
class Outcome:
    """What a case gave."""

    classes: dict[str, Seen] = field(default_factory=dict)
    cancelled: float = 0.0  # share of the time of all runs
    error: float | None = None  # median error of predicted run times


def plant(rate: float, alone: bool = False) -> Workload:
    """The plant at so many times its rates."""
    workload = read_workload(PLANT)
    streams = tuple(replace(stream, source=faster(str(stream.source), rate)) for stream in workload.streams)
    queries = tuple(
        query
        for query in workload.queries
        if query.name not in LEFT_OUT and (query.query_class == HIGHEST or not alone)
    )
    return replace(workload, streams=streams, queries=queries)


def faster(source: str, rate: float) -> str:
    """A made-up source at so many times its rate.

    >>> faster("poisson, rate=400, a=[0, 1]", 20)
    'poisson, rate=8000, a=[0, 1]'
    """
    return re.sub(r"rate=([\d.]+)", lambda match: f"rate={float(match[1]) * rate:g}", source)


def measured(spark: SparkSession, case: Case, warm_up: float, seconds: float) -> Outcome:
    """Run a case."""
    with (
        tempfile.TemporaryDirectory(prefix="headgate-isolation-") as folder,
        open_workload(
            plant(case.rate, case.alone),
            spark=spark,
            directory=f"{folder}/data",
            policy=case.policy,
            workers=case.workers,
        ) as session,
    ):
        time.sleep(warm_up)
        before, began, longest = session.engine.overview(), time.monotonic(), dict[str, float]()
        while time.monotonic() < began + seconds:
            time.sleep(0.25)
            for view in session.engine.overview().queries:  # not the status, which takes a while to compute
                name = view.query.query_class
                longest[name] = max(longest.get(name, 0.0), view.oldest_wait)
        return summary(session, before, longest, time.monotonic() - began)


def summary(session: Session, before: Overview, longest: Mapping[str, float], seconds: float) -> Outcome:
    after, since = session.engine.overview(), session.engine.now() - seconds
    outcome = Outcome()
    earlier = {view.query.name: view.tuples_out for view in before.queries}
    for name in dict.fromkeys(view.query.query_class for view in after.queries):
        views = [view for view in after.queries if view.query.query_class == name]
        took = np.concatenate([view.results.took[view.results.at >= since] for view in views])
        results = sum(view.tuples_out - earlier[view.query.name] for view in views)
        seen = outcome.classes[name] = Seen(per_second=results / seconds, longest_wait=longest.get(name, 0.0))
        if took.size:
            seen.mean = float(np.mean(took))
            seen.p50, seen.p95, seen.p99 = (float(np.percentile(took, part)) for part in (50, 95, 99))
    return outcome


def line(case: Case, outcome: Outcome) -> str:
    def of(seen: Seen) -> str:
        if seen.mean is None:
            return f"{'no results':>32}"
        times = f"{seen.mean:6.2f} {seen.p50:5.2f} {seen.p95:6.2f} {seen.p99:6.2f}"
        return f"{times} {seen.per_second:7.0f}/s {seen.longest_wait:5.1f}"

    return f"{case!s:46}" + " |".join(of(seen) for seen in outcome.classes.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", type=float, nargs="+", default=[1, 5, 20, 50])
    parser.add_argument("--policies", nargs="+", default=["mbd, inversion=dsp", "rr", "fcfs"])
    parser.add_argument("--seconds", type=float, default=25.0)
    parser.add_argument("--warm-up", type=float, default=12.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--no-alone", action="store_true")
    options = parser.parse_args()
    spark = builder("local[*]", "isolation").config("spark.log.level", "ERROR").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    measured(spark, Case(20, options.policies[0], workers=options.workers), 0.0, options.warm_up)  # Java compiles
    for rate in options.rates:
        cases = [] if options.no_alone else [Case(rate, options.policies[0], alone=True, workers=options.workers)]
        cases += [Case(rate, policy, workers=options.workers) for policy in options.policies]
        for case in cases:
            print(line(case, measured(spark, case, options.warm_up, options.seconds)), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
