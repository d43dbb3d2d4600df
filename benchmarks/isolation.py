"""Whether the important class stays quick while the others saturate Spark: the plant, at many times its rates.

    python benchmarks/isolation.py --quick                         20 times the rates, the default and mbd; four minutes
    python benchmarks/isolation.py --plot out/isolation.png        everything

At each rate first the critical class alone, under the default policy, then all classes under each policy. These run on
one Spark, one after the other, each on a directory of its own: a warm-up that does not count, then the time that does.
Last comes Structured Streaming with a query each and jobs in FAIR pools by class (weights 1000, 30, 1); its times are
those of results that have the time of their tuple.

Printed are, for each class: mean, median, p95 and p99 of response times in seconds, results per second, and the longest
that a tuple waited; then the share of the time of runs that were cancelled, and the median error of predicted times.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib import pyplot as plt
from pyspark.sql import DataFrame, SparkSession

from headgate.spark.jvm.settings import builder
from headgate.spark.machine.views import Overview
from headgate.spark.session import Session
from headgate.spark.workload import open_workload
from headgate.workload import Workload, read_workload
from headgate.workload.rates import faster

PLANT = Path(__file__).parents[1] / "examples" / "plant.toml"
LEFT_OUT = ("alarm-in-heat",)  # it gives results by the thousand at these rates, and is none of the others' business
HIGHEST = "critical"
ALONE, STREAMING = "critical alone", "Structured Streaming, FAIR pools"
DEFAULT = "express"


@dataclass(frozen=True)
class Case:
    """What runs for a while."""

    rate: float  # times that of the file
    policy: str
    alone: bool = False  # the critical class only
    workers: int = 2


@dataclass
class Seen:
    """What a class got."""

    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    per_second: float = 0.0  # results
    longest_wait: float = 0.0  # of a tuple, as far as somebody looked

    @classmethod
    def of(cls, took: Any, per_second: float, longest_wait: float = 0.0) -> Seen:
        if not took.size:
            return cls(per_second=per_second, longest_wait=longest_wait)
        p50, p95, p99 = (float(np.percentile(took, part)) for part in (50, 95, 99))
        return cls(float(np.mean(took)), p50, p95, p99, per_second, longest_wait)


@dataclass
class Outcome:
    """What a case gave."""

    classes: dict[str, Seen] = field(default_factory=dict)
    cancelled: float = 0.0  # share of the time of all runs
    error: float | None = None  # the median error of predicted run times

    def others(self) -> float:
        """Results per second of all but the highest class."""
        return sum(seen.per_second for name, seen in self.classes.items() if name != HIGHEST)


def plant(rate: float, alone: bool = False) -> Workload:
    """The plant at so many times its rates."""
    workload = read_workload(PLANT)
    queries = tuple(
        query
        for query in workload.queries
        if query.name not in LEFT_OUT and (query.query_class == HIGHEST or not alone)
    )
    return faster(replace(workload, queries=queries), rate)


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
    outcome = Outcome(cancelled=after.cancelled_share, error=session.engine.costs().error)
    earlier = {view.query.name: view.tuples_out for view in before.queries}
    for name in dict.fromkeys(view.query.query_class for view in after.queries):
        views = [view for view in after.queries if view.query.query_class == name]
        took = np.concatenate([view.results.took[view.results.at >= since] for view in views])
        results = sum(view.tuples_out - earlier[view.query.name] for view in views)
        outcome.classes[name] = Seen.of(took, results / seconds, longest.get(name, 0.0))
    return outcome


# -- Structured Streaming ------------------------------------------------------------------------------------------


def structured(rate: float, warm_up: float, seconds: float) -> Outcome:
    """Structured Streaming on the same queries; a feed drops Parquet files, four a second."""
    workload = plant(rate)
    with tempfile.TemporaryDirectory(prefix="headgate-isolation-") as text:
        folder = Path(text)
        (folder / "pools.xml").write_text(POOLS)
        spark = (
            builder("local[*]", "isolation")
            .config("spark.log.level", "ERROR")
            .config("spark.scheduler.allocation.file", (folder / "pools.xml").as_uri())
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("OFF")
        noted = Noted()
        stop = threading.Event()
        feed = threading.Thread(target=_feed, args=(folder, rate, stop), daemon=True)
        for stream in workload.streams:
            (folder / stream.name).mkdir()
        try:
            feed.start()
            running = [_start(spark, workload, query, folder, noted) for query in workload.queries]
            time.sleep(warm_up)
            noted.measuring = True
            time.sleep(seconds)
            noted.measuring = False
            for query in running:
                query.stop()
        finally:
            stop.set()
            feed.join()
            spark.stop()
    return Outcome({name: noted.seen(name, seconds) for name in POOL_WEIGHTS})


POOL_WEIGHTS = {"critical": 1000, "normal": 30, "background": 1}
POOLS = (
    '<?xml version="1.0"?><allocations>'
    + "".join(
        f'<pool name="{name}"><schedulingMode>FAIR</schedulingMode><weight>{weight}</weight></pool>'
        for name, weight in POOL_WEIGHTS.items()
    )
    + "</allocations>"
)
EVERY = 0.25  # seconds between two files of the feed


class Noted:
    """Results of streaming queries, by class."""

    def __init__(self) -> None:
        self.measuring = False
        self._times: dict[str, list[Any]] = {name: [] for name in POOL_WEIGHTS}
        self._counts = dict.fromkeys(POOL_WEIGHTS, 0)
        self._lock = threading.Lock()

    def note(self, query_class: str, batch: DataFrame) -> None:
        rows = batch.toArrow()
        if not self.measuring or not rows.num_rows:
            return
        with self._lock:
            self._counts[query_class] += rows.num_rows
            if "ts" in rows.column_names:
                self._times[query_class].append(time.time() - rows["ts"].cast(pa.int64()).to_numpy() / 1e6)

    def seen(self, query_class: str, seconds: float) -> Seen:
        return Seen.of(np.concatenate([np.empty(0), *self._times[query_class]]), self._counts[query_class] / seconds)


def _start(spark: SparkSession, workload: Workload, query: Any, folder: Path, noted: Noted) -> Any:
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", query.query_class)
    session = spark.newSession()
    for stream in workload.streams:
        schema = ", ".join(f"{column} {kind}" for column, kind in stream.schema)
        frame = session.readStream.schema(schema).parquet(str(folder / stream.name))
        frame.withWatermark("ts", "500 milliseconds").createOrReplaceTempView(stream.name)
    writing = session.sql(query.sql).writeStream.foreachBatch(lambda batch, _: noted.note(query.query_class, batch))
    return writing.option("checkpointLocation", str(folder / "checkpoints" / query.name)).start()


def _feed(folder: Path, rate: float, stop: threading.Event) -> None:
    chance, places = np.random.default_rng(1), ["boiler", "furnace", "press", "paint", "store", "dock"]
    due = time.monotonic()
    for number in range(1_000_000):
        if stop.is_set():
            return
        for name, per_second in (("readings", 400 * rate), ("alarms", 4 * rate)):
            rows = int(chance.poisson(per_second * EVERY))
            columns: dict[str, Any] = {"location": [places[place] for place in chance.integers(0, 6, rows)]}
            if name == "readings":
                columns |= {"temperature": chance.uniform(-10, 110, rows), "humidity": chance.uniform(0, 100, rows)}
            else:
                columns["level"] = chance.integers(1, 6, rows).astype(np.int32)
            columns["ts"] = pa.array(np.full(rows, int(time.time() * 1e6)), pa.timestamp("us", "UTC"))
            target = folder / name / f"{number:09}.new"
            pq.write_table(pa.table(columns), target)
            target.rename(target.with_suffix(".parquet"))
        due += EVERY
        stop.wait(max(0.0, due - time.monotonic()))


# -- what is told --------------------------------------------------------------------------------------------------


def line(name: str, outcome: Outcome) -> str:
    def of(seen: Seen) -> str:
        if seen.mean is None:
            return f"{'no times':>27} {seen.per_second:7.0f}/s {seen.longest_wait:5.1f}"
        times = f"{seen.mean:6.2f} {seen.p50:6.2f} {seen.p95:6.2f} {seen.p99:6.2f}"
        return f"{times} {seen.per_second:7.0f}/s {seen.longest_wait:5.1f}"

    rest = f"{outcome.cancelled:6.1%}" + ("" if outcome.error is None else f" {outcome.error:5.0%}")
    return f"{name:42}" + " |".join(of(seen) for seen in outcome.classes.values()) + f" | {rest}"


def ratios(rate: float, found: Mapping[str, Outcome]) -> list[str]:
    """How the default compares at a rate with the critical class alone, and with mbd."""
    alone, default, mbd = (found.get(name) for name in (ALONE, DEFAULT, "mbd, inversion=dsp"))
    lines = []
    if alone is not None and default is not None:
        ratio = (default.classes[HIGHEST].p95 or 0.0) / (alone.classes[HIGHEST].p95 or 1.0)
        lines.append(f"{rate:g} ×: p95 of critical is {ratio:.2f} times that of critical alone")
    if default is not None and mbd is not None:
        share = default.others() / (mbd.others() or 1.0)
        lines.append(f"{rate:g} ×: the others get {share:.2f} of the results that mbd gives them")
    return lines


def draw(found: Mapping[float, Mapping[str, Outcome]], path: Path) -> None:
    """The p95 of each class by rate, a line for each policy."""
    mpl.use("Agg")
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), sharey=True, layout="constrained")
    for axis, name in zip(axes, POOL_WEIGHTS, strict=True):
        for case in dict.fromkeys(case for cases in found.values() for case in cases):
            points = [
                (rate, cases[case].classes[name].p95)
                for rate, cases in found.items()
                if case in cases and name in cases[case].classes and cases[case].classes[name].p95
            ]
            if points:
                style = {"color": "black", "linestyle": ":"} if case == ALONE else {}
                axis.plot(*zip(*points, strict=True), marker="o", markersize=3, label=case, **style)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xticks(list(found), [f"{rate:g} ×" for rate in found])
        axis.minorticks_off()
        axis.set_title(name, fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("p95 of response time, seconds")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20 times the rates only, the default and mbd")
    parser.add_argument("--rates", type=float, nargs="+", default=[1, 5, 20, 50], help="times the rates of the file")
    parser.add_argument("--policies", nargs="+", default=[DEFAULT, "mbd, inversion=dsp", "rr", "fcfs"])
    parser.add_argument("--seconds", type=float, default=25.0)
    parser.add_argument("--warm-up", type=float, default=12.0)
    parser.add_argument("--compiling", type=float, default=150.0, help="seconds before the first case")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--no-streaming", action="store_true", help="leave out Structured Streaming")
    parser.add_argument("--json", type=Path, help="write everything there")
    parser.add_argument("--plot", type=Path, help="draw a picture")
    options = parser.parse_args()
    if options.quick:
        options.rates, options.policies, options.no_streaming = [20], [DEFAULT, "mbd, inversion=dsp"], True
    found: dict[float, dict[str, Outcome]] = {}
    spark = builder("local[*]", "isolation").config("spark.log.level", "ERROR").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    # Java compiles what is used often, and takes its time: without this the first cases would be several times slower.
    measured(spark, Case(20, options.policies[0], workers=options.workers), 0.0, options.compiling)
    for rate in options.rates:
        cases = {ALONE: Case(rate, options.policies[0], alone=True, workers=options.workers)}
        cases |= {policy: Case(rate, policy, workers=options.workers) for policy in options.policies}
        for name, case in cases.items():
            outcome = measured(spark, case, options.warm_up, options.seconds)
            found.setdefault(rate, {})[name] = outcome
            print(line(f"{rate:g} ×, {name}", outcome), flush=True)
    spark.stop()
    for rate in [] if options.no_streaming else options.rates:
        outcome = found[rate][STREAMING] = structured(rate, 2 * options.warm_up, options.seconds)
        print(line(f"{rate:g} ×, {STREAMING}", outcome), flush=True)
    print(*(sentence for rate, cases in found.items() for sentence in ratios(rate, cases)), sep="\n")
    if options.json:
        plain = {rate: {name: asdict(outcome) for name, outcome in cases.items()} for rate, cases in found.items()}
        options.json.write_text(json.dumps(plain, indent=1))
    if options.plot:
        draw(found, options.plot)


if __name__ == "__main__":
    main()
