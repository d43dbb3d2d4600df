"""What a result costs a member of a group beside what a tuple costs it: how a group's time is split over its members.

A group of equal queries runs on the same rows twice: once nothing passes, once everything does. The ratio of what a
result adds to what a tuple takes is the weight `RESULT` in `headgate.stats.cost_split`,
by the form of the group.

    python benchmarks/weights.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa

from headgate.model import Outcome
from headgate.spark.jvm.settings import builder
from headgate.spark.session import Session

ROWS = (6_000, 45_000)
MEMBERS = 10
FORMS = {
    "rows": "SELECT id, v, ts FROM s WHERE v >= {cut} + {n} * 0.001",
    "aggregate": "SELECT window.start AS t, id, sum(v) AS n FROM s WHERE v >= {cut} + {n} * 0.001 "
    "GROUP BY window(ts, '1 seconds'), id",
}


def table(rows: int, turn: int) -> pa.Table:
    """So many rows of one second, each with a key of its own."""
    times = np.full(rows, turn * 1_000_000) + np.arange(rows)
    made = {"id": np.arange(rows), "v": np.zeros(rows), "ts": pa.array(times, pa.timestamp("us", "UTC"))}
    return pa.table(made)


def seconds(session: Session, form: str, cut: int, rows: int) -> float:
    """The time of a run of a group on so many rows, warm."""
    stream = f"{form}{cut + 1}{rows}"
    session.stream(stream, "id bigint, v double, ts timestamp", event_time="ts")
    for n in range(MEMBERS):
        text = FORMS[form].format(cut=cut, n=n).replace("FROM s", f"FROM {stream}")
        session.query(f"{stream}-{n}", text)
    found = []
    core = session.engine._owner._machine.scheduling.scheduler
    finished = core.finished

    def noting(outcome: Outcome, now: float) -> None:
        found.append(outcome.seconds)
        finished(outcome, now)

    core.finished = noting  # type: ignore[method-assign]
    for turn in range(14):
        session.append(stream, table(rows, turn))
        assert session.drain(300)
    core.finished = finished  # type: ignore[method-assign]
    for n in range(MEMBERS):
        session.engine.remove_query(f"{stream}-{n}")
    return median(found[6:])


def main() -> None:
    spark = builder("local[*]", "weights").config("spark.driver.host", "127.0.0.1").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    with (
        tempfile.TemporaryDirectory() as folder,
        Session(spark=spark, directory=Path(folder), policy="fcfs", fuse="class") as session,
    ):
        for form in FORMS:
            none, every = ([seconds(session, form, cut, rows) for rows in ROWS] for cut in (1, -1))
            taken = max((none[1] - none[0]) / (ROWS[1] - ROWS[0]) / MEMBERS, 0.0)
            given = (every[1] - none[1]) / ROWS[1] / MEMBERS
            print(f"{form:10} a tuple {taken * 1e6:.2f} us, a result {given * 1e6:.2f} us")
    spark.stop()


if __name__ == "__main__":
    main()
