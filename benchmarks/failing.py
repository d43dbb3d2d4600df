"""What bad tuples cost: runs in which an expression fails on some tuples, beside the same runs without such tuples.

    python benchmarks/failing.py [--runs 40]

Two sessions on one Spark take turns, run by run, so that what else the machine does falls on both. One stream has 16
tuples of 282 on which the queries fail, the other none. Prints the medians and their ratio for a filter, a sliding
aggregate, and 20 queries in one group, without the first runs, in which the queries find out.
"""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime, timedelta
from statistics import median

from headgate.spark.jvm.settings import builder
from headgate.spark.session import Session

ROWS, BAD = 282, 16
FIRST = 6  # runs that do not count
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
SLIDING = "window(ts, '4 seconds', '2 seconds')"
SCENES = {
    "a filter and projection": ["SELECT id, 100 / k AS q FROM s WHERE 100 / k > 3"],
    "a sliding aggregate": [
        "SELECT window.start AS t, sum(100 / k) AS n FROM s GROUP BY window(ts, '4 seconds', '2 seconds')"
    ],
    "20 filters in a group": [f"SELECT id, 100 / k AS q FROM s WHERE id % 20 <> {n}" for n in range(20)],
}


def batch(step: int, bad: int) -> list[dict[str, object]]:
    every = ROWS // bad if bad else ROWS + 1
    return [
        {
            "id": n,
            "k": 0 if n % every == 1 and n // every < bad else n % 7 + 1,
            "ts": BEGIN + timedelta(seconds=2 * step),
        }
        for n in range(ROWS)
    ]


def opened(session: Session, queries: list[str]) -> None:
    session.stream("s", "id bigint, k int, ts timestamp", event_time="ts")
    for number, sql in enumerate(queries):
        session.query(f"q{number}", sql, sink="blackhole")


def took(session: Session, step: int, bad: int) -> float:
    rows = batch(step, bad)
    began = time.perf_counter()
    session.append("s", rows)
    session.drain()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=40)
    runs = parser.parse_args().runs
    spark = builder("local[2]").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    for name, queries in SCENES.items():
        with Session(spark=spark, fuse="all") as good, Session(spark=spark, fuse="all") as bad:
            opened(good, queries)
            opened(bad, queries)
            times = [(took(good, step, 0), took(bad, step, BAD)) for step in range(FIRST + runs)]
            letters = bad.status().dead_letters["s"]
        without, with_bad = (median(each) * 1_000 for each in zip(*times[FIRST:], strict=True))
        print(
            f"{name:24} without bad tuples {without:4.0f} ms, {BAD} of {ROWS} bad {with_bad:4.0f} ms, "
            f"ratio {with_bad / without:.2f}; {letters} dead letters"
        )


if __name__ == "__main__":
    main()
