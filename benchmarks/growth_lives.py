"""A thousand queries of five forms, for benchmarks.growth: how long until all run, and what scheduling takes then."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.decisions_on_spark import CLASSES, SCHEDULER, WORKERS, Clock
from benchmarks.many_queries import quiet_spark

from headgate.spark.jvm.settings import builder
from headgate.spark.session import Session

SOURCE = "poisson, rate=500, id=[0, 50], temp=[0.0, 100.0]"
POLICY = "mbd, inversion=dsp"
BOUND = "u.ts BETWEEN s.ts - INTERVAL 1 SECOND AND s.ts + INTERVAL 1 SECOND"
FORMS = (
    "SELECT id, temp, ts FROM s WHERE temp > {high} AND id = {place}",
    "SELECT id, temp * 1.8 + 32 AS fahrenheit FROM s WHERE temp BETWEEN {low} AND {low} + 1",
    "SELECT window.start AS t, avg(temp) AS m FROM s WHERE id = {place} AND temp > {low} "
    "GROUP BY window(ts, '2 seconds')",
    "SELECT window.start AS t, id, max(temp) AS m FROM s WHERE temp > {high} "
    "GROUP BY window(ts, '4 seconds', '2 seconds'), id",
    f"SELECT s.id, s.temp, u.temp AS other FROM s JOIN u ON s.id = u.id AND {BOUND} "
    "WHERE s.temp > {high} AND u.id = {place}",
)


def queries(count: int) -> dict[str, str]:
    """As many of each form: filters, computed columns, windows that tumble and slide, joins."""
    return {
        f"q{n}": FORMS[n % len(FORMS)].format(high=90 + n % 100 / 10, low=n % 99, place=n // len(FORMS) % 50)
        for n in range(count)
    }


def measure(count: int, seconds: float, warm_up: float) -> dict[str, Any]:
    """Seconds until all run; then, over some seconds, how much of the workers' time scheduler and owner take."""
    with quiet_spark(builder("local[*]", "growth")) as spark:
        clock, scheduling = Clock(), Clock(SCHEDULER)
        with Session(spark=spark, policy=POLICY, workers=WORKERS) as session:
            for stream in "su":
                session.stream(
                    stream, "id bigint, temp double, ts timestamp", source=SOURCE, event_time="ts", watermark=0.5
                )
            for name, priority in CLASSES.items():
                session.create_class(name, priority)
            began = time.perf_counter()
            submit(session, queries(count))
            _all_running(session)
            found: dict[str, Any] = {"queries": count, "start_s": time.perf_counter() - began}
            if seconds:
                time.sleep(warm_up)
                found |= _life(session, clock, scheduling, seconds)
            return found


def submit(session: Session, texts: dict[str, str]) -> None:
    """Start them all; the only place that says how."""
    classes = list(CLASSES)
    session.add_queries(
        [
            {"name": name, "sql": text, "query_class": classes[number % len(classes)], "sink": "blackhole"}
            for number, (name, text) in enumerate(texts.items())
        ]
    )


def _all_running(session: Session) -> None:
    while True:
        waiting = [each for each in session.status().queries if each.state != "running"]
        if not waiting:
            return
        time.sleep(0.05)


def _life(session: Session, clock: Clock, scheduling: Clock, seconds: float) -> dict[str, Any]:
    decided, computed = scheduling.seconds, scheduling.processor
    spent, calls, runs, began = clock.seconds, clock.calls, session.status().runs, time.perf_counter()
    time.sleep(seconds)
    spent, calls, lasted = clock.seconds - spent, clock.calls - calls, time.perf_counter() - began
    return {
        "share": (scheduling.seconds - decided) / (WORKERS * lasted),
        "processor_share": (scheduling.processor - computed) / (WORKERS * lasted),
        "owner_share": spent / (WORKERS * lasted),
        "runs": session.status().runs - runs,
        "micros_a_call": spent / calls * 1e6 if calls else 0.0,
    }
