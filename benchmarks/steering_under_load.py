"""How long callers wait while policies of other levels take over.

    python benchmarks/steering_under_load.py --seconds 30

Eighteen queries of three kinds read a light feed. Every second or two another policy takes over, mostly one of another
level, so that all queries are cut anew. Meanwhile one thread appends in a loop and another asks for the status in a
loop. Printed are the slowest call of each kind, the 99th percentile and the median, and what messages the owner of the
engine took longest for, in time on a processor.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import count, cycle
from typing import Any

import numpy as np

from headgate.spark.jvm.settings import builder
from headgate.spark.machine.machine import Machine
from headgate.spark.session import Session

POLICIES = ("mbd, inversion=dsp", "chain", "segment", "hnr")
KINDS = (
    "SELECT id, temp, ts FROM s WHERE temp > {n}",
    "SELECT window.start AS t, count(*) AS m FROM s WHERE temp > {n} GROUP BY window(ts, '2 seconds')",
    "SELECT x.id, y.temp FROM s x JOIN s y ON x.id = y.id AND y.ts BETWEEN x.ts AND x.ts + INTERVAL 1 SECOND "
    "WHERE x.temp > 9{n} AND y.temp > 95",
)
SOURCE = "poisson, rate=300, id=[0, 20], temp=[0.0, 100.0]"
SCHEMA = "id bigint, temp double, ts timestamp"


class Calls:
    """How long calls took."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds: dict[str, list[float]] = {}
        self._clock = clock

    def timed(self, name: str, call: Callable[[], Any]) -> None:
        began = self._clock()
        call()
        self.seconds.setdefault(name, []).append(self._clock() - began)

    def lines(self) -> list[str]:
        found = []
        for name, seconds in self.seconds.items():
            slowest, p99, p50 = (1000 * float(np.percentile(seconds, part)) for part in (100, 99, 50))
            found.append(
                f"{name:24} {len(seconds):7,} times, slowest {slowest:8.1f} ms, p99 {p99:8.1f} ms, p50 {p50:6.2f} ms"
            )
        return found


class Watched:
    """Measures what each kind of message takes of the owner's time on a processor, whatever else runs there."""

    def __init__(self, session: Session) -> None:
        self.calls = Calls(time.thread_time)
        machine: Machine = session.engine._owner._machine
        handle = machine.handle

        def timed(message: Any, now: float) -> Any:
            task = getattr(message, "task", None)
            name = type(message).__name__ + ("" if task is None else f" to {type(task).__name__}")
            out: list[Any] = []
            self.calls.timed(name, lambda: out.append(handle(message, now)))
            return out[0]

        machine.handle = timed  # type: ignore[method-assign]

    def lines(self, most: int = 8) -> list[str]:
        ranked = sorted(self.calls.seconds.items(), key=lambda each: -max(each[1]))[:most]
        self.calls.seconds = dict(ranked)
        return self.calls.lines()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--queries", type=int, default=18)
    parser.add_argument("--every", type=float, default=1.5, help="seconds between two changes of policy")
    options = parser.parse_args()
    spark = builder("local[*]", "steering").config("spark.log.level", "ERROR").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    with (
        tempfile.TemporaryDirectory(prefix="headgate-steering-") as folder,
        Session(spark=spark, directory=folder) as session,
    ):
        begin(session, options.queries)
        watched, calls = Watched(session), Calls()
        steer(session, calls, options.seconds, options.every)
        status = session.status()
        print(f"{status.runs:,} runs; not running: {[line.name for line in status.queries if line.state != 'running']}")
    spark.stop()
    print("callers:", *calls.lines(), "the owner, on its processor:", *watched.lines(), sep="\n")


def begin(session: Session, queries: int) -> None:
    """The queries, warm: each has run before anything is measured."""
    session.stream("s", SCHEMA, source=SOURCE, event_time="ts", watermark=0.5)
    session.stream("t", SCHEMA, event_time="ts")
    for name, priority in (("high", 60), ("low", 10)):
        session.create_class(name, priority)
    for number in range(queries):
        sql = KINDS[number % len(KINDS)].format(n=number % 10)
        session.query(f"q{number}", sql, query_class=("high", "low")[number % 2])
    session.query("other", "SELECT id FROM t WHERE temp > 50", query_class="low")
    while any(line.runs == 0 for line in session.status().queries if line.name != "other"):
        time.sleep(0.1)


def steer(session: Session, calls: Calls, seconds: float, every: float) -> None:
    """Change policies while two threads call."""
    over = threading.Event()
    numbers = count()

    def looped(name: str, call: Callable[[], Any]) -> threading.Thread:
        def loop() -> None:
            while not over.is_set():
                calls.timed(name, call)
                time.sleep(0.005)

        thread = threading.Thread(target=loop, name=f"caller-{name}")
        thread.start()
        return thread

    def append() -> None:
        session.append("t", [{"id": next(numbers), "temp": 60.0}])

    threads = [looped("append", append), looped("status", session.status)]
    end = time.monotonic() + seconds
    for policy in cycle(POLICIES):
        if time.monotonic() >= end:
            break
        calls.timed("set_policy", lambda policy=policy: session.set_policy(policy))  # type: ignore[misc]
        time.sleep(every)
    over.set()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
