"""A join whose window holds many rows, for benchmarks.growth: steps of a few rows against all that are in the window.

Headgate alone, a query or a group of them: the time from a step's append until its pairs are committed.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa
from benchmarks.many_queries import quiet_spark

from headgate.spark.jvm.settings import builder
from headgate.spark.session import Session

SCHEMA = "k bigint, v bigint, ts timestamp"
WINDOW = 600  # seconds
LOTS = 10_000  # rows of an append while the window fills
PATIENCE = 600.0


def sql(number: int) -> str:
    """The member of a group with this number."""
    bound = f"b.ts BETWEEN a.ts - INTERVAL {WINDOW} SECONDS AND a.ts"
    return f"SELECT a.k, a.v, b.v AS other FROM a JOIN b ON a.k = b.k AND {bound} WHERE a.v >= {number}"


def measure(queries: int, old: int, new: int, keys: int, steps: int, warm_up: int) -> dict[str, Any]:
    """Mean and median seconds of a step, and results."""
    random = np.random.default_rng(1)
    with quiet_spark(builder("local[*]", "growth")) as spark, Session(spark=spark) as session:
        for stream in "ab":
            session.stream(stream, SCHEMA, event_time="ts", watermark=0.0)
        for number in range(queries):
            session.query(f"j{number}", sql(number))
        for first in range(0, old, LOTS):
            session.append("b", _rows(random, LOTS, keys, first / old * WINDOW, LOTS / old * WINDOW))
        assert session.drain(PATIENCE)
        took = []
        for step in range(warm_up + steps):  # time stands almost still, so that the window keeps its rows
            table = _rows(random, new, keys, WINDOW + step * 0.001, 0.001)
            began = time.perf_counter()
            session.append("a", table)
            assert session.drain(PATIENCE)
            took.append(time.perf_counter() - began)
        took = took[warm_up:]
        results = sum(session.engine.query(f"j{number}").tuples_out for number in range(queries))
        return {"mean": float(np.mean(took)), "median": float(np.median(took)), "results": results}


def _rows(random: np.random.Generator, rows: int, keys: int, first: float, length: float) -> pa.Table:
    times = ((first + np.arange(rows) * (length / rows)) * 1e6).astype(np.int64)
    return pa.table(
        {
            "k": random.integers(0, keys, rows),
            "v": random.integers(0, 1000, rows),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
        }
    )
