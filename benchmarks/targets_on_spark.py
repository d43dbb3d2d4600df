"""What the policies that go by targets win and lose on Spark: six policies on three workloads, on one warm Spark.

    python benchmarks/targets_on_spark.py                    some fifteen minutes
    python benchmarks/targets_on_spark.py --seconds 15       a quicker look
    python benchmarks/targets_on_spark.py --json out/targets.json

The workloads are the plant's queries with targets of 200 ms, 600 ms and 3 s for its three classes: `tight`, those
without windows at five times the rates, which sharing jobs keeps up with; `overloaded`, the same at forty times the
rates, no two in a job; and `windows`, those with windows and joins at twice the rates. Every policy runs on each for
the same time, on a directory of its own, and its first seconds do not count. Policies take turns, the second time in
the opposite order, so that a machine which others use is as slow for all of them. Printed are, by class, the share of
results within the target, the median and the 95th percentile of response times, and the results; then the share of all
results within their targets, and what the sum of results is relative to the first policy's.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headgate.history.history import History
from headgate.history.ring import read_history
from headgate.model import Aggregate, Except, Join, Target, walk
from headgate.spark.jvm.settings import builder
from headgate.spark.workload import open_workload
from headgate.what_if.latest import latest
from headgate.what_if.response_times import ResponseTimes, recorded_times
from headgate.workload import Workload, read_workload

PLANT = Path(__file__).parents[1] / "examples" / "plant.toml"
POLICIES = ("express", "mbd", "hnr", "cameo", "edf-target", "klink")
TARGETS = {"critical": 0.2, "normal": 0.6, "background": 3.0}
WINDOWED = (Aggregate, Except, Join)
STARTING = 3.0  # seconds of each run that do not count


@dataclass(frozen=True)
class Case:
    """A workload, and which queries share a job in it."""

    workload: Workload
    fuse: str = "class"


def cases() -> dict[str, Case]:
    plant = read_workload(PLANT)
    classes = tuple(replace(one, target=Target(TARGETS[one.name])) for one in plant.classes)
    plant = replace(plant, classes=classes)
    windowed = tuple(query for query in plant.queries if any(isinstance(node, WINDOWED) for node in walk(query.plan)))
    rows = tuple(query for query in plant.queries if query not in windowed)
    return {
        "tight": Case(replace(faster(plant, 5), queries=rows)),
        "overloaded": Case(replace(faster(plant, 40), queries=rows), "off"),
        "windows": Case(replace(faster(plant, 2), queries=windowed)),
    }


def faster(workload: Workload, rate: float) -> Workload:
    """A workload with made-up sources at so many times their rates."""

    def source(text: str) -> str:
        return re.sub(r"rate=([\d.]+)", lambda match: f"rate={float(match[1]) * rate:g}", text)

    return replace(
        workload, streams=tuple(replace(stream, source=source(str(stream.source))) for stream in workload.streams)
    )


def run(spark: SparkSession, case: Case, policy: str, seconds: float) -> History:
    """What was recorded of a run."""
    with tempfile.TemporaryDirectory(prefix="headgate-targets-") as folder:
        directory = Path(folder) / "data"
        with open_workload(case.workload, spark=spark, directory=directory, policy=policy, workers=2, fuse=case.fuse):
            time.sleep(seconds)
        return read_history(directory)


def response_times(history: History) -> ResponseTimes:
    """The response times of a run, without its first seconds."""
    return recorded_times(latest(history, history.ended - history.began - STARTING))


def judged(times: ResponseTimes, workload: Workload) -> dict[str, dict[str, float]]:
    """By class, and of all: the share within the target, percentiles, results."""
    found: dict[str, dict[str, float]] = {}
    for name, target in TARGETS.items():
        names = [query.name for query in workload.queries if query.query_class == name]
        told = times.times(names)
        met = sum(
            count
            for query in names
            for seconds, count in zip(times.seconds.get(query, ()), times.counts.get(query, ()), strict=True)
            if seconds <= target
        )
        share = met / told.results if told.results else 0.0
        found[name] = {"met": share, "p50": told.p50 or 0.0, "p95": told.p95 or 0.0, "results": told.results}
    results = sum(told["results"] for told in found.values())
    in_time = sum(told["met"] * told["results"] for told in found.values())
    found["all"] = {"met": in_time / results if results else 0.0, "results": results}
    return found


def show(name: str, found: dict[str, dict[str, dict[str, float]]]) -> None:
    print(f"\n{name}: share of results within the target, p50 and p95 in seconds, results")
    print(
        f"{'policy':11}"
        + "".join(f" | {f'{one} ({TARGETS[one]:g} s)':31}" for one in TARGETS)
        + " | all in time, results"
    )
    first = next(iter(found.values()))["all"]["results"] or 1.0
    for policy, classes in found.items():
        cells = [
            f"{told['met']:6.1%} {told['p50']:7.3f} {told['p95']:7.3f} {told['results']:8,.0f}"
            for one, told in classes.items()
            if one != "all"
        ]
        of_all = classes["all"]
        print(
            f"{policy:11} | " + " | ".join(cells) + f" | {of_all['met']:6.1%} {of_all['results'] / first:5.2f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each turn of a policy on a workload")
    parser.add_argument("--turns", type=int, default=2, help="of each policy")
    parser.add_argument("--compiling", type=float, default=120.0, help="seconds before the first that counts")
    parser.add_argument("--policies", nargs="+", default=list(POLICIES))
    parser.add_argument("--only", nargs="+", choices=list(cases()), help="only these workloads")
    parser.add_argument("--json", type=Path, help="write everything there")
    options = parser.parse_args()
    spark = builder("local[*]", "targets").config("spark.log.level", "ERROR").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    chosen = {name: case for name, case in cases().items() if not options.only or name in options.only}
    for case in chosen.values():  # Java compiles what is used often: the first runs are several times slower
        run(spark, case, options.policies[0], options.compiling / len(chosen))
    found: dict[str, Any] = {}
    for name, case in chosen.items():
        run(spark, case, options.policies[0], STARTING)
        times = {policy: ResponseTimes() for policy in options.policies}
        for turn in range(options.turns):
            for policy in options.policies[:: -1 if turn % 2 else 1]:
                times[policy].extend(response_times(run(spark, case, policy, options.seconds)))
        found[name] = {policy: judged(theirs, case.workload) for policy, theirs in times.items()}
        show(name, found[name])
    spark.stop()
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
