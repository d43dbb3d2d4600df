"""How far a what-if is off: workloads on Spark under three policies each, each predicted from the others' histories.

    python benchmarks/what_if.py --quick               the plant only, 30 s for each policy
    python benchmarks/what_if.py                       three workloads; half an hour
    python benchmarks/what_if.py --json out/what-if.json

The workloads: the plant as it is; the plant at five times its rates; and its queries without windows at twenty times,
none of them sharing a job. Each runs on one warm Spark under each policy, on a directory of its own. Then every policy
is predicted from every directory. Printed are, for each pair and class, the recorded mean response time, the predicted
one and how far that is off; whether the policies are in the right order wherever their means differ by more than the
error of the replay; and in how many of the predictions from another policy the mean is within 20 %.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headgate.history.history import History
from headgate.history.ring import read_history
from headgate.model import Aggregate, Except, Join, walk
from headgate.spark.jvm.settings import builder
from headgate.spark.workload import open_workload
from headgate.what_if.comparison import SURE, relative
from headgate.what_if.learned import Learned
from headgate.what_if.question import Changed
from headgate.what_if.replay import replay
from headgate.what_if.response_times import Judged
from headgate.workload import Workload, read_workload

PLANT = Path(__file__).parents[1] / "examples" / "plant.toml"
POLICIES = ("fcfs", "mbd", "express")
GOOD = 0.2
WINDOWED = (Aggregate, Except, Join)


@dataclass(frozen=True)
class Case:
    """A workload, and which queries share a job in it."""

    workload: Workload
    fuse: str = "class"


def cases() -> dict[str, Case]:
    plant = read_workload(PLANT)
    rows = tuple(query for query in plant.queries if not any(isinstance(node, WINDOWED) for node in walk(query.plan)))
    return {
        "plant": Case(plant),
        "plant, 5 times the rates": Case(faster(plant, 5)),
        "queries without windows, 20 times the rates": Case(replace(faster(plant, 20), queries=rows), "off"),
    }


def faster(workload: Workload, rate: float) -> Workload:
    """A workload with made-up sources at so many times their rates."""

    def source(text: str) -> str:
        return re.sub(r"rate=([\d.]+)", lambda match: f"rate={float(match[1]) * rate:g}", text)

    return replace(
        workload, streams=tuple(replace(stream, source=source(str(stream.source))) for stream in workload.streams)
    )


def recorded(spark: SparkSession, case: Case, policy: str, seconds: float, workers: int) -> History:
    """The history of a run."""
    with tempfile.TemporaryDirectory(prefix="headgate-what-if-") as folder:
        directory = Path(folder) / "data"
        with open_workload(
            case.workload, spark=spark, directory=directory, policy=policy, workers=workers, fuse=case.fuse
        ):
            time.sleep(seconds)
        return read_history(directory)


def predictions(known: Mapping[str, Learned], seed: int) -> dict[str, dict[str, Judged]]:
    """By the policy that was recorded and the one that is asked for: what is predicted."""
    return {
        source: {asked: replay(learned, asked, Changed(seed=seed)) for asked in known}
        for source, learned in known.items()
    }


def told(name: str, known: Mapping[str, Learned], predicted: Mapping[str, Mapping[str, Judged]]) -> dict[str, Any]:
    """Print the errors of a workload, and return them."""
    errors: dict[str, dict[str, dict[str, float | None]]] = {}
    for source, found in predicted.items():
        for asked, judged in found.items():
            for query_class, times in known[asked].recorded.classes.items():
                mean = judged.classes[query_class].mean
                error = relative(mean, times.mean)
                errors.setdefault(source, {}).setdefault(asked, {})[query_class] = error
                shown = [f"{value:8.3f}" if value is not None else "       –" for value in (times.mean, mean)]
                off = "–" if error is None else f"{error:5.0%}"
                print(f"{name:45} {source:8} → {asked:8} {query_class:11} {shown[0]} s {shown[1]} s {off}")
    others = [
        error
        for source, by_policy in errors.items()
        for asked, by_class in by_policy.items()
        for error in by_class.values()
        if source != asked and error is not None
    ]
    good = sum(error <= GOOD for error in others)
    right, decided = orders(known, predicted)
    print(f"{name}: {good} of {len(others)} means within {GOOD:.0%}; {right} of {decided} pairs in the right order\n")
    return {"errors": errors, "within": good, "of": len(others), "right": right, "pairs": decided}


def orders(known: Mapping[str, Learned], predicted: Mapping[str, Mapping[str, Judged]]) -> tuple[int, int]:
    """How many pairs of policies are in the right order, of those that differ by more than the error, by class."""
    right = decided = 0
    for source, found in predicted.items():
        for query_class, times in known[source].recorded.classes.items():
            error = max(SURE, relative(found[source].classes[query_class].mean, times.mean) or 0.0)
            for one, other in combinations(found, 2):
                means = [found[policy].classes[query_class].mean for policy in (one, other)]
                true = [known[policy].recorded.classes[query_class].mean for policy in (one, other)]
                difference = relative(means[0], means[1])
                if difference is None or None in true or difference <= error:
                    continue
                decided += 1
                right += (means[0] < means[1]) == (true[0] < true[1])  # type: ignore[operator]
    return right, decided


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the plant only, 30 s for each policy")
    parser.add_argument("--seconds", type=float, default=90.0, help="for each policy")
    parser.add_argument("--compiling", type=float, default=60.0, help="seconds before the first that counts")
    parser.add_argument("--policies", nargs="+", default=list(POLICIES))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write everything there")
    options = parser.parse_args()
    chosen = cases()
    if options.quick:
        options.seconds, options.compiling = 30.0, 20.0
        chosen = {"plant": chosen["plant"]}
    spark = builder("local[*]", "what-if").config("spark.log.level", "ERROR").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    found: dict[str, Any] = {}
    for name, case in chosen.items():
        # Java compiles what is used often: without this the first policy would be several times slower than the last.
        recorded(spark, case, options.policies[0], options.compiling, options.workers)
        known = {
            policy: Learned.of(recorded(spark, case, policy, options.seconds, options.workers))
            for policy in options.policies
        }
        found[name] = told(name, known, predictions(known, options.seed))
    spark.stop()
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
