"""Sinks that raise, block and append while queries are steered from several threads: every call answers, nothing is
lost or doubled. And a sink that is too slow makes its own query wait, alone.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest
from tests.spark.conftest import Open
from tests.spark.engine.test_owner import more
from tests.spark.engine.test_steering import COPY, eventually, ids, rows
from tests.spark.engine.workload import PATIENCE, declare

from headgate.model import HeadgateError
from headgate.spark.session import Handle, Session

SECONDS = float(os.environ.get("HEADGATE_PRESSURE", "15"))  # how long callers press; 60 for a longer look
HANGS = 45.0  # a call that takes so long hangs
OTHERS = ("SELECT id, v FROM a WHERE id > -1", "SELECT id, v FROM a WHERE v < 100", COPY)
PLAIN = ("plain", "joined")
SINKS = ("raising", "blocking", "appending")
EXPECTED = (
    "unknown query",  # somebody else has stopped it
    "exists already",  # somebody else has started it
    "cannot",  # a command that does not fit the state that another thread has brought it to
)


class Sink:
    """A callback that sometimes raises or blocks. Results count as taken if it returns."""

    def __init__(self, session: Session, kind: str, seed: int) -> None:
        self.session, self.kind, self.random = session, kind, Random(seed)
        self.taken: list[int] = []
        self.calm = False
        self.appended = 0

    def __call__(self, results: Any) -> None:
        if not self.calm and self.random.random() < 0.4:
            if self.kind == "raising":
                raise OSError("a bad day")
            if self.kind == "blocking":
                time.sleep(2 * self.random.random())
            if self.kind == "appending":
                self.session.append("b", more(100_000 + self.appended, 2))
                self.appended += 2
        self.taken += results["id"].to_pylist()


class Callers:
    """Threads that call until they are told to end; how long each kind of call took at most, and what went wrong."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.slowest: dict[str, float] = {}
        self.calls: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._threads: list[threading.Thread] = []

    def loop(self, step: Callable[[Random], None], seed: int) -> None:
        def run() -> None:
            random = Random(seed)
            while not self.over.is_set():
                step(random)
                time.sleep(0.01)

        self._threads.append(threading.Thread(target=run, daemon=True))
        self._threads[-1].start()

    def call(self, name: str, act: Callable[[], object]) -> None:
        began = time.monotonic()
        try:
            act()
        except HeadgateError as error:
            if not any(text in error.message for text in EXPECTED):
                self.wrong.append(f"{name}: {error}")
        self.calls[name] += 1
        self.slowest[name] = max(self.slowest.get(name, 0.0), time.monotonic() - began)

    def end(self) -> list[str]:
        """The threads that do not come back."""
        self.over.set()
        for thread in self._threads:
            thread.join(HANGS)
        return [thread.name for thread in self._threads if thread.is_alive()]


def test_every_call_answers_under_pressure(opened: Open) -> None:
    session = opened(policy="mbd, inversion=dsp", workers=2, fuse="class")
    declare(session, ("a", "b"))
    sinks = {kind: Sink(session, kind, seed) for seed, kind in enumerate(SINKS)}
    for kind, sink in sinks.items():
        session.query(kind, COPY, query_class="low", callback=sink)
    session.query("plain", COPY, query_class="high")
    session.query("joined", "SELECT id, w FROM b WHERE w > -1", query_class="high")
    callers, appended = Callers(), [0]

    def append(random: Random) -> None:
        first = appended[0]
        callers.call("append", lambda: session.append("a", rows(first, 3)))
        appended[0] += 3

    def steer(random: Random) -> None:
        name = random.choice((*SINKS, "plain", "joined"))
        act = random.choice(("pause", "resume", "resume", "resume", "replace", "move"))
        if act == "replace" and name != "joined":
            callers.call(act, lambda: session[name].replace(random.choice(OTHERS)))
        elif act == "move":
            callers.call(act, lambda: session[name].move(random.choice(("low", "high"))))
        elif act in ("pause", "resume"):
            callers.call(act, lambda: getattr(session[name], act)())

    def come_and_go(random: Random) -> None:
        name = f"single {random.randrange(3)}".replace(" ", "")
        if random.random() < 0.5:
            once, sink = random.random() < 0.7, Sink(session, random.choice(SINKS), random.randrange(99))
            callers.call("query", lambda: session.query(name, COPY, query_class="low", once=once, callback=sink))
        else:
            callers.call("stop", lambda: session[name].stop())

    def change(random: Random) -> None:
        callers.call("set_policy", lambda: session.set_policy(random.choice(("hnr", "mbd, inversion=dsp", "fcfs"))))

    def look(random: Random) -> None:
        callers.call("status", session.status)
        callers.call("read", lambda: session["plain"].read())

    for seed, step in enumerate((append, steer, steer, come_and_go, change, look)):
        callers.loop(step, seed)
    time.sleep(SECONDS)
    assert callers.end() == []
    slowest = ", ".join(
        f"{name} {callers.calls[name]}× ≤ {most:.2f} s" for name, most in sorted(callers.slowest.items())
    )
    print(f"\nslowest calls: {slowest}")
    assert callers.wrong == []
    assert max(callers.slowest.values()) < HANGS
    check_all_is_there(session, sinks, appended[0])


def check_all_is_there(session: Session, sinks: dict[str, Sink], count: int) -> None:
    """Once sinks work again and everything is resumed, each query has every result once."""
    for sink in sinks.values():
        sink.calm = True
    for line in session.status().queries:
        if line.name.startswith("single"):
            session[line.name].stop()
    for name in (*SINKS, *PLAIN):  # each is resumed until it has offered its sink what that refused before
        assert eventually(lambda name=name: _resumed(session, name)), session[name].status  # type: ignore[misc]
    assert session.drain(2 * PATIENCE)
    assert {(line.state, line.error) for line in session.status().queries} == {("running", "")}
    for name, sink in sinks.items():
        assert sorted(sink.taken) == list(range(count)), name
    assert ids(session["plain"]) == list(range(count))
    logged = session.engine.logs["b"]
    assert session["joined"].read().num_rows == logged.end - logged.start


def _resumed(session: Session, name: str) -> bool:
    session[name].resume()
    return session[name].status.state == "running"


def _has_taken(query: Handle, tuples: int) -> bool:
    return query.status.tuples_in == tuples or query.status.state == "waiting"


# -- a sink that is too slow -----------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["fcfs", "chain"])
def test_a_query_whose_sink_has_too_much_to_take_waits_alone(
    opened: Open, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    full = 2_000
    monkeypatch.setattr("headgate.spark.machine.outbox.Outbox.is_full", property(lambda self: self.size > full))
    monkeypatch.setattr("headgate.spark.machine.outbox.Outbox.has_room", property(lambda self: self.size <= full // 2))
    session = opened(policy=policy)
    declare(session, ("a", "b"))
    go, taken = threading.Event(), list[int]()

    def slow(results: Any) -> None:
        assert go.wait(PATIENCE)
        taken.extend(results["id"].to_pylist())

    held = session.query("held", COPY, query_class="low", callback=slow)
    free = session.query("free", COPY, query_class="low")
    count = 0
    while held.status.state != "waiting":
        session.append("a", rows(count))
        count += 5
        assert eventually(partial(_has_taken, free, count))
        assert eventually(partial(_has_taken, held, count))
        assert count < 1_000, "it never waits"
    tuples_in = held.status.tuples_in
    for _ in range(4):
        session.append("a", rows(count))
        count += 5
    assert eventually(lambda: free.status.tuples_in == count)
    assert (held.status.state, held.status.tuples_in, free.status.state) == ("waiting", tuples_in, "running")
    assert full < held.status.undelivered < 10 * full
    assert not session.drain(0.1)
    go.set()
    assert session.drain(PATIENCE)
    assert (held.status.state, held.status.undelivered) == ("running", 0)
    assert sorted(taken) == ids(free) == list(range(count))
