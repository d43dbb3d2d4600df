"""A command that is refused, at whatever stage, leaves everything as it was; every command has one answer."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.conftest import Open
from tests.spark.engine.test_steering import COPY, Slow, ids, rows
from tests.spark.engine.workload import PATIENCE, declare, lasting
from tests.spark.machine.standin import STREAMS, StandIn, query

from headgate.model import ConflictError, HeadgateError, QueryClass, Stream
from headgate.spark.engine import engine
from headgate.spark.machine import messages as m
from headgate.spark.machine.lifecycle import POSSIBLE, TRANSITIONS, QueryState
from headgate.spark.session import Session

names = st.sampled_from(["p", "q", "absent"])
classes = st.sampled_from(["low", "high", "absent"])
texts = st.sampled_from(["SELECT id FROM a", "SELECT id FROM b WHERE v > 1", "SELECT id, v FROM a"])
policies = st.sampled_from(["fcfs", "hnr", "chain", "fcfs, level=operator", "slope-slack", "absent", "hnr, x=1"])
added = st.builds(query, names, texts, st.sampled_from(["low", "high"]), qos=st.booleans(), once=st.booleans())
commands = st.one_of(
    st.tuples(st.just(m.AddQuery), added, st.sampled_from([None, 100.0])),
    st.tuples(st.just(m.AddQuery), st.builds(query, names, texts, classes)),
    st.tuples(st.just(m.Replace), st.builds(query, names, texts)),
    st.tuples(st.sampled_from([m.Pause, m.Resume, m.Stop]), names),
    st.tuples(st.just(m.Move), names, classes),
    st.tuples(st.just(m.SetPolicy), policies, st.sampled_from([None, "all"])),
    st.tuples(st.just(m.ChangeClass), classes, st.just({"priority": 3.0})),
    st.tuples(st.just(m.DeclareStream), st.sampled_from([*STREAMS.values(), Stream(name="c", schema=())])),
    st.tuples(st.just(m.DeclareTable), st.sampled_from(["a", "t"])),
    st.tuples(st.just(m.DeclareClass), st.sampled_from([QueryClass("low", 1.0), QueryClass("low", 2.0)])),
)
appends = st.tuples(st.just("append"), st.sampled_from(["a", "b"]), st.integers(1, 3))
steps = st.lists(st.tuples(st.one_of(commands, commands, appends), st.booleans()), max_size=8)


def prepared(history: list[tuple[Any, bool]]) -> StandIn:
    """An engine after some commands and appends; what some of them led to is still under way."""
    engine = StandIn()
    for name in ("p", "q"):
        engine.ask(m.AddQuery, query(name, "SELECT id FROM a", qos=True))
    engine.answer_all()
    for (kind, *rest), at_once in history:
        engine.append(*rest) if kind == "append" else engine.ask(kind, *rest)
        if at_once:
            engine.answer_all()
    return engine


@settings(max_examples=200, deadline=None, derandomize=True)
@given(history=steps, command=commands, fail=st.sampled_from([None, 0, 1, 2, 3]))
def test_a_refused_command_changes_nothing(history: list[Any], command: Any, fail: int | None) -> None:
    """Compared with an engine that was not given the command; one of the tasks that it leads to may fail."""
    engine, other = prepared(history), prepared(history)
    if engine.pending:
        fail = None  # else it would be the failure of something else
    ticket = engine.ask(*command)
    engine.answer_all(fail)
    other.answer_all()
    assert sorted(engine.replies) == list(range(1, ticket + 1))  # each has its answer
    if engine.replies[ticket].error is not None:
        assert engine.seen() == other.seen()
    assert not {life.state for life in engine.machine.context.lives.values()} & {
        QueryState.CHECKING,
        QueryState.CUTTING,
    }


ANY = (
    (m.Pause, "p"),
    (m.Resume, "p"),
    (m.Resume, "q"),
    (m.Stop, "q"),
    (m.Replace, query("p", "SELECT id FROM a WHERE v > 1")),
    (m.Replace, query("q", "SELECT id FROM a WHERE v > 1")),
    (m.AddQuery, query("q", "SELECT id FROM a")),
    (m.AddQuery, query("once", "SELECT id FROM a", once=True)),
    (m.Stop, "once"),
    (m.SetPolicy, "chain"),
    (m.SetPolicy, "hnr"),
    (m.Move, "p", "high"),
)


@pytest.mark.slow
@pytest.mark.parametrize("failing", [0.0, 0.2])
def test_every_command_is_answered_whatever_comes_first(failing: float) -> None:
    """Tasks are answered in any order, and some fail; in the end none is under way and no query is stuck."""
    for seed in range(150):
        random, engine = Random(seed), prepared([])
        for _ in range(60):
            turn = random.random()
            if turn < 0.2:
                engine.append("a", random.randint(1, 3))
            elif turn < 0.5:
                engine.ask(*random.choice(ANY))
            else:
                engine.answer_one(random, failing)
        engine.answer_all()
        engine.now += 1000.0  # runs whose commits failed are tried again
        engine.ask(m.DescribeAll)
        engine.answer_all()
        assert sorted(engine.replies) == list(range(1, engine.tickets + 1)), seed
        for life in engine.machine.context.lives.values():
            assert (life.settled, list(life.deferred), life.when_idle) == (True, [], None), (seed, life.name)
            if life.state is QueryState.RUNNING:
                assert life.entered, (seed, life.name)
                assert engine.machine.scheduling.backlog_size(life) == 0, (seed, life.name)


def test_commands_are_refused_at_every_stage() -> None:
    """The property above is not empty: each command can fail at each of its tasks."""
    stages = {
        (m.AddQuery, query("new", "SELECT id FROM a")): 2,
        (m.AddQuery, query("new", "SELECT id FROM a", qos=True), 100.0): 1,
        (m.Replace, query("p", "SELECT id FROM a WHERE v > 1")): 2,
        (m.Stop, "p"): 1,
        (m.DeclareStream, Stream(name="c", schema=())): 1,
    }
    for (kind, *rest), count in stages.items():
        for policy in ("hnr", "chain"):
            for fail in range(count):
                engine = prepared([((m.SetPolicy, policy), True), (("append", "a", 3), True)])
                before = engine.seen()
                ticket = engine.ask(kind, *rest)
                engine.answer_all(fail)
                assert "made to fail" in str(engine.replies[ticket].error), (kind, policy, fail)
                assert engine.seen() == before, (kind, policy, fail)


# -- one defined answer ----------------------------------------------------------------------------------------

STATES: dict[QueryState, Callable[[StandIn], object]] = {
    QueryState.RUNNING: lambda engine: None,
    QueryState.PAUSED: lambda engine: engine.ask(m.Pause, "p"),
    QueryState.SUSPENDED: lambda engine: engine.machine.runs.suspend(engine.machine.context.lives["p"], "failed"),
    QueryState.SCHEDULED: lambda engine: _instead(engine, start=100.0),
    QueryState.DONE: lambda engine: _instead(engine, once=True),
}
GIVEN: dict[str, tuple[Any, ...]] = {
    "pause": (m.Pause, "p"),
    "resume": (m.Resume, "p"),
    "replace": (m.Replace, query("p", "SELECT id FROM a WHERE v > 2")),
    "move": (m.Move, "p", "high"),
    "stop": (m.Stop, "p"),
}


def _instead(engine: StandIn, start: float | None = None, once: bool = False) -> None:
    """Another query of the same name."""
    engine.ask(m.Stop, "p")
    engine.answer_all()
    engine.ask(m.AddQuery, query("p", "SELECT id FROM a", once=once), start)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("command", GIVEN)
def test_a_command_that_does_not_fit_a_state_names_the_state_and_what_is_possible(
    state: QueryState, command: str
) -> None:
    engine = prepared([])
    STATES[state](engine)
    engine.answer_all()
    assert engine.machine.context.lives["p"].state is state
    replies = []
    for _ in range(2):  # the second time gives the same answer, or that it has been done
        ticket = engine.ask(*GIVEN[command])
        engine.answer_all()
        replies.append(engine.replies[ticket].error)
    fitting = sorted(name for name, states in POSSIBLE.items() if state in states)
    if command in fitting:
        assert replies[0] is None
        assert replies[1] is None or command == "stop"
    else:
        for error in replies:
            assert isinstance(error, ConflictError)
            assert error.message == f"query 'p' is {state}: it cannot {command} now"
            assert error.hint == f"possible: {', '.join(fitting)}"


@pytest.mark.parametrize("command", GIVEN)
def test_a_command_for_a_query_that_is_just_ending_finds_none(command: str) -> None:
    engine = prepared([])
    stopping = engine.ask(m.Stop, "p")
    late = engine.ask(*GIVEN[command])
    engine.answer_all()
    assert engine.replies[stopping].error is None
    assert str(engine.replies[late].error) == "unknown query 'p'; known: q"


def test_a_query_of_the_same_name_starts_after_one_that_is_just_ending() -> None:
    engine = prepared([])
    tickets = [engine.ask(m.Stop, "p"), engine.ask(m.AddQuery, query("p", "SELECT id FROM b"))]
    assert engine.machine.context.lives["p"].query.sql != "SELECT id FROM b"
    engine.answer_all()
    assert [engine.replies[ticket].error for ticket in tickets] == [None, None]
    assert engine.machine.context.lives["p"].query.sql == "SELECT id FROM b"


@pytest.mark.parametrize("command", GIVEN)
def test_a_command_for_a_query_that_could_not_be_stopped_is_carried_out(command: str) -> None:
    engine = prepared([])
    stopping = engine.ask(m.Stop, "p")
    late = engine.ask(*GIVEN[command])
    engine.answer_all(fail=0)
    assert "made to fail" in str(engine.replies[stopping].error)
    assert engine.replies[late].error is None


@pytest.mark.parametrize("command", [*GIVEN.values(), (m.SetPolicy, "hnr"), (m.Drain,), (m.Describe, "p")])
def test_a_command_after_close_is_refused(command: tuple[Any, ...]) -> None:
    engine = prepared([])
    tickets = [engine.ask(m.Close, 1.0), engine.ask(*command)]
    engine.answer_all()
    tickets += [engine.ask(*command), engine.ask(m.Close, 1.0), engine.ask(m.DescribeAll)]
    closed = "the session is closed; open another one, on the same directory to go on there"
    errors = [engine.replies[ticket].error for ticket in tickets]
    assert list(map(str, errors)) == ["None", closed, closed, "None", "None"]


def test_transitions_that_commands_need_are_possible() -> None:
    for state in POSSIBLE["stop"]:
        assert QueryState.STOPPED in TRANSITIONS[state]
    for state in POSSIBLE["pause"] - {QueryState.PAUSED}:
        assert QueryState.PAUSED in TRANSITIONS[state]
    for state in POSSIBLE["resume"] - {QueryState.RUNNING, QueryState.DONE, QueryState.INCOMPLETE}:
        assert QueryState.CUTTING in TRANSITIONS[state]
    assert QueryState.CHECKING in TRANSITIONS[QueryState.INCOMPLETE]


# -- on Spark --------------------------------------------------------------------------------------------------


@pytest.fixture
def session(opened: Open) -> Session:
    session = opened()
    declare(session, ("a", "b"))
    return session


REFUSED: dict[str, tuple[Callable[[Session], object], str]] = {
    "a name twice": (lambda hg: hg.query("q", "SELECT id FROM a", query_class="low"), "exists already with sql 'SEL"),
    "another sink": (lambda hg: hg.query("q", COPY, query_class="low", sink="jsonl"), "'parquet', declared now with"),
    "an unknown class": (lambda hg: hg.query("n", COPY, query_class="none"), "unknown class"),
    "an unknown column": (lambda hg: hg.query("n", "SELECT nothing FROM a", query_class="low"), "nothing"),
    "what Spark refuses": (lambda hg: hg.query("n", "SELECT date_add(v, id) AS x FROM a", query_class="low"), "date"),
    "other columns": (lambda hg: hg["q"].replace("SELECT s FROM a"), "gives"),
    "other SQL that Spark refuses": (lambda hg: hg["q"].replace("SELECT id, date_add(v, id) AS v FROM a"), "date"),
    "a move to no class": (lambda hg: hg["q"].move("none"), "unknown class"),
    "an unknown query": (lambda hg: hg["none"], "unknown query"),
    "a stream twice": (lambda hg: hg.stream("a", "id bigint"), "'a'"),
    "a policy without graphs": (lambda hg: hg.set_policy("slope-slack"), "QoS"),
}


def test_refused_calls_change_nothing(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = session.query("q", COPY, query_class="low")
    for number, (name, (call, why)) in enumerate(REFUSED.items()):
        session.append("a", rows(5 * number))
        assert session.drain(PATIENCE)
        before, descriptions = session.status(), session.engine.commits.state.queries
        with pytest.raises(HeadgateError, match=why):
            call(session)
        assert lasting(session.status()) == lasting(before), name
        assert session.engine.commits.state.queries == descriptions, name
    assert ids(handle) == list(range(5 * len(REFUSED)))


def test_commands_while_a_query_is_stopped_are_answered(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = session.query("q", COPY, query_class="low")
    slow = Slow(monkeypatch, handle)
    session.append("a", rows(0))
    assert slow.entered.wait(PATIENCE)
    answers: list[str] = []

    def call(act: Callable[[], object]) -> threading.Thread:
        def run() -> None:
            try:
                answers.append(str(act()))
            except HeadgateError as error:
                answers.append(error.message)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    threads = [call(act) for act in (handle.stop, handle.stop, handle.resume)]
    slow.go.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert answers.count("None") in (1, 2)  # the resume may have come before both
    assert set(answers) == {"None", "unknown query 'q'"}
    assert ids(handle) == list(range(5))


def test_a_callback_that_never_returns_is_left_behind_at_close_and_named(
    session: Session, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    entered, never = threading.Event(), threading.Event()

    def stuck(results: Any) -> None:
        entered.set()
        never.wait(PATIENCE)

    session.query("stuck", COPY, query_class="low", callback=stuck)
    good = session.query("good", COPY, query_class="low")
    session.append("a", rows(0))
    assert entered.wait(PATIENCE)
    monkeypatch.setattr(engine, "PATIENCE", 0.2)
    with caplog.at_level(logging.WARNING, "headgate"):
        ended = session.close()
    never.set()
    states = {line.name: (line.state, line.error) for line in ended.queries}
    assert states == {
        "stuck": ("suspended", "its sink was left behind at the end, after 0.2 s"),
        "good": ("running", ""),
    }
    assert "closed without waiting for sinks queries=stuck" in caplog.text
    assert ids(good) == list(range(5))
