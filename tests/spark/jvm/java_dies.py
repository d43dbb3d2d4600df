"""Kills Spark's Java process while sessions run, and prints what they report as JSON.

    python -m tests.spark.jvm.java_dies FOLDER

It runs in its own process, since PySpark has one Java process for a whole program.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import SparkContext

from headgate.model import HeadgateError
from headgate.spark.jvm.settings import builder
from headgate.spark.session import Handle, Session

PATIENCE = 200.0  # seconds for anything: a start of Spark on a busy machine takes long
BORROWED = "-- a borrowed Spark"  # after this line of stderr PySpark may print what it likes
BASE = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = "id bigint, v bigint, ts timestamp"
ROOMS = "id,room\n1,hall\n2,attic\n"
QUERIES = {
    "filter": "SELECT id, v FROM a WHERE v > 1",
    "other": "SELECT id, v FROM a WHERE v > 2",
    "window": "SELECT window.start AS t, count(*) AS n FROM a WHERE v > 0 GROUP BY window(ts, '3 seconds')",
    "stored": "SELECT a.id, rooms.room FROM a JOIN rooms ON a.id = rooms.id",
    "given": "SELECT a.id, people.name FROM a JOIN people ON a.id = people.id",
}


def row(number: int) -> dict[str, object]:
    return {"id": number % 5, "v": number % 4, "ts": BASE + timedelta(milliseconds=20 * number)}


def expected(count: int) -> dict[str, Counter[Any]]:
    """What each query gives of the first rows, the stream having ended."""
    rows = [row(number) for number in range(count)]
    pairs = [(int(str(row["id"])), int(str(row["v"]))) for row in rows]
    windows = Counter(150 * (number // 150) for number, (_, v) in enumerate(pairs) if v > 0)
    return {
        "filter": Counter(pair for pair in pairs if pair[1] > 1),
        "other": Counter(pair for pair in pairs if pair[1] > 2),
        "window": Counter((BASE + timedelta(milliseconds=20 * first), n) for first, n in windows.items()),
        "stored": Counter((id, {1: "hall", 2: "attic"}[id]) for id, _ in pairs if id in (1, 2)),
        "given": Counter((id, {3: "Ada"}[id]) for id, _ in pairs if id == 3),
        "late": Counter((id,) for id, v in pairs if v == 1),
    }


def counted(rows: pa.Table) -> Counter[Any]:
    return Counter(tuple(row.values()) for row in rows.to_pylist())


def size(handles: dict[str, Handle]) -> int:
    """How many results there are of all queries; a policy may let some of them wait long."""
    return sum(handle.read().num_rows for handle in handles.values())


def java() -> int:
    """The process that Spark runs in."""
    context: Any = SparkContext
    return int(context._gateway.proc.pid)


def kill(pids: list[int]) -> None:
    pids.append(java())
    os.kill(pids[-1], signal.SIGKILL)


def refusal(call: Any) -> str:
    try:
        call()
    except HeadgateError as error:
        return str(error)
    return ""


def wait(until: Any) -> bool:
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit and not until():
        time.sleep(0.05)
    return bool(until())


@contextmanager
def fed(session: Session) -> Iterator[list[int]]:
    """A thread appends row after row; how many it has appended. What an append raises is raised at the end."""
    count, failed, stop = [0], [], threading.Event()

    def feed() -> None:
        try:
            while not stop.wait(0.02):
                session.append("a", [row(count[0])])
                count[0] += 1
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=feed)
    thread.start()
    try:
        yield count
    finally:
        stop.set()
        thread.join()
    if failed:
        raise failed[0]


def states(session: Session) -> dict[str, str]:
    return {line.name: line.state for line in session.status().queries}


def own(folder: Path, pids: list[int]) -> dict[str, Any]:
    """A session with its own Spark, killed twice: while queries are cut into fragments, and while they share jobs."""
    (folder / "rooms.csv").write_text(ROOMS)
    report: dict[str, Any] = {}
    with Session(master="local[2]", directory=folder / "own", policy="chain") as session:
        session.stream("a", SCHEMA, event_time="ts")
        session.table("rooms", folder / "rooms.csv")
        session.table("people", session.spark.createDataFrame([(3, "Ada")], "id bigint, name string"))
        handles = {name: session.query(name, sql) for name, sql in QUERIES.items()}
        session.query("ahead", QUERIES["filter"], start=3600.0)
        session.query("paused", QUERIES["filter"]).pause()
        with fed(session) as count:
            report["first"] = wait(lambda: size(handles) > 0)
            kill(pids)
            report["refused"] = [
                refusal(lambda: session.query("early", QUERIES["filter"])),
                refusal(lambda: session.table("early", folder / "rooms.csv")),
            ]
            report["error"] = session.status().spark_error
            before = count[0]
            report["readable"] = size(handles) > 0
            report["appended"] = wait(lambda: count[0] > before) and session.status().spark_error != ""
            report["back"] = wait(lambda: not session.status().spark_error)
            session.set_policy("fcfs", "all")
            rows = size(handles)
            report["goes on"] = wait(lambda: size(handles) > rows)
            kill(pids)
            report["noticed"] = wait(lambda: session.status().spark_error)
            report["back again"] = wait(lambda: not session.status().spark_error)
        handles["late"] = session.query("late", "SELECT id FROM a WHERE v = 1", since="start")
        session.finish("a")
        report["drained"] = session.drain(PATIENCE)
        report["states"] = states(session)
        report["errors"] = [line.error for line in session.status().queries if line.error]
        report["rows"] = count[0]
        report["wrong"] = [name for name, rows in expected(count[0]).items() if counted(handles[name].read()) != rows]
        report["journal"] = [f"{entry.before}-{entry.after}: {entry.reason}" for entry in session.status().journal]
        pids.append(java())
    return report


def borrowed(folder: Path, pids: list[int]) -> dict[str, Any]:
    """A session on a Spark that the program has: nobody starts that again."""
    spark = builder("local[2]").getOrCreate()
    with Session(spark=spark, directory=folder / "borrowed") as session:
        session.stream("a", SCHEMA, event_time="ts")
        handle = session.query("filter", QUERIES["filter"])
        session.append("a", [row(number) for number in range(100)])
        drained = session.drain(PATIENCE)
        kill(pids)
        session.append("a", [row(number) for number in range(100, 200)])
        suspended = wait(lambda: states(session) == {"filter": "suspended"})
        line = session.status()
        report = {
            "drained": drained,
            "suspended": suspended,
            "error": line.queries[0].error,
            "spark error": line.spark_error,
            "right": counted(handle.read()) == expected(100)["filter"],
        }
    with Session(master="local[2]", directory=folder / "borrowed") as session:
        session.stream("a", SCHEMA, event_time="ts")
        handle = session.query("filter", QUERIES["filter"])
        session.drain(PATIENCE)
        pids.append(java())
        return {**report, "right after all": counted(handle.read()) == expected(200)["filter"]}


def main() -> None:
    folder, pids = Path(sys.argv[1]), list[int]()
    ours = own(folder, pids)
    print(BORROWED, file=sys.stderr)
    print(json.dumps({"own": ours, "borrowed": borrowed(folder, pids), "pids": pids}))


if __name__ == "__main__":
    main()
