"""Whether what-if orders policies as Spark does: class schedulers on Spark with real data, and their replays.

    python benchmarks/spark_ranks.py                       ten policies; about a quarter of an hour
    python benchmarks/spark_ranks.py --quick               three policies for a few seconds, to try it
    python benchmarks/spark_ranks.py --keep out/ranks      keeps the recordings; what is there is not recorded again
    python benchmarks/spark_ranks.py --json out/ranks.json

Fifteen queries of the plant, five in each of its classes, run on one warm Spark under every policy in turn, each on a
directory of its own, none of them sharing a job, at a rate at which the workers are always busy. Then every policy is
predicted from the recordings of some of them (`headgate what-if`). Printed are the order of the policies on Spark and
the predicted one, by the mean response time weighted by the priorities of classes and by the p95 of the first class,
with Spearman's rank correlation: 1 for the same order. The mean seconds of a run in each turn show how steady the
machine was; where they differ, so do the recordings, whatever the policies do.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from pyspark.sql import SparkSession

from headgate.history.history import History
from headgate.history.ring import read_history
from headgate.metrics.measures.rank_correlation import rank_correlation
from headgate.spark.jvm.settings import builder
from headgate.spark.workload import open_workload
from headgate.what_if.latest import latest
from headgate.what_if.learned import Learned
from headgate.what_if.question import Changed
from headgate.what_if.replay import replay
from headgate.what_if.response_times import Judged
from headgate.workload import Workload, read_workload
from headgate.workload.rates import faster

PLANT = Path(__file__).parents[1] / "examples" / "plant.toml"
QUERIES = {
    "critical": ("fire", "frost", "boiler-hot", "furnace-cold", "leak"),
    "normal": ("fahrenheit", "comfort", "mean-by-location", "peak-by-location", "humidity-by-location"),
    "background": ("archive", "seen", "dew", "readings-total", "extremes"),
}
FIRST = "critical"
POLICIES = (
    "rr, level=query",
    "fcfs",
    "express",
    "hnr",
    "bsd",
    "cqc, level=query",
    "abd, level=query",
    "mbd",
    "mprr",
    "lottery",
)
QUICK = POLICIES[:3]
SOURCES = 3  # policies whose recordings predict the others
MEASURES = ("mean response, weighted by class", f"p95 of {FIRST}")
Values = dict[str, float]  # by measure


@dataclass(frozen=True)
class Recorded:
    """All turns of a policy."""

    histories: Sequence[History]
    learned: Sequence[Learned]

    @property
    def pace(self) -> str:
        """Runs, and their mean seconds in each turn."""
        seconds = [[run.seconds for run in history.runs] for history in self.histories]
        shown = ", ".join(f"{fmean(some):.3f}" if some else "–" for some in seconds)
        return f"{sum(map(len, seconds))} runs of {shown} s on average in each turn"


def plant(rate: float) -> Workload:
    """The chosen queries of the plant at so many times its rates."""
    workload = read_workload(PLANT)
    wanted = {name for names in QUERIES.values() for name in names}
    return faster(replace(workload, queries=tuple(query for query in workload.queries if query.name in wanted)), rate)


def record_all(workload: Workload, folder: Path, options: argparse.Namespace) -> None:
    """Run the queries under every policy, unless that has been done already."""
    turns = [
        (turn, policy) for turn in range(1, options.turns + 1) for policy in options.policies[:: 1 if turn % 2 else -1]
    ]
    missing = [(turn, policy) for turn, policy in turns if not place(folder, policy, turn).exists()]
    if not missing:
        return
    spark = builder("local[*]", "spark-ranks").config("spark.log.level", "ERROR").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    # Java compiles what is used often: without this the first policy would be several times slower than the last.
    with tempfile.TemporaryDirectory(prefix="headgate-ranks-") as unused:
        record(spark, workload, options.policies[0], options.compiling, options.workers, Path(unused) / "data")
    for turn, policy in missing:
        print(f"turn {turn} under {policy}", flush=True)
        record(spark, workload, policy, options.warm_up + options.seconds, options.workers, place(folder, policy, turn))
    spark.stop()


def record(spark: SparkSession, workload: Workload, policy: str, seconds: float, workers: int, directory: Path) -> None:
    """Run the queries for a while."""
    with open_workload(workload, spark=spark, directory=directory, policy=policy, workers=workers, fuse="off"):
        time.sleep(seconds)


def place(folder: Path, policy: str, turn: int) -> Path:
    return folder / f"{policy.partition(',')[0]}-{turn}"


def read(folder: Path, policy: str, options: argparse.Namespace) -> Recorded:
    """The recordings of a policy, without their warm-up."""
    turns = range(1, options.turns + 1)
    histories = [latest(read_history(place(folder, policy, turn)), options.seconds) for turn in turns]
    return Recorded(histories, [Learned.of(history) for history in histories])


def values(turns: Sequence[Judged], priorities: Mapping[str, float]) -> Values:
    """Both measures, as means over turns of those that have results of every class."""
    found: dict[str, list[float]] = {measure: [] for measure in MEASURES}
    for turn in turns:
        means = {name: times.mean for name, times in turn.classes.items() if times.mean is not None}
        p95 = turn.classes[FIRST].p95
        if means.keys() == priorities.keys() and p95 is not None:
            weighted = sum(priorities[name] * mean for name, mean in means.items()) / sum(priorities.values())
            found[MEASURES[0]].append(weighted)
            found[MEASURES[1]].append(p95)
    return {measure: fmean(some) for measure, some in found.items() if some}


def told(measure: str, true: Mapping[str, Values], predicted: Mapping[str, Mapping[str, Values]]) -> dict[str, Any]:
    """Print both orders by a measure, with their correlations, and return the latter."""
    correlations: dict[str, float | None] = {}
    for source, found in predicted.items():
        known = [policy for policy in true if measure in true[policy] and measure in found[policy]]
        columns = [[side[policy][measure] for policy in known] for side in (true, found)]
        correlations[source] = rank_correlation(*columns)
        orders = [ordered(side, measure, known) for side in (true, found)]
        print(f"\n{measure}: on Spark, and predicted from the recording of {source}")
        for number, (real, said) in enumerate(zip(*orders, strict=True), 1):
            print(f"{number:3}. {real:20} {true[real][measure]:8.3f} s    {said:20} {found[said][measure]:8.3f} s")
        print(f"     rank correlation {_shown(correlations[source])} over {len(known)} policies")
    return correlations


def ordered(values: Mapping[str, Values], measure: str, policies: Sequence[str]) -> list[str]:
    """Policies from the best to the worst."""
    return sorted(policies, key=lambda policy: values[policy][measure])


def _shown(correlation: float | None) -> str:
    return "none" if correlation is None else f"{correlation:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three policies for a few seconds each")
    parser.add_argument("--policies", nargs="+", default=list(POLICIES))
    parser.add_argument("--rate", type=float, default=20.0, help="times the rates of the file")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each turn of a policy")
    parser.add_argument("--warm-up", type=float, default=5.0, help="seconds before those")
    parser.add_argument("--turns", type=int, default=2, help="of each policy")
    parser.add_argument("--compiling", type=float, default=150.0, help="seconds before the first that counts")
    parser.add_argument("--sources", type=int, default=SOURCES, help="so many policies' recordings predict the others")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="keep the directories there")
    parser.add_argument("--json", type=Path, help="write everything there")
    options = parser.parse_args()
    if options.quick:
        options.policies, options.seconds, options.turns, options.compiling = list(QUICK), 8.0, 1, 30.0
    workload = plant(options.rate)
    priorities = {each.name: each.priority for each in workload.classes}
    with tempfile.TemporaryDirectory(prefix="headgate-ranks-") as unkept:
        folder = options.keep or Path(unkept)
        folder.mkdir(parents=True, exist_ok=True)
        record_all(workload, folder, options)
        recorded = {policy: read(folder, policy, options) for policy in options.policies}
    for policy, turns in recorded.items():
        print(f"{policy}: {turns.pace}")
    true = {policy: values([one.recorded for one in turns.learned], priorities) for policy, turns in recorded.items()}
    changed = Changed(seed=options.seed)
    predicted = {
        source: {
            asked: values([replay(one, asked, changed) for one in recorded[source].learned], priorities)
            for asked in options.policies
        }
        for source in options.policies[: options.sources]
    }
    correlations = {measure: told(measure, true, predicted) for measure in MEASURES}
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        tree = {"spark": true, "predicted": predicted, "rank_correlation": correlations}
        options.json.write_text(json.dumps(tree, indent=1))


if __name__ == "__main__":
    main()
