"""What a step of a stream costs a query over long windows that slide by 5 seconds, with panes and without.

    python benchmarks/panes.py [--minutes 1 5 30] [--without 1 5] [--keys 100]

A step is 10,000 rows that cover 5 seconds of event time, so that in each one window closes. Prints the seconds from
the append to the last result, the median of the last steps after a window has filled up; also for a query that counts
over windows of an hour that do not overlap, in the step in which one closes.
"""

from __future__ import annotations

import argparse
import time
from statistics import median

import numpy as np
import pyarrow as pa

from headgate.spark.jvm.settings import builder
from headgate.spark.session import Session

ROWS, SECONDS = 10_000, 5
LAST = 20  # steps that count
BEGIN = 1_704_067_200_000_000
SELECT = "SELECT window.start AS t, id, count(*) AS n, avg(v) AS mean, max(w) AS high FROM s GROUP BY"


def rows(step: int, keys: int) -> pa.Table:
    draw = np.random.default_rng(step)
    times = BEGIN + step * SECONDS * 1_000_000 + np.arange(ROWS) * (SECONDS * 1_000_000 // ROWS)
    return pa.table(
        {
            "id": draw.integers(0, keys, ROWS),
            "v": draw.random(ROWS),
            "w": draw.integers(0, 1000, ROWS),
            "ts": pa.array(times).cast(pa.timestamp("us", "UTC")),
        }
    )


def steps(session: Session, window: str, count: int, keys: int) -> list[float]:
    """The seconds of each step."""
    session.stream("s", "id bigint, v double, w bigint, ts timestamp", event_time="ts")
    session.query("q", f"{SELECT} {window}, id", sink="blackhole")
    seconds = []
    for step in range(count):
        table = rows(step, keys)
        began = time.perf_counter()
        session.append("s", table)
        session.drain()
        seconds.append(time.perf_counter() - began)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=int, nargs="*", default=[1, 5, 30])
    parser.add_argument("--without", type=int, nargs="*", default=[1, 5])
    parser.add_argument("--keys", type=int, default=100)
    options = parser.parse_args()
    spark = builder("local[2]").getOrCreate()
    for minutes in options.minutes:
        for panes in (True, False):
            if panes or minutes in options.without:
                count = minutes * 60 // SECONDS + LAST + 2
                with Session(spark=spark, panes=panes) as session:
                    took = steps(session, f"window(ts, '{minutes} minutes', '{SECONDS} seconds')", count, options.keys)[
                        -LAST:
                    ]
                how = "with panes" if panes else "without"
                print(
                    f"{minutes:3} minutes {how:10}  median {median(took):.3f} s  longest {max(took):.3f} s", flush=True
                )
    for panes in (True, False):
        with Session(spark=spark, panes=panes) as session:
            took = steps(session, "window(ts, '1 hour')", 3600 // SECONDS + 1, options.keys)
        how = "with panes" if panes else "without"
        print(f"an hour, not sliding, {how:10}  the step that closes it {took[-1]:.3f} s", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
