"""How much of the engine's time goes into scheduling, with many queries on Spark.

    python benchmarks/decisions_on_spark.py --queries 100 --queries 1000

Half of the queries are filters, half window aggregates, in three classes. Counted is all talk with the scheduler:
all that the owner of the engine does; against the seconds that the workers had.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from headgate.core.scheduler import Scheduler
from headgate.spark.jvm.settings import builder
from headgate.spark.machine.machine import Machine
from headgate.spark.session import Session

OWNER: tuple[tuple[type, str], ...] = ((Machine, "handle"),)
SCHEDULER = tuple((Scheduler, name) for name in ("event", "next", "finished", "to_cancel", "freed", "cancelled"))
WORKERS = 2
CLASSES = {"high": 60, "middle": 30, "low": 10}


class Clock:
    """Adds up the time that some methods take, those inside one another once."""

    def __init__(self, counted: Sequence[tuple[type, str]] = OWNER) -> None:
        self.seconds = 0.0  # from beginning to end, waiting for other threads of the process among it
        self.processor = 0.0  # at work only
        self.calls = 0
        self._inside = False
        for owner, name in counted:
            setattr(owner, name, self._timed(getattr(owner, name)))

    def _timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any) -> Any:
            if self._inside:
                return method(*given)
            began, computed, self._inside = time.perf_counter(), time.thread_time(), True
            try:
                return method(*given)
            finally:
                self._inside = False
                self.seconds += time.perf_counter() - began
                self.processor += time.thread_time() - computed
                self.calls += 1

        return timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, action="append", help="how many; may be repeated (100 and 1000)")
    parser.add_argument("--policy", default="mbd, inversion=dsp")
    parser.add_argument("--fuse", default="class")
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    spark = builder("local[*]", "decisions").config("spark.log.level", "ERROR").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    clock = Clock()
    print(f"{'queries':>8}{'runs':>8}{'calls':>10}{'µs a call':>12}{'share of the workers’ time':>30}")
    for count in options.queries or [100, 1000]:
        print(f"starting {count} queries …", file=sys.stderr, flush=True)
        with Session(spark=spark, policy=options.policy, fuse=options.fuse) as session:
            start(session, count)
            time.sleep(10.0)
            seconds, calls, runs, began = clock.seconds, clock.calls, session.status().runs, time.perf_counter()
            time.sleep(options.seconds)
            spent, made = clock.seconds - seconds, clock.calls - calls
            share = spent / (WORKERS * (time.perf_counter() - began))
            print(f"{count:>8}{session.status().runs - runs:>8}{made:>10}{spent / made * 1e6:>12.0f}{share:>30.2%}")
    spark.stop()


def start(session: Session, count: int) -> None:
    source = "poisson, rate=500, id=[0, 50], temp=[0.0, 100.0]"
    session.stream("s", "id bigint, temp double, ts timestamp", source=source, event_time="ts", watermark=0.5)
    for name, priority in CLASSES.items():
        session.create_class(name, priority)
    for number in range(count):
        where = f"WHERE temp > {90 + number % 10} AND id = {number % 50}"
        windows = f"SELECT window.start AS t, avg(temp) AS m FROM s {where} GROUP BY window(ts, '2 seconds')"
        sql = windows if number % 2 else f"SELECT id, temp, ts FROM s {where}"
        session.query(f"q{number}", sql, query_class=list(CLASSES)[number % 3], sink="blackhole")


if __name__ == "__main__":
    main()
