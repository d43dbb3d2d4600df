"""How long many queries take to start: from the call until all of them run.

    python benchmarks/starting.py                      1000 queries of five forms, in one call
    python benchmarks/starting.py --one-by-one         the same with a call of `Session.query` for each
    python benchmarks/starting.py --again              also: the directory opened again, and all of them stopped

The forms: filters with other constants, projections, tumbling and sliding aggregates, and window joins of two streams.
The phases are the seconds that each kind of work took in all threads: they run side by side, and add up to more or less
than the time that passed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from headgate.spark.engine.engine import Engine
from headgate.spark.execution.committer import Committer
from headgate.spark.execution.evaluator import SparkEvaluator
from headgate.spark.execution.refragmenter import Refragmenter
from headgate.spark.jvm.settings import builder
from headgate.spark.machine.machine import Machine
from headgate.spark.session import Session

PHASES: dict[str, tuple[type, str]] = {
    "plans of SQL": (Engine, "plan"),
    "Spark's analysis": (SparkEvaluator, "check"),
    "preparation": (Refragmenter, "prepare"),
    "commits": (Committer, "write"),
    "the owner": (Machine, "handle"),
}
SCHEMA = "id bigint, temp double, ts timestamp"
BOUND = "u.ts BETWEEN s.ts - INTERVAL 1 SECOND AND s.ts + INTERVAL 1 SECOND"
PATIENCE = 600.0  # seconds until all must run


def queries(count: int) -> dict[str, str]:
    """So many queries of five forms, by name."""
    forms: list[Callable[[int], str]] = [
        lambda n: f"SELECT id, temp, ts FROM s WHERE temp > {n / 10} AND id = {n % 50}",
        lambda n: f"SELECT id, temp * {n + 1} AS scaled FROM s WHERE id <> {n}",
        lambda n: f"SELECT id, avg(temp) AS m FROM s WHERE temp > {n / 10} GROUP BY window(ts, '2 seconds'), id",
        lambda n: f"SELECT id, max(temp) AS m FROM s WHERE id > {n} GROUP BY window(ts, '4 seconds', '1 second'), id",
        lambda n: f"SELECT s.id, s.temp, u.temp AS v FROM s JOIN u ON s.id = u.id AND {BOUND} WHERE s.temp > {n / 10}",
    ]
    return {f"q{number}": forms[number % len(forms)](number) for number in range(count)}


class Clock:
    """Adds up the seconds of each phase."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PHASES, 0.0)
        for phase, (owner, name) in PHASES.items():
            setattr(owner, name, self._timed(phase, getattr(owner, name)))

    def _timed(self, phase: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any, **more: Any) -> Any:
            began = time.perf_counter()
            try:
                return method(*given, **more)
            finally:
                self.seconds[phase] += time.perf_counter() - began

        return timed

    @contextmanager
    def told(self, what: str) -> Iterator[None]:
        """Print how long something takes, by phase."""
        before, began = dict(self.seconds), time.perf_counter()
        yield
        print(f"{what}: {time.perf_counter() - began:.1f} s", flush=True)
        for phase, seconds in self.seconds.items():
            print(f"    {phase:<18}{seconds - before[phase]:8.1f} s", flush=True)


def declare(session: Session) -> None:
    for stream in ("s", "u"):  # without rows: their jobs would take the cores that are measured here
        session.stream(stream, SCHEMA, event_time="ts", watermark=0.5)


def wait_until_running(session: Session) -> None:
    until = time.monotonic() + PATIENCE
    while any(view.state != "running" for view in session.engine.overview().queries):
        if time.monotonic() > until:
            raise SystemExit("some queries do not run")
        time.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--one-by-one", action="store_true")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    spark = builder("local[*]", "starting").config("spark.log.level", "ERROR").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    clock, wanted = Clock(), queries(options.queries)
    with tempfile.TemporaryDirectory() as directory:
        session = Session(spark=spark, directory=directory)
        declare(session)
        with clock.told(f"{len(wanted)} queries start"):
            start(session, wanted, options.one_by_one)
            wait_until_running(session)
        with clock.told("status"):
            session.status()
        with clock.told("closing"):
            session.close()
        if options.again:
            with clock.told("the directory opened again"):
                session = Session(spark=spark, directory=directory)
                wait_until_running(session)
            with clock.told("all stopped"):
                for handle in session.queries.values():
                    handle.stop()
            session.close()
    spark.stop()


def start(session: Session, wanted: dict[str, str], one_by_one: bool) -> None:
    if one_by_one:
        for name, sql in wanted.items():
            session.query(name, sql)
    else:
        session.add_queries({"name": name, "sql": sql} for name, sql in wanted.items())


if __name__ == "__main__":
    main()
