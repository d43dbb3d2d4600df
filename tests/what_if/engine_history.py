"""Histories as an engine writes them, made up: every query's turn comes again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headgate.core import Scheduler
from headgate.core.trace import header
from headgate.history.history import History
from headgate.history.records import Answer, Arrivals, Record, RunRecord, Setting
from headgate.model import WHOLE_QUEUE, Query, QueryClass, Stream
from headgate.plan.fusion import Fuse
from headgate.plan.network import Network
from headgate.plan.sql.query import plan_sql
from headgate.stats import Measured

RATE, CHUNKS = 200, 20  # tuples and chunks a second
SECONDS = 12
SLIDE, LAG = 2.0, 0.25  # of the windows, and of their closing
STREAM = Stream(name="s", schema=(("k", "int"), ("v", "double"), ("ts", "timestamp")), event_time="ts")
CLASSES = (QueryClass("high", 60.0), QueryClass("low", 10.0))
SQL = {
    "hot": ("high", "SELECT k FROM s WHERE v > 9"),
    "cold": ("high", "SELECT k FROM s WHERE v < 1"),
    "all": ("low", "SELECT k, v FROM s"),
    "count": ("low", "SELECT k, count(*) AS n FROM s GROUP BY window(ts, '2 seconds'), k"),
}
SHARES = {"hot": 0.1, "cold": 0.1, "all": 1.0, "count": 0.05}  # results per tuple


def query(name: str, query_class: str, sql: str) -> Query:
    return Query(name=name, query_class=query_class, plan=plan_sql(sql, {"s": STREAM}), sql=sql)


def engine_history() -> History:
    """Twelve seconds of four queries, one of them with windows, on two workers under fcfs."""
    return History.of(_records())


def _records() -> Iterator[Record]:
    queries = [query(name, query_class, sql) for name, (query_class, sql) in SQL.items()]
    network = Network.of(queries, [STREAM], CLASSES, share=False)
    settings: dict[str, Any] = {"learn": True, "train": WHOLE_QUEUE, "fuse": Fuse.OFF, "workers": 2}
    measured = Measured.of(network, fits_overhead=True)
    yield Setting(0.0, 0.0, header(Scheduler(network, "fcfs", measured=measured, **settings)))
    each = RATE // CHUNKS
    yield Arrivals(SECONDS, "s", tuple((number / CHUNKS, each) for number in range(SECONDS * CHUNKS)))
    taken = dict.fromkeys(SQL, 0)
    number, now = 0, 0.1
    while now < SECONDS - 0.5:
        name = list(SQL)[number % len(SQL)]
        number += 1
        released = (now - LAG) // SLIDE * SLIDE + LAG if name == "count" else None
        upto = each * int((now if released is None else max(0.0, released)) * CHUNKS)
        tuples = upto - taken[name]
        if tuples > 0:
            (queue,) = network.leaves(name).values()
            first, took = taken[name], 0.05 + 1e-4 * tuples
            middle = now - 0.15 if released is None else released - LAG
            results = int(SHARES[name] * upto) - int(SHARES[name] * first)
            answers = {name: Answer(results, middle, first / RATE, released)} if results else {}
            taken[name] = upto
            yield RunRecord(
                number, number % 2, name, SQL[name][0], (name,), tuples, first / RATE,
                now, now + took, now + took + 0.01, jobs=1.0,
                read=float(tuples), answers=answers, commit=number, takes=((queue, first, upto),),
            )  # fmt: skip
        now += 0.06
