"""How far a what-if is off: workloads on Spark under three policies each, each predicted from the others' histories.

    python benchmarks/what_if.py --quick                  the plant only, after less time to compile
    python benchmarks/what_if.py                          three workloads; a quarter of an hour
    python benchmarks/what_if.py --keep out/recordings    keeps them; what is there already is not recorded again
    python benchmarks/what_if.py --json out/what-if.json

The workloads: `plant` as it is; `filters`, its queries without windows at twenty times the rates, none of them sharing
a job; and `windows`, its joins and aggregates at five times the rates. Each runs on one warm Spark under each policy,
on a directory of its own; the policies take turns, so that a machine which others use is as slow for all of them. Then
every policy is predicted from every directory. Printed are, for each pair and class, the recorded mean response time
of all turns, the predicted one and how far that is off; whether the policies are in the right order wherever their
means differ by more than the error of the replay; and in how many of the predictions from another policy the mean is
within 20 %. Nothing is fitted on what is predicted. The mean seconds of a run in each turn show how steady the machine
was.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
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
Means = dict[str, float | None]  # response times by class
WINDOWED = (Aggregate, Except, Join)
AGAIN = 60.0  # seconds for Java to compile what is new in a further workload


@dataclass(frozen=True)
class Case:
    """A workload, and which queries share a job in it."""

    workload: Workload
    fuse: str = "class"


def cases() -> dict[str, Case]:
    plant = read_workload(PLANT)
    windowed = tuple(query for query in plant.queries if any(isinstance(node, WINDOWED) for node in walk(query.plan)))
    rows = tuple(query for query in plant.queries if query not in windowed)
    return {
        "plant": Case(plant),
        "filters": Case(replace(faster(plant, 20), queries=rows), "off"),
        "windows": Case(replace(faster(plant, 5), queries=windowed)),
    }


def faster(workload: Workload, rate: float) -> Workload:
    """A workload with made-up sources at so many times their rates."""

    def source(text: str) -> str:
        return re.sub(r"rate=([\d.]+)", lambda match: f"rate={float(match[1]) * rate:g}", text)

    return replace(
        workload, streams=tuple(replace(stream, source=source(str(stream.source))) for stream in workload.streams)
    )


def record(spark: SparkSession, case: Case, policy: str, seconds: float, workers: int, directory: Path) -> None:
    """Run a workload for a while."""
    with open_workload(case.workload, spark=spark, directory=directory, policy=policy, workers=workers, fuse=case.fuse):
        time.sleep(seconds)


def record_all(chosen: Mapping[str, Case], folder: Path, options: argparse.Namespace) -> None:
    """Run every workload under every policy, unless that has been done already."""
    if all(place(folder, name, policy, 1).exists() for name in chosen for policy in options.policies):
        return
    spark = builder("local[*]", "what-if").config("spark.log.level", "ERROR").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    compiling = options.compiling
    for name, case in chosen.items():
        # Java compiles what is used often: without this the first policy would be several times slower than the last.
        for policy in options.policies:
            with tempfile.TemporaryDirectory(prefix="headgate-what-if-") as unused:
                record(spark, case, policy, compiling / 3, options.workers, Path(unused) / "data")
        compiling = min(options.compiling, AGAIN)
        for turn in range(1, options.turns + 1):
            for policy in options.policies[:: 1 if turn % 2 else -1]:
                record(spark, case, policy, options.seconds, options.workers, place(folder, name, policy, turn))
    spark.stop()


def place(folder: Path, name: str, policy: str, turn: int) -> Path:
    return folder / f"{name}-{policy}-{turn}"


def means(turns: Sequence[Judged]) -> Means:
    """The mean response time of each class in all turns."""
    found: Means = {}
    for name in turns[0].classes:
        times = [turn.classes[name] for turn in turns if turn.classes[name].mean is not None]
        results = sum(one.results for one in times)
        found[name] = sum((one.mean or 0.0) * one.results for one in times) / results if results else None
    return found


def predictions(known: Mapping[str, Sequence[Learned]], seed: int) -> dict[str, dict[str, Means]]:
    """By the policy that was recorded and the one that is asked for: what is predicted."""
    return {
        source: {asked: means([replay(one, asked, Changed(seed=seed)) for one in turns]) for asked in known}
        for source, turns in known.items()
    }


def told(name: str, true: Mapping[str, Means], predicted: Mapping[str, Mapping[str, Means]]) -> dict[str, Any]:
    """Print the errors of a workload, and return them."""
    errors: dict[str, dict[str, dict[str, float | None]]] = {}
    for source, found in predicted.items():
        for asked, by_class in found.items():
            for query_class, mean in true[asked].items():
                error = relative(by_class[query_class], mean)
                errors.setdefault(source, {}).setdefault(asked, {})[query_class] = error
                shown = [f"{one:8.3f}" if one is not None else "       –" for one in (mean, by_class[query_class])]
                off = "–" if error is None else f"{error:5.0%}"
                print(f"{name:8} {source:8} → {asked:8} {query_class:11} {shown[0]} s {shown[1]} s {off}")
    others = [
        error
        for source, by_policy in errors.items()
        for asked, of_asked in by_policy.items()
        for error in of_asked.values()
        if source != asked and error is not None
    ]
    good = sum(error <= GOOD for error in others)
    right, decided = orders(true, predicted)
    print(f"{name}: {good} of {len(others)} means within {GOOD:.0%}; {right} of {decided} pairs in the right order\n")
    return {"errors": errors, "within": good, "of": len(others), "right": right, "pairs": decided}


def orders(true: Mapping[str, Means], predicted: Mapping[str, Mapping[str, Means]]) -> tuple[int, int]:
    """How many pairs of policies are in the right order, of those that differ by more than the error, by class."""
    right = decided = 0
    for source, found in predicted.items():
        for query_class, mean in true[source].items():
            error = max(SURE, relative(found[source][query_class], mean) or 0.0)
            for one, other in combinations(found, 2):
                said = [found[policy][query_class] for policy in (one, other)]
                was = [true[policy][query_class] for policy in (one, other)]
                difference = relative(said[0], said[1])
                if difference is None or None in was or difference <= error:
                    continue
                decided += 1
                right += (said[0] < said[1]) == (was[0] < was[1])  # type: ignore[operator]
    return right, decided


def pace(turns: Sequence[History]) -> str:
    """How steady the machine was: runs, and their mean seconds in each turn."""
    seconds = [[run.seconds for run in history.runs] for history in turns]
    shown = ", ".join(f"{sum(some) / max(1, len(some)):.3f}" for some in seconds)
    return f"{sum(map(len, seconds))} runs of {shown} s on average in each turn"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the plant only, after less time to compile")
    parser.add_argument("--only", nargs="+", choices=list(cases()), help="only these workloads")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each turn of a policy")
    parser.add_argument("--turns", type=int, default=3, help="of each policy")
    parser.add_argument("--compiling", type=float, default=240.0, help="seconds before the first that counts")
    parser.add_argument("--policies", nargs="+", default=list(POLICIES))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="keep the directories there")
    parser.add_argument("--json", type=Path, help="write everything there")
    options = parser.parse_args()
    if options.quick:
        options.compiling, options.only = 90.0, ["plant"]
    chosen = {name: case for name, case in cases().items() if not options.only or name in options.only}
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="headgate-what-if-") as unkept:
        folder = options.keep or Path(unkept)
        folder.mkdir(parents=True, exist_ok=True)
        record_all(chosen, folder, options)
        for name in chosen:
            histories = {
                policy: [read_history(path) for path in sorted(folder.glob(f"{name}-{policy}-*"))]
                for policy in options.policies
            }
            for policy, turns in histories.items():
                print(f"{name} under {policy}: {pace(turns)}")
            known = {policy: [Learned.of(history) for history in turns] for policy, turns in histories.items()}
            true = {policy: means([one.recorded for one in turns]) for policy, turns in known.items()}
            found[name] = told(name, true, predictions(known, options.seed))
    within, of = (sum(each[key] for each in found.values()) for key in ("within", "of"))
    right, pairs = (sum(each[key] for each in found.values()) for key in ("right", "pairs"))
    print(f"in all: {within} of {of} means within {GOOD:.0%}; {right} of {pairs} pairs in the right order")
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
