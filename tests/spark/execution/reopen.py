"""A directory with fifty queries of every kind and sink, killed and opened again with nothing but its path.

    python -m tests.spark.execution.reopen --kills 20 --seed 1

The first life declares a stream that reads files of a folder, classes, and queries with every kind of sink, a start, an
end, a QoS graph. Every later one is `Session(directory=…)` and no more; files keep coming. Callbacks, which no
directory can store, are given again in some lives only: in the others their queries wait. The last life compares all
results with one Spark batch.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.spark.compile.logs import batch_views
from tests.spark.engine.workload import STREAMS, Case, Row, counted, table
from tests.spark.execution import kill
from tests.spark.execution.kill import POINTS, READY, account, batch, child, differences, life

from headgate.spark.jvm.settings import builder
from headgate.spark.machine import maintenance
from headgate.spark.session import Session
from headgate.spark.sinks import files as file_sinks

SINKS = ("parquet", "jsonl", "callback", "table", "parquet, behind=0", "memory, rows=50", "blackhole")
IN_FILES = ("parquet", "jsonl", "parquet, behind=0")
QUERIES = 50
POLICIES = ("hnr, level=operator", "mbd, inversion=dsp", "bsd, clusters=3", "random, train=90", "rr", "express")


def cases() -> list[tuple[Case, str]]:
    """Fifty queries, each with its sink."""
    every = [kill._EVERY[number % len(kill._EVERY)] for number in range(QUERIES)]
    return [
        (Case(f"{case.name} {number}", case.sql, case.batch), SINKS[(number + number // len(SINKS)) % len(SINKS)])
        for number, case in enumerate(every)
    ]


def sink_of(number: int, sink: str) -> str:
    return f"table, name=results_{number}" if sink == "table" else sink


class Receiver:
    """A callback that writes down what it was given."""

    def __init__(self, folder: Path, number: int) -> None:
        self.file = folder / f"called-{number}.jsonl"

    def __call__(self, rows: pa.Table) -> None:
        with self.file.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(row, default=str) + "\n" for row in rows.to_pylist()))

    def rows(self) -> Counter[str]:
        return Counter(self.file.read_text().splitlines()) if self.file.exists() else Counter()


def opened(folder: Path, **settings: Any) -> Session:
    maintenance.EVERY, file_sinks.FAN = 10, 4
    spark = (
        builder("local[2]", "headgate-reopen")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.hadoop.javax.jdo.option.ConnectionURL", f"jdbc:derby:;databaseName={folder}/tables;create=true")
        .enableHiveSupport()  # tables of other sessions are known again
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return Session(spark=spark, directory=folder / "data", **settings)


def declare(folder: Path) -> None:
    """The first life: declare everything, and end."""
    source = f"directory, path={folder / 'incoming'}, poll=20ms"
    with opened(folder, policy="hnr, level=operator", fuse="all") as session:
        for name, priority in (("high", 50.0), ("middle", 7.0), ("low", 1.0)):
            session.create_class(name, priority)
        session.add_stream(replace(STREAMS["a"], source=source))
        for number, (case, sink) in enumerate(cases()):
            session.query(
                case.name,
                case.sql,
                query_class=("high", "middle", "low")[number % 3],
                since="start",
                qos=((0.0, 1.0), (1.0, 0.0)) if number % 4 == 0 else None,
                start="5 s" if number == 7 else 0.0,
                end="1 h" if number == 8 else float("inf"),
                lag="wait, tuples=1000000" if number == 9 else None,
                sink=sink_of(number, sink),
                callback=Receiver(folder, number) if sink == "callback" else None,
            )
        session["tumbling 4"].pause()
        session["window 19"].move("high")
        session.set_priority("middle", 9.0)


def live(folder: Path, seed: int) -> None:
    """A process that has nothing but the path, until it is killed; some give callbacks and change things."""
    print(READY, flush=True)
    session = opened(folder)
    print(READY, flush=True)
    chance = random.Random(seed)
    if chance.random() < 0.5:
        give_callbacks(session, folder)
    if chance.random() < 0.4:
        session.set_policy(chance.choice(POLICIES), chance.choice(("class", "all", "off")))
    time.sleep(2 * kill.NAMED)


def give_callbacks(session: Session, folder: Path) -> None:
    for number, (case, sink) in enumerate(cases()):
        if sink == "callback":
            query = session.engine.query(case.name).query
            session.add_query(query, callback=Receiver(folder, number))


def put(folder: Path, index: int) -> None:
    """One more file, complete when it gets its name."""
    rows = table("a", batch(index))
    path = folder / "incoming" / f"{index:06}.parquet"
    pq.write_table(rows, path.with_name(f".{path.name}"))
    os.replace(path.with_name(f".{path.name}"), path)


def last_life(folder: Path) -> dict[str, object]:
    """Finish everything, and compare."""
    session = opened(folder)
    status = session.status()
    wrong = [f"{line.name} is {line.state}: {line.error}" for line in status.queries if line.state not in STATES]
    queries = {line.name: line for line in status.queries}
    wrong += [] if len(queries) == QUERIES else [f"{len(queries)} queries"]
    wrong += [] if queries["tumbling 4"].state == "paused" else ["the paused query is not paused"]
    classes = session.engine.overview().classes
    wrong += [] if {name: found.priority for name, found in classes.items()} == PRIORITIES else [f"classes: {classes}"]
    wrong += [] if session.engine.query("window 19").query.query_class == "high" else ["a query is not where it moved"]
    give_callbacks(session, folder)
    session["tumbling 4"].resume()
    sent = len(list((folder / "incoming").glob("*.parquet")))
    log = session.engine.logs["a"]
    while len(log.batches) < sent:
        time.sleep(0.05)
    session.finish("a")
    session.drain()
    rows = log.read(0, log.end)
    own = rows.drop_columns(["_offset", "_arrival", "_late"])
    everything = [row for index in range(sent) for row in batch(index)]
    wrong += differences("the log", counted(own), counted(table("a", everything)))
    results = 0
    for number, (case, sink) in enumerate(cases()):
        for name, view in batch_views(session.engine.query(case.name).query.plan, {"a": rows}).items():
            session.spark.createDataFrame(view).createOrReplaceTempView(name)
        wanted = session.spark.sql(case.batch).toArrow()
        results += wanted.num_rows
        wrong += compared(session, folder, number, case, sink, wanted)
    session.close()
    session.spark.stop()
    return {"tuples": rows.num_rows, "results": results, "wrong": wrong}


STATES = ("running", "paused", "scheduled", "incomplete")
PRIORITIES = {"high": 50.0, "middle": 9.0, "low": 1.0}


def compared(session: Session, folder: Path, number: int, case: Case, sink: str, wanted: pa.Table) -> list[str]:
    """Exactly once in files, at least once in callbacks and tables; the others keep nothing."""
    name = f"{case.name} ({sink})"
    if sink in IN_FILES:
        return differences(name, counted(session[case.name].read()), counted(wanted))
    if sink == "callback":
        expected = Counter(json.dumps(row, default=str) for row in wanted.to_pylist())
        return at_least(name, Receiver(folder, number).rows(), expected)
    if sink == "table":
        return at_least(name, counted(session.spark.table(f"results_{number}").toArrow()), counted(wanted))
    return []


def at_least(name: str, actual: Counter[str] | Counter[Row], wanted: Counter[str] | Counter[Row]) -> list[str]:
    lost, strange = (Counter(wanted) - Counter(actual)).total(), set(actual) - set(wanted)
    return [f"{name}: {lost} lost, {len(strange)} not asked for"] if lost or strange else []


def campaign(kills: int, seed: int) -> int:
    chance, began = random.Random(seed), time.monotonic()
    deaths: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "incoming").mkdir()
        if code := child(folder, "--declare", module=__spec__.name).wait():
            print((folder / "errors").read_text()[-3000:], file=sys.stderr)
            return code
        try:
            for number in range(1, kills + 1):
                for index in range((number - 1) * 5, number * 5):
                    put(folder, index)
                deaths[life(folder, chance, chance.choice(POINTS) if number % 2 else "", __spec__.name)] += 1
                print(f"\r{number} of {kills} kills", end="", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            print(" were enough; now the account", end="", file=sys.stderr)
        print(file=sys.stderr)
        return account(folder, deaths, QUERIES, began, __spec__.name)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--live", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--declare", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--last", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    pa.set_cpu_count(1)
    if chosen.live is not None:
        live(chosen.folder, chosen.live)
    elif chosen.declare:
        declare(chosen.folder)
    elif chosen.last:
        print(json.dumps(last_life(chosen.folder)), flush=True)
    else:
        return campaign(chosen.kills, chosen.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
