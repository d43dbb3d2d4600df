"""Half an hour of queries coming and going, to see whether anything grows.

    python benchmarks/soak.py --minutes 30 --plot out/soak.png

A feed runs all the time; every few seconds a query comes, goes, is paused, resumed, moved or given other SQL. Results
of a query that goes are removed, as whoever has read them would. Every few seconds memory, threads, open files and the
size of the data directory are written down. At the end the mean of the last third is compared with that of the middle
third: a ratio near 1 is flat.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from headgate.spark.jvm.settings import builder
from headgate.spark.session import Session

KINDS = (
    "SELECT id, temp, ts FROM s WHERE temp > {n}",
    "SELECT id, temp * {n} AS x, ts FROM s WHERE id = {n}",
    "SELECT window.start AS t, id, avg(temp) AS m FROM s WHERE temp > {n} GROUP BY window(ts, '2 seconds'), id",
    "SELECT x.id, y.temp FROM s x JOIN s y ON x.id = y.id AND y.ts BETWEEN x.ts AND x.ts + INTERVAL 1 SECOND "
    "WHERE x.temp > 9{n} AND y.temp > 95",
)
MEASURES = ("Python MiB", "Java MiB", "threads", "open files", "directory MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--queries", type=int, default=20, help="about so many at a time")
    parser.add_argument("--plot", type=Path, default=Path("out/soak.png"))
    options = parser.parse_args()
    spark = builder("local[*]", "soak").config("spark.log.level", "ERROR").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    with (
        tempfile.TemporaryDirectory(prefix="headgate-soak-") as folder,
        Session(spark=spark, directory=folder) as session,
    ):
        times, found = soak(session, Path(folder), options.minutes * 60, options.queries)
        print(f"{session.status().runs:,} runs, {session.status().spark_jobs:,} Spark jobs", file=sys.stderr)
    spark.stop()
    report(found)
    picture(times, found, options.plot)


def soak(session: Session, folder: Path, seconds: float, queries: int) -> tuple[list[float], np.ndarray]:
    """The measures over time."""
    chance = random.Random(1)
    source = "poisson, rate=500, id=[0, 20], temp=[0.0, 100.0]"
    session.stream("s", "id bigint, temp double, ts timestamp", source=source, event_time="ts", watermark=0.5)
    for name, priority in (("high", 60), ("middle", 30), ("low", 10)):
        session.create_class(name, priority, lag="skip, tuples=50000")
    began, made = time.monotonic(), 0
    times: list[float] = []
    rows: list[list[float]] = []
    while (now := time.monotonic() - began) < seconds:
        names = [line.name for line in session.status().queries]
        if len(names) < queries or chance.random() < 0.5:
            sql = KINDS[made % len(KINDS)].format(n=made % 10)
            session.query(f"q{made}", sql, query_class=chance.choice(("high", "middle", "low")))
            made += 1
        if len(names) >= queries:
            gone = chance.choice(names)
            session[gone].stop()
            shutil.rmtree(session.engine.directory.result(gone), ignore_errors=True)
        for name, act in ((chance.choice(names), chance.choice(("pause", "resume", "move"))) for _ in names[:2]):
            if name in {line.name for line in session.status().queries}:
                _do(session, name, act, chance)
        times.append(now)
        rows.append(measured(session, folder))
        print(f"\r{now:.0f} of {seconds:.0f} s, {made} queries so far", end="", file=sys.stderr, flush=True)
        time.sleep(2.0)
    print(file=sys.stderr)
    return times, np.array(rows)


def _do(session: Session, name: str, act: str, chance: random.Random) -> None:
    handle = session[name]
    if act == "pause":
        handle.pause()
    elif act == "resume":
        handle.resume()
    else:
        handle.move(chance.choice(("high", "middle", "low")))


def measured(session: Session, folder: Path) -> list[float]:
    """Resident memory of both processes, threads of this one, its open files, and what lies in the directory."""
    jvm: Any = session.spark._jvm
    java = int(jvm.java.lang.ProcessHandle.current().pid())
    size = sum(map(_size, folder.rglob("*")))
    status = Path("/proc/self/status").read_text()
    threads = int(status.split("Threads:")[1].split()[0])
    return [_resident(os.getpid()), _resident(java), threads, len(os.listdir("/proc/self/fd")), size / 2**20]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:  # merged or removed meanwhile
        return 0


def _resident(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def report(found: np.ndarray) -> None:
    third = max(1, len(found) // 3)
    print(f"{'':16}{'middle third':>14}{'last third':>14}{'ratio':>8}")
    for number, name in enumerate(MEASURES):
        middle, last = found[third : 2 * third, number].mean(), found[-third:, number].mean()
        print(f"{name:16}{middle:>14.1f}{last:>14.1f}{last / middle:>8.2f}")


def picture(times: list[float], found: np.ndarray, target: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(len(MEASURES), 1, figsize=(8, 10), sharex=True)
    for axis, name, column in zip(axes, MEASURES, found.T, strict=True):
        axis.plot(np.array(times) / 60, column, linewidth=1)
        axis.set_ylabel(name)
        axis.set_ylim(bottom=0)
    axes[-1].set_xlabel("minutes")
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=100, bbox_inches="tight")
    print(f"wrote {target}", file=sys.stderr)


if __name__ == "__main__":
    main()
