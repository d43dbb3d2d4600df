"""The owner thread: whatever a callback or a policy does, every call is answered, and only what failed is suspended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from tests.spark.conftest import Open
from tests.spark.engine.test_steering import COPY, eventually, ids, rows
from tests.spark.engine.workload import BASE, PATIENCE, declare, lasting, table

from headgate.model import HeadgateError, Unit
from headgate.policies import registry
from headgate.policies.contract import View
from headgate.policies.scored import Score, Scored
from headgate.spark.session import Session

SECONDS = 1_000_000
OTHER = "SELECT id FROM b"
PIECES = ("chain", "segment", "fcfs, level=operator")
JOIN = (
    "SELECT x.id, y.w FROM a x JOIN b y ON x.id = y.id AND y.ts BETWEEN x.ts AND x.ts + INTERVAL 5 SECONDS "
    "WHERE y.id % 2 = 0"
)


def more(first: int, count: int = 5) -> Any:
    """Rows of the second stream."""
    return table("b", [(number, number, BASE + number * SECONDS) for number in range(first, first + count)])


def answered(act: Callable[[], object]) -> object:
    """The result of a call in another thread, within a time limit: a test that hangs would not say why."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(act).result(PATIENCE)


# -- callbacks -------------------------------------------------------------------------------------------------


class Behaving:
    """A callback that waits for the test, and then raises, appends, gives commands, or just returns."""

    def __init__(self, session: Session, kind: str) -> None:
        self.session, self.kind = session, kind
        self.entered, self.go = threading.Event(), threading.Event()
        self.taken: list[int] = []

    def __call__(self, results: Any) -> None:
        self.entered.set()
        assert self.go.wait(PATIENCE)
        kind, self.kind = self.kind, "take"
        if kind == "raises":
            raise OSError("the sink is down")
        if kind == "appends":
            self.session.append("b", more(100))
        if kind == "commands":
            self.session["busy"].pause()
            self.session["busy"].resume()
            self.session.set_policy("hnr")
            assert self.session.status().policy == "hnr"
        self.taken += results["id"].to_pylist()


COMMANDS: dict[str, Callable[[Session], object]] = {
    "stop": lambda hg: hg["other"].stop(),
    "resume": lambda hg: hg["paused"].resume(),
    "replace": lambda hg: hg["other"].replace("SELECT id FROM b WHERE id > -5"),
    "once": lambda hg: hg.query("single", COPY, query_class="low", once=True),
    "pause": lambda hg: hg["other"].pause(),
    "move": lambda hg: hg["other"].move("high"),
    "stop itself": lambda hg: hg["slow"].stop(),
    "pause itself": lambda hg: hg["slow"].pause(),
    "level": lambda hg: hg.set_policy("chain"),
    "read": lambda hg: (hg["other"].read(), hg.status()),
}


@pytest.mark.parametrize("kind", ["raises", "appends", "commands", "blocks"])
def test_every_call_is_answered_while_a_callback_is_busy(opened: Open, kind: str) -> None:
    """Each command while the callback of another query is running, and again while it ends."""
    session = opened()
    declare(session, ("a", "b"))
    for number, (name, command) in enumerate(COMMANDS.items()):
        behaving = Behaving(session, kind)
        session.query("slow", COPY, query_class="low", callback=behaving)
        for other in ("other", "paused", "busy"):
            session.query(other, OTHER, query_class="low")
        answered(session["paused"].pause)
        session.append("a", rows(5 * number))
        assert behaving.entered.wait(PATIENCE)
        if kind != "blocks":  # what the callback does and the command meet, in whichever order
            threading.Timer(0.02 * (number % 3), behaving.go.set).start()
        answered(lambda command=command: command(session))  # type: ignore[misc]
        answered(session.status)
        behaving.go.set()
        check_goes_on(session, behaving, kind, name, 1000 + 5 * number)
        for line in session.status().queries:
            answered(session[line.name].stop)
        session.set_policy("fcfs")


def check_goes_on(session: Session, behaving: Behaving, kind: str, command: str, first: int) -> None:
    """Only the callback's own query may be suspended, and once it is resumed nothing is missing."""
    assert session.drain(PATIENCE), command
    states = {line.name: (line.state, line.error) for line in session.status().queries}
    if command == "stop itself":
        assert "slow" not in states
    elif kind == "raises":
        assert states.pop("slow") == ("suspended", "the sink is down"), command
        answered(session["slow"].resume)
    assert "suspended" not in {state for state, _ in states.values()}, (command, states)
    if command != "stop":
        session["other"].resume()
        session.append("b", more(first))
        assert session.drain(PATIENCE)
        assert set(range(first, first + 5)) <= set(ids(session["other"])), command
    assert session.drain(PATIENCE)
    if command != "stop itself":
        assert len(behaving.taken) == len(set(behaving.taken)) == 5, command


def test_a_one_time_query_whose_callback_raised_says_so_and_delivers_once_resumed(opened: Open) -> None:
    """It has read everything before its sink is called: the failure must not get lost when it ends."""
    session = opened()
    declare(session, ("a", "b"))
    session.append("a", rows(0))
    behaving = Behaving(session, "raises")
    behaving.go.set()
    single = session.query("single", COPY, query_class="low", once=True, callback=behaving)
    assert eventually(lambda: single.status.state == "suspended")
    assert (single.status.error, behaving.taken) == ("the sink is down", [])
    single.resume()
    assert eventually(lambda: single.status.state == "done")
    assert (single.status.error, behaving.taken) == ("", list(range(5)))


def test_a_stopped_query_whose_callback_raised_leaves_nothing_behind(opened: Open) -> None:
    session = opened()
    declare(session, ("a", "b"))
    for number in range(3):
        behaving = Behaving(session, "raises")
        behaving.go.set()
        query = session.query("q", COPY, query_class="low", callback=behaving)
        session.append("a", rows(5 * number))
        assert eventually(lambda query=query: query.status.state == "suspended")  # type: ignore[misc]
        query.stop()
    assert eventually(
        lambda: not [thread for thread in threading.enumerate() if thread.name.startswith("headgate-sink-q")]
    )


def test_a_callback_can_neither_close_nor_drain_its_session(opened: Open) -> None:
    """Both would wait for the callback itself."""
    session = opened()
    declare(session, ("a", "b"))
    answers: list[str] = []

    def callback(results: Any) -> None:
        for act in (session.close, lambda: session.drain(5.0), lambda: session.drain(0.1)):
            try:
                answers.append(str(act()))
            except HeadgateError as error:
                answers.append(error.message)

    session.query("q", COPY, query_class="low", callback=callback)
    session.append("a", rows(0))
    assert session.drain(PATIENCE)
    assert answers == ["a callback cannot close its session"] + 2 * ["a callback cannot wait until all is done"]
    assert session.status().queries[0].state == "running"


# -- fragments -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", PIECES)
def test_pausing_queries_in_pieces_loses_and_doubles_nothing(opened: Open, policy: str) -> None:
    session = opened(policy=policy, workers=2)
    declare(session, ("a", "b"))
    queries = [session.query(name, JOIN, query_class="low") for name in ("p", "q")]
    filtered = session.query("f", "SELECT id FROM (SELECT id, v + 1 AS w FROM a) WHERE w > 1", query_class="high")
    for number in range(10):
        session.append("a", rows(2 * number, 2))
        session.append("b", more(2 * number, 2))
        for query in (queries[number % 2], filtered)[: 1 + number % 2]:
            query.pause()
            time.sleep(0.05 * (number % 5))  # so that runs are met at each of their stages
            query.resume()
        assert {line.state for line in session.status().queries} == {"running"}
    session.finish("a")
    session.finish("b")
    assert session.drain(PATIENCE)
    assert [(line.state, line.error) for line in session.status().queries] == [("running", "")] * 3
    for query in queries:
        assert ids(query) == list(range(0, 20, 2))
    assert ids(filtered) == [number for number in range(20) if number % 4 > 0]


# -- policies --------------------------------------------------------------------------------------------------

WRONG = {
    "slope-slack": "QoS",
    "no-such-policy": "no-such-policy",
    "hnr, schedule=-3": "schedule",
    "chain, nonsense=1": "nonsense",
}


@pytest.mark.parametrize("policy", ["mbd, inversion=dsp", "chain"])
def test_a_refused_policy_leaves_everything_as_it_was(opened: Open, policy: str) -> None:
    session = opened(policy=policy)
    declare(session, ("a", "b"))
    queries = [session.query(name, COPY, query_class="low") for name in ("p", "q")]
    queries[1].pause()
    for number, (wrong, why) in enumerate(WRONG.items()):
        session.append("a", rows(5 * number))
        assert session.drain(PATIENCE)
        before = session.status()
        with pytest.raises(HeadgateError, match=why):
            session.set_policy(wrong)
        assert lasting(session.status()) == lasting(before)
    session.append("a", rows(5 * len(WRONG)))
    queries[1].resume()
    assert session.drain(PATIENCE)
    for query in queries:
        assert ids(query) == list(range(5 * len(WRONG) + 5))
    session.set_policy("hnr")
    assert session.status().policy == "hnr"


@pytest.mark.parametrize("state", ["paused", "suspended", "cutting"])
def test_a_policy_that_a_query_outside_the_scheduler_lacks_something_for_is_refused(opened: Open, state: str) -> None:
    """Otherwise the query would be suspended at its return, long after the command that is to blame."""
    session = opened(policy="fcfs")
    declare(session, ("a", "b"))
    behaving = Behaving(session, "raises")
    query = session.query("q", COPY, query_class="low", callback=behaving)
    session.append("a", rows(0))
    assert behaving.entered.wait(PATIENCE)
    if state == "paused":
        query.pause()
    if state != "suspended":
        behaving.kind = "take"
    behaving.go.set()
    if state == "suspended":
        assert eventually(lambda: query.status.state == "suspended")
    with ThreadPoolExecutor(1) as pool:
        switching = [pool.submit(session.set_policy, policy) for policy in ("chain", "hnr") if state == "cutting"]
        for _ in range(3):
            with pytest.raises(HeadgateError, match="QoS"):
                session.set_policy("slope-slack")
        for change in switching:
            change.result(PATIENCE)
    query.resume()
    session.append("a", rows(5))
    assert session.drain(PATIENCE)
    assert (query.status.state, behaving.taken) == ("running", list(range(10)))


CALLS = ("score", "choose", "ready", "changed", "finished", "regroup", "grown", "explain")


@contextmanager
def failing(where: str, after: int) -> Iterator[list[int]]:
    """Registers a policy that raises in one of its methods from some call on; gives the counter of calls."""
    calls = [0]

    class Failing(Scored):
        """A policy with a fault."""

        source, rule, needs = "a test", "the last one", frozenset[str]()

        def score(self, unit: Unit, view: View) -> Score:
            return (float(unit.id),)

    method = getattr(Failing, where)

    def raising(self: Failing, *given: Any) -> Any:
        calls[0] += 1
        if calls[0] > after:
            raise ZeroDivisionError("a fault of its own")
        return method(self, *given)

    setattr(Failing, where, raising)
    registry.register("failing")(Failing)
    try:
        yield calls
    finally:
        registry._POLICIES.pop("failing")


@pytest.mark.parametrize(("former", "after"), [("", 5), ("hnr", 0), ("chain", 2)])
def test_a_policy_that_raises_is_replaced_and_named(opened: Open, former: str, after: int) -> None:
    """It is replaced by the policy before it, or by fcfs if it was the first; no result is lost."""
    for number, where in enumerate(CALLS):
        with failing(where, after) as calls:
            session = opened(policy=former or "failing", directory=None)
            declare(session, ("a", "b"))
            queries = [session.query(name, COPY, query_class="low") for name in ("p", "q")]
            if former:
                session.append("a", rows(0))
                session.set_policy("failing")
            for step in range(1, 5):
                session.append("a", rows(5 * step))
                assert session.drain(PATIENCE), (where, number)
            status = session.status()
            if calls[0] > after and where != "explain":  # what it decided counts, also if it cannot explain it
                assert status.policy == (former or "fcfs"), where
                assert "policy 'failing' failed: ZeroDivisionError: a fault of its own (" in status.policy_error
                assert f"{__file__}:" in status.policy_error
            else:
                assert where in ("explain", "grown"), where
                assert status.policy == "failing"
            assert {(line.state, line.error) for line in status.queries} == {("running", "")}, where
            for query in queries:
                assert ids(query) == list(range(0 if former else 5, 25)), where
            session.close()
