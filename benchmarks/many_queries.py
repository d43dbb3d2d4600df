"""Many queries over one feed: Structured Streaming against Headgate, in one run.

    python benchmarks/many_queries.py --quick          20 filters: one streaming query each, and Headgate; five minutes
    python benchmarks/many_queries.py --json           everything, as JSON

The sides:

    ss       Structured Streaming, one query each, FAIR pools
    fan-out  one streaming query whose foreachBatch runs all queries on the batch
    by-hand  one streaming query that tags each row with the queries it satisfies, as somebody would fuse them by hand
    off, class, all   Headgate with that fusion; its log, commits and result files are on disk

Every side gets the same rows at the same pace: `--rows` of them every `--every` seconds. The latency of a result is the
time from its tuple's arrival (for a window: of the tuple that closed it, or, for Structured Streaming, of the newest
tuple in the batch that gave it) to when it is there. Ratios are of means, Structured Streaming over the side.

The last scene asks how many rows a second a side can take, of a feed that sends more once the slowest query is at most
`AHEAD` rows behind.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from headgate.spark.jvm.settings import builder
from headgate.spark.session import Session

SCHEMA = "id bigint, temp double, ts timestamp"
WATERMARK = 0.5
PLACES = 50
SLOWEST = 1.5  # seconds per query until all of Structured Streaming's have given something
AHEAD = 400_000  # rows that a feed without a pace is before the slowest query
STEPS, PATIENCE = 3, 240.0  # how often the slowest query must take rows to have a rate; seconds to wait for it at most
LOOK_EVERY = 0.05  # seconds between two looks at what has been taken: looking costs time as well


@dataclass(frozen=True)
class Question:
    """A query as both sides write it."""

    name: str
    sql: str
    query_class: str = "one"
    kind: str = "filter"


@dataclass
class Latencies:
    """Seconds by class."""

    found: dict[str, list[float]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, query_class: str, seconds: Sequence[float]) -> None:
        with self.lock:
            self.found.setdefault(query_class, []).extend(seconds)

    def summary(self, cpu: float, tuples: int, queries: int) -> dict[str, Any]:
        everything = [one for each in self.found.values() for one in each]
        return {
            "mean": float(np.mean(everything)) if everything else None,
            "p95": float(np.percentile(everything, 95)) if everything else None,
            "classes": {name: float(np.mean(each)) for name, each in sorted(self.found.items()) if each},
            "p95_classes": {name: float(np.percentile(each, 95)) for name, each in sorted(self.found.items()) if each},
            "results": len(everything),
            "cpu_seconds_per_million": cpu / (tuples * queries) * 1e6 if tuples else None,
        }


def filters(count: int, classes: int = 1) -> list[Question]:
    """Filters that let a few percent through."""
    return [
        Question(
            f"f{n}",
            f"SELECT id, temp, ts FROM s WHERE temp > {90 + n % 10} AND id % {count} = {n % count}",
            f"class{n % classes}" if classes > 1 else "one",
        )
        for n in range(count)
    ]


def mix() -> list[Question]:
    """8 filters, 8 window aggregates, 4 window joins over two feeds."""
    made = [Question(one.name, one.sql, "filters") for one in filters(8)]
    for n in range(8):
        grouped = f"WHERE id % 8 = {n} GROUP BY window(ts, '2 seconds'), id"
        sql = f"SELECT window.start AS t, id, avg(temp) AS m FROM s {grouped}"
        made.append(Question(f"a{n}", sql, "aggregates", "aggregate"))
    bound = "u.ts BETWEEN s.ts - INTERVAL 1 SECOND AND s.ts + INTERVAL 1 SECOND"
    for n in range(4):
        sql = f"SELECT s.id, s.temp, u.temp AS other FROM s JOIN u ON s.id = u.id AND {bound} WHERE s.temp > {95 + n}"
        made.append(Question(f"j{n}", sql, "joins", "join"))
    return made


class Feed:
    """Sends rows until it is stopped: at a fixed pace, or as fast as they are taken."""

    def __init__(
        self,
        send: Callable[[str, pa.Table], None],
        streams: Sequence[str],
        setting: Setting,
        taken: Callable[[], int] | None = None,
    ) -> None:
        self._send, self._streams, self._setting, self._taken = send, streams, setting, taken
        self._stop = threading.Event()
        self.sent = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        chance = np.random.default_rng(1)
        due, taken = time.monotonic(), 0
        while not self._stop.is_set():
            for stream in self._streams:
                self._send(stream, rows_of_now(chance, self._setting.rows, self._setting.places))
            self.sent += self._setting.rows
            if self._taken is None:
                due += self._setting.every
                self._stop.wait(max(0.0, due - time.monotonic()))
                continue
            while self.sent - taken > AHEAD and not self._stop.is_set():
                if self.sent - (taken := self._taken()) > AHEAD:  # not asked more often than needed: asking costs time
                    self._stop.wait(LOOK_EVERY)

    def __enter__(self) -> Feed:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def rows_of_now(chance: np.random.Generator, rows: int, places: int = PLACES) -> pa.Table:
    """Rows whose event time is that of their arrival."""
    times = np.full(rows, int(time.time() * 1e6))
    return pa.table(
        {
            "id": chance.integers(0, places, rows),
            "temp": chance.uniform(0.0, 100.0, rows),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
        }
    )


def cpu_seconds(spark: SparkSession) -> float:
    """Of this process and of Spark's Java."""
    jvm: Any = spark._jvm
    return sum(_of_process(pid) for pid in (os.getpid(), int(jvm.java.lang.ProcessHandle.current().pid())))


def _of_process(pid: int) -> float:
    """User and system time; they stand after the process's name, which ends with the last bracket."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Setting:
    """How long and how much."""

    warm_up: float
    seconds: float
    rows: int
    every: float
    flood: bool = False
    places: int = PLACES


def rate(taken: Callable[[], int], setting: Setting) -> float:
    """Rows per second that the slowest query takes, once warm.

    It takes them in steps, so the clock runs from one step to another, and goes on until there were a few.
    """
    time.sleep(setting.warm_up)
    began = time.monotonic()
    steps = [(began, taken())]
    while time.monotonic() < began + (setting.seconds if len(steps) > STEPS else PATIENCE):
        time.sleep(LOOK_EVERY)
        if (now := taken()) > steps[-1][1]:
            steps.append((time.monotonic(), now))
    if len(steps) < 3:
        return 0.0
    (first, before), (last, after) = steps[1], steps[-1]
    return (after - before) / (last - first)


class Progress(StreamingQueryListener):
    """How many rows each streaming query has taken."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's name
        self.rows[str(event.id)] = 0

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name
        self.rows[str(event.progress.id)] += event.progress.numInputRows

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - Spark's name
        pass

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - Spark's name
        pass


def headgate(questions: Sequence[Question], fuse: str, setting: Setting) -> dict[str, Any]:
    """Headgate's side."""
    with quiet_spark(builder("local[*]", "many-queries")) as spark, Session(spark=spark, fuse=fuse) as session:
        streams = _streams(questions)
        for stream in streams:
            session.stream(stream, SCHEMA, event_time="ts", watermark=WATERMARK)
        for number, name in enumerate(sorted({one.query_class for one in questions})):
            session.create_class(name, 10.0 ** (len({one.query_class for one in questions}) - number - 1))
        session.add_queries({"name": one.name, "sql": one.sql, "query_class": one.query_class} for one in questions)

        def send(stream: str, table: pa.Table) -> None:
            session.append(stream, table)

        def taken() -> int:
            return min(query.tuples_in for query in session.engine.overview().queries)

        if setting.flood:
            with Feed(send, streams, setting, taken):
                return {"rate": rate(taken, setting)}
        found = Latencies()
        with Feed(send, streams, setting) as feed:
            time.sleep(setting.warm_up)
            began, sent, cpu = time.time(), feed.sent, cpu_seconds(spark)
            time.sleep(setting.seconds)
            for one in questions:
                results = session.engine.query(one.name).results
                found.add(one.query_class, results.took[results.at >= began].tolist())
            return found.summary(cpu_seconds(spark) - cpu, feed.sent - sent, len(questions))


def structured(questions: Sequence[Question], way: str, setting: Setting) -> dict[str, Any]:
    """Structured Streaming's sides, over a folder that the feed drops Parquet files into."""
    folder = Path(tempfile.mkdtemp(prefix="many-queries-"))
    pools = folder / "pools.xml"
    names = sorted({one.query_class for one in questions})
    weights = {name: 10 ** (len(names) - number - 1) for number, name in enumerate(names)}
    pools.write_text(_pools(weights))
    made = builder("local[*]", "many-queries").config("spark.scheduler.mode", "FAIR")
    made = made.config("spark.scheduler.allocation.file", f"file://{pools}").config("spark.sql.shuffle.partitions", 2)
    found = Latencies()
    measuring = threading.Event()
    number = iter(range(1_000_000))

    def send(stream: str, table: pa.Table) -> None:
        target = folder / stream / f"{next(number):09}.parquet"
        pq.write_table(table, target.with_suffix(".new"))
        target.with_suffix(".new").rename(target)

    def note(query_class: str, batch: DataFrame) -> None:
        rows = batch.toArrow()
        if measuring.is_set() and rows.num_rows:
            now = time.time()
            column = "ts" if "ts" in rows.column_names else rows.column_names[-1]
            times = rows[column].cast(pa.int64()).to_numpy() / 1e6
            found.add(query_class, (now - times).tolist())

    try:
        with quiet_spark(made) as spark:
            for stream in _streams(questions):
                (folder / stream).mkdir()
            progress = Progress()
            running = list(_start(spark, questions, way, folder, note, progress))
            if setting.flood:

                def taken() -> int:
                    return min(progress.rows.values()) if len(progress.rows) == len(running) else 0

                with Feed(send, _streams(questions), setting, taken):
                    found_rate = rate(taken, setting)
                for query in running:
                    query.stop()
                return {"rate": found_rate}
            with Feed(send, _streams(questions), setting) as feed:
                time.sleep(setting.warm_up)
                sent, cpu = feed.sent, cpu_seconds(spark)
                measuring.set()
                time.sleep(setting.seconds)
                measuring.clear()
                summary = found.summary(cpu_seconds(spark) - cpu, feed.sent - sent, len(questions))
            for query in running:
                query.stop()
            return summary
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _start(
    spark: SparkSession,
    questions: Sequence[Question],
    way: str,
    folder: Path,
    note: Callable[[str, DataFrame], None],
    progress: Progress,
) -> Iterator[Any]:
    if way == "ss":
        for one in questions:
            spark.sparkContext.setLocalProperty("spark.scheduler.pool", one.query_class)
            session = spark.newSession()
            session.streams.addListener(progress)
            for stream in _streams([one]):
                _read(session, folder, stream, late=one.kind != "filter").createOrReplaceTempView(stream)
            result = _with_arrival(session, one)
            yield (
                result.writeStream.foreachBatch(_noting(note, one.query_class))
                .option("checkpointLocation", str(folder / "checkpoints" / one.name))
                .start()
            )
        return
    spark.streams.addListener(progress)
    together = _fan_out(questions, note) if way == "fan-out" else _by_hand(questions, note)
    writing = _read(spark, folder, "s").writeStream.foreachBatch(together)
    yield writing.option("checkpointLocation", str(folder / "checkpoints" / "all")).start()


def _read(spark: SparkSession, folder: Path, stream: str, *, late: bool = False) -> DataFrame:
    frame = spark.readStream.schema(SCHEMA).parquet(str(folder / stream))
    return frame.withWatermark("ts", f"{WATERMARK} seconds") if late else frame


def _with_arrival(session: SparkSession, one: Question) -> DataFrame:
    """A window's results count from its end: Structured Streaming does not say which tuple closed it."""
    if one.kind == "aggregate":
        return session.sql(one.sql.replace("window.start AS t", "window.start AS t, window.end AS closed")).select(
            "t", "id", "m", "closed"
        )
    return session.sql(one.sql.replace("SELECT s.id", "SELECT s.ts, s.id"))


def _noting(note: Callable[[str, DataFrame], None], query_class: str) -> Callable[[DataFrame, int], None]:
    return lambda batch, _: note(query_class, batch)


def _fan_out(questions: Sequence[Question], note: Callable[[str, DataFrame], None]) -> Callable[[DataFrame, int], None]:
    def each(batch: DataFrame, _: int) -> None:
        batch.persist()
        batch.createOrReplaceTempView("s")
        for one in questions:
            note(one.query_class, batch.sparkSession.sql(one.sql))
        batch.unpersist()

    return each


def _by_hand(questions: Sequence[Question], note: Callable[[str, DataFrame], None]) -> Callable[[DataFrame, int], None]:
    tags = ", ".join(f"IF({one.sql.split(' WHERE ')[1]}, {n}, NULL)" for n, one in enumerate(questions))

    def each(batch: DataFrame, _: int) -> None:
        tagged = batch.selectExpr("*", f"explode(array_compact(array({tags}))) AS member")
        note(questions[0].query_class, tagged.drop("member").select("id", "temp", "ts"))

    return each


def _streams(questions: Sequence[Question]) -> list[str]:
    return ["s", "u"] if any(one.kind == "join" for one in questions) else ["s"]


def _pools(weights: Mapping[str, int]) -> str:
    pools = "".join(
        f'<pool name="{name}"><schedulingMode>FAIR</schedulingMode><weight>{weight}</weight></pool>'
        for name, weight in weights.items()
    )
    return f'<?xml version="1.0"?><allocations>{pools}</allocations>'


@contextmanager
def quiet_spark(made: Any) -> Iterator[SparkSession]:
    """Spark without its chatter."""
    spark = made.config("spark.log.level", "ERROR").config("spark.driver.host", "127.0.0.1").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


FLOOD = "rows per second through 50 filters"
SCENES: dict[str, tuple[list[Question], tuple[str, ...]]] = {
    "5 filters": (filters(5), ("ss", "fan-out", "by-hand", "off", "class")),
    "20 filters": (filters(20), ("ss", "fan-out", "by-hand", "off", "class", "all")),
    "50 filters": (filters(50), ("ss", "fan-out", "by-hand", "off", "class")),
    "20 filters in 5 classes": (filters(20, 5), ("ss", "off", "class", "all")),
    "mix of 20": (mix(), ("ss", "off", "class", "all")),
    FLOOD: (filters(50), ("ss", "off", "class")),
}


def measure(name: str, sides: Sequence[str], given: Sequence[str]) -> dict[str, Any]:
    """One scene on several sides, each in a process of its own: none inherits another's warm code."""
    found: dict[str, Any] = {}
    for side in sides:
        print(f"{name}: {side} …", file=sys.stderr, flush=True)
        command = [sys.executable, __file__, "--scene", name, "--side", side, *given]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{name}, {side}: {done.stderr[-2000:]}")
        found[side] = json.loads(done.stdout.splitlines()[-1])
    return found


def one_side(name: str, side: str, setting: Setting) -> dict[str, Any]:
    questions, _ = SCENES[name]
    setting = replace(setting, warm_up=max(setting.warm_up, SLOWEST * len(questions)))
    if name == FLOOD:
        setting = replace(setting, rows=20_000, flood=True)
    if side in ("ss", "fan-out", "by-hand"):
        return structured(questions, side, setting)
    return headgate(questions, side, setting)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20 filters in one class: ss and Headgate only")
    parser.add_argument("--scene", action="append", choices=list(SCENES), help="only this; may be repeated")
    parser.add_argument("--warm-up", type=float, default=25.0, help="seconds that do not count")
    parser.add_argument("--seconds", type=float, default=30.0, help="seconds that are measured, for each side")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--every", type=float, default=0.25)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    options = parser.parse_args()
    setting = Setting(options.warm_up, options.seconds, options.rows, options.every)
    if options.side:
        print(json.dumps(one_side(options.scene[0], options.side, setting)), flush=True)
        return
    given = [f"--{key}={vars(options)[key.replace('-', '_')]}" for key in ("warm-up", "seconds", "rows", "every")]
    if options.quick:
        chosen: dict[str, tuple[str, ...]] = {"20 filters": ("ss", "off", "class", "all")}
    else:
        chosen = {name: SCENES[name][1] for name in options.scene or SCENES}
    scenes = {name: measure(name, sides, given) for name, sides in chosen.items()}
    first = scenes["20 filters"] if "20 filters" in scenes else next(iter(scenes.values()))
    means = {side: found.get("mean") for side, found in first.items()}
    ratios = {side: means["ss"] / mean for side, mean in means.items() if mean and side != "ss" and means["ss"]}
    if options.json:
        print(json.dumps({"mean_latency": means, "ratio": ratios, "scenes": scenes}, indent=2))
        return
    if flood := scenes.pop(FLOOD, None):
        print(f"\n{FLOOD}")
        for side, found in flood.items():
            print(f"{side:10}{found['rate']:>10.0f}{found['rate'] / flood['ss']['rate']:>12.1f}")
    for name, sides in scenes.items():
        print(f"\n{name}, {setting.rows} rows every {setting.every:g} s")
        print(f"{'':10}{'mean s':>10}{'p95 s':>10}{'ss / mean':>12}{'CPU s / M':>12}   mean (p95) by class")
        base = sides.get("ss", {}).get("mean")
        for side, found in sides.items():
            if found["mean"] is None:
                print(f"{side:10}{'no results':>20}")
                continue
            ratio = f"{base / found['mean']:.1f}" if base else "–"
            p95 = found["p95_classes"]
            classes = ", ".join(f"{key} {value:.2f} ({p95[key]:.2f})" for key, value in found["classes"].items())
            print(
                f"{side:10}{found['mean']:>10.3f}{found['p95']:>10.3f}{ratio:>12}"
                f"{found['cpu_seconds_per_million']:>12.1f}   {classes}"
            )


if __name__ == "__main__":
    main()
