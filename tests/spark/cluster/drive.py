"""The driver of a cluster's test, a process of its own: queries on a master, rows, and who has done the work.

    python -m tests.spark.cluster.drive spark://127.0.0.1:7077 DIRECTORY

It says `half` when half of the rows are in, and waits for a line before the last of them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from tests.spark.engine.workload import BASE, CASES, batches, declare, start

from headgate.spark.session import Session

PATIENCE = 120.0
KINDS = ("filter", "tumbling", "join")
SMALL = ("a", "b")  # streams with small trains
BIG = 520_000  # rows, in sealed segments: enough for executors to read and write themselves
LARGE = {
    "passing": "SELECT id, v, ts FROM big WHERE v < 30",
    "counted": "SELECT window.start AS t, v, percentile(v, 0.5) AS n FROM big GROUP BY window(ts, '10 seconds'), v",
}


def work(session: Session, half: Callable[[], None] = lambda: None, last: Callable[[], None] = lambda: None) -> None:
    """Queries of several kinds over small trains, and two over one large train."""
    declare(session, SMALL)
    session.stream("big", "id bigint, v int, ts timestamp", event_time="ts")
    for first in range(0, BIG, BIG // 8):
        session.append("big", _big(range(first, first + BIG // 8)))
    session.engine.logs["big"].seal()
    start(session, [CASES[name] for name in KINDS])
    given = batches(Random(7), SMALL)
    for number, (stream, rows) in enumerate(given):
        session.append(stream, rows)
        if number == len(given) // 2:
            for name, sql in LARGE.items():
                session.query(name, sql, since="start")
            half()
    last()
    for stream in (*SMALL, "big"):
        session.finish(stream)
    assert session.drain(PATIENCE)


def _big(ids: range) -> pa.Table:
    times = pa.array([BASE + n * 100 for n in ids], pa.timestamp("us", "UTC"))
    return pa.table(
        {"id": pa.array(ids, pa.int64()), "v": pa.array([n * 7 % 100 for n in ids], pa.int32()), "ts": times}
    )


def _line() -> None:
    sys.stdin.readline()


def executors(session: Session) -> dict[str, int]:
    """How many tasks each executor has completed; one of them is called `driver`."""
    context: Any = session.spark.sparkContext._jsc
    found = context.sc().statusStore().executorList(False)
    return {found.apply(n).id(): found.apply(n).completedTasks() for n in range(found.size())}


def main() -> None:
    master, directory = sys.argv[1:]
    with Session(master=master, directory=Path(directory), policy="fcfs") as session:
        session.spark.sparkContext.setLogLevel("OFF")
        work(session, lambda: print("half", flush=True), _line)
        states = {line.name: [line.state, line.error] for line in session.status().queries}
        files = [
            name
            for _, commit in session.engine.commits.commits()
            for name, output in commit.outputs.items()
            if output.files
        ]
        print(json.dumps({"executors": executors(session), "states": states, "written": files}), flush=True)


if __name__ == "__main__":
    main()
