"""What an exact refresh plan costs, beside the heuristic, a sort, a general solver and a plain Spark sum; one run.

    python benchmarks/freshness.py [--spark] [--solver] [--largest 10000000] [--json]

`heuristic`: the exact plan of 500 000 elements (the document's large case) against 50 partitions with 10 iterations of
k-means. `step`: one step of the root search over one million elements, against one `numpy.sort` of a million floats.
`growth`: nanoseconds per element and step, by size. `--solver`: SLSQP on growing problems, until the next would
take minutes. `--spark`: one step of the search over ten million rows on local[2], against a pass that only sums.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from headgate.freshness import Elements, plan
from headgate.freshness.curve import Floats
from headgate.freshness.exact import Problem, even_frequency, freshness_at
from headgate.freshness.heuristics import approximate
from headgate.freshness.setups import LARGE, zipf

PATIENCE = 10.0  # seconds for one run of the general solver: one three times as large takes some twenty times as long
ROWS = 10_000_000


def elements(count: int) -> Elements:
    return Elements.of(np.random.default_rng(1).gamma(1.0, 2.0, count), zipf(count, 1.0))


def timed(work: Callable[[], Any], rounds: int = 3) -> float:
    """Seconds, the median of some rounds."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def against_heuristic() -> dict[str, float]:
    large = LARGE.elements()
    exact = plan(large, LARGE.syncs)
    rough = approximate(large, LARGE.syncs, partitions=50, iterations=10)
    seconds = timed(lambda: plan(large, LARGE.syncs))
    other = timed(lambda: approximate(large, LARGE.syncs, partitions=50, iterations=10))
    return {
        "exact_seconds": seconds,
        "heuristic_seconds": other,
        "times_faster": other / seconds,
        "exact_freshness": exact.perceived_freshness,
        "heuristic_freshness": rough.perceived_freshness,
    }


def against_sort(count: int = 1_000_000) -> dict[str, float]:
    known = elements(count)
    found = plan(known, count / 2)
    problem = Problem.of(known, np.zeros(count))
    numbers = np.random.default_rng(2).random(count)
    step = timed(lambda: problem.use(found.certificate.multiplier), 7)
    sort = timed(lambda: np.sort(numbers), 7)
    return {
        "step_seconds": step,
        "sort_seconds": sort,
        "sorts_per_step": step / sort,
        "steps": found.certificate.steps,
        "violation": found.certificate.violation,
    }


def growth(largest: int) -> dict[str, float]:
    return {f"{size:,}": per_element(size) for size in (10_000, 100_000, 1_000_000, 10_000_000) if size <= largest}


def per_element(count: int) -> float:
    """Nanoseconds per element and step of the search."""
    known = elements(count)
    steps = plan(known, count / 2).certificate.steps
    return timed(lambda: plan(known, count / 2)) / count / steps * 1e9


def solver() -> list[dict[str, float]]:
    """SLSQP on growing problems, until one takes too long."""
    found: list[dict[str, float]] = []
    for count in (10, 30, 100, 300, 1000, 3000):
        found.append(solved(count))
        if found[-1]["slsqp_seconds"] > PATIENCE:
            break
    return found


def solved(count: int) -> dict[str, float]:
    from scipy.optimize import minimize

    known, bandwidth = elements(count), count / 2

    def stale(often: Floats) -> float:
        return -float(known.access @ freshness_at(known.change_rate, often))

    began = time.perf_counter()
    answer = minimize(
        stale,
        even_frequency(known, bandwidth),
        method="SLSQP",
        bounds=[(1e-9, None)] * count,
        constraints={"type": "eq", "fun": lambda often: often.sum() - bandwidth},
        options={"maxiter": 200, "ftol": 1e-10},
    )
    return {
        "elements": count,
        "slsqp_seconds": time.perf_counter() - began,
        "exact_seconds": timed(lambda: plan(known, bandwidth)),
        "slsqp_freshness": -float(answer.fun),
        "exact_freshness": plan(known, bandwidth).perceived_freshness,
    }


def on_spark(rows: int = ROWS) -> dict[str, float]:
    from pyspark.sql import functions as fn

    from headgate.freshness.frames.plan import narrowed, plan_frame, use_at
    from headgate.spark.jvm.settings import builder

    session = builder("local[2]").config("spark.driver.memory", "3g").config("spark.driver.host", "127.0.0.1")
    spark = session.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "elements"))
        drawn = spark.range(rows).select(
            "id", (-2.0 * fn.log1p(-fn.rand(1))).alias("change_rate"), (1.0 / (fn.col("id") + 1.0)).alias("access")
        )
        drawn.write.parquet(path)
        frame = spark.read.parquet(path)
        began = time.perf_counter()
        found = plan_frame(frame, rows / 2, unique_ids=True)
        whole = time.perf_counter() - began
        price = found.certificate.multiplier
        narrow = narrowed(frame).persist()
        narrow.agg(fn.sum("load")).collect()  # fills the cache
        pairs = [
            (timed(narrow.agg(fn.sum("load")).collect, 1), timed(step_of(use_at, narrow, price), 1)) for _ in range(9)
        ]
        filed = timed(frame.agg(fn.sum("change_rate")).collect, 5)
    spark.stop()
    summed, step = (statistics.median(column) for column in zip(*pairs, strict=True))
    return {
        "plan_seconds": whole,
        "passes": found.passes,
        "step_seconds": step,
        "sum_seconds": summed,
        "sum_of_file_seconds": filed,
        "sums_per_step": step / summed,
        "violation": found.certificate.violation,
    }


def step_of(use_at: Callable[..., Any], narrow: Any, price: float) -> Callable[[], Any]:
    return lambda: use_at(narrow, price, floors=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--solver", action="store_true")
    parser.add_argument("--largest", type=int, default=10_000_000)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    parts: dict[str, Callable[[], Any]] = {
        "heuristic": against_heuristic,
        "step": against_sort,
        "growth": lambda: growth(asked.largest),
        **({"solver": solver} if asked.solver else {}),
        **({"spark": on_spark} if asked.spark else {}),
    }
    found: dict[str, Any] = {}
    for name, part in parts.items():
        print(f"{name} …", file=sys.stderr, flush=True)
        found[name] = part()
        if not asked.json:
            show(name, found[name])
    if asked.json:
        print(json.dumps(found, indent=2))


def show(name: str, numbers: Any) -> None:
    print(name)
    for row in numbers if isinstance(numbers, list) else [numbers]:
        print("  " + "  ".join(f"{key} {value:.4g}" for key, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
