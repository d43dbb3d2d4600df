"""A Spark that lives and does not work: cores that cancelled runs hold, a lost cluster, a Java that does not answer."""

from __future__ import annotations

import pytest
from tests.spark.machine.standin import StandIn, query, with_a_run

from headgate.model import HeadgateError
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.machine import messages as m
from headgate.spark.machine import tasks as t
from headgate.spark.machine.spark_watch import ALL_HELD, LINGER, LOST, SILENCE

ONE, TWO = ("one",), ("two",)


def note(engine: StandIn) -> str:
    return engine.machine.views.overview().spark_note


def kills(engine: StandIn) -> list[t.KillSpark]:
    return [task for task in engine.pending if isinstance(task, t.KillSpark)]


@pytest.mark.parametrize(
    ("seen", "expected", "ends"),
    [
        (m.SparkSeen(cores=2), "", False),
        (m.SparkSeen((m.Lingering(ONE, 1.0, 1),), cores=2), "", False),  # most tasks take a moment to end
        (
            m.SparkSeen((m.Lingering(ONE, LINGER - 1, 1),), cores=2),
            "1 of 2 cores held by cancelled runs of one, which do not end, for 29 s",
            False,
        ),
        (
            m.SparkSeen((m.Lingering(ONE, LINGER, 1),), cores=2),
            "1 of 2 cores held by cancelled runs of one, which do not end, for 30 s",
            True,
        ),
        (
            m.SparkSeen((m.Lingering(ONE, ALL_HELD, 1), m.Lingering(TWO, ALL_HELD + 4, 1)), cores=2),
            "2 of 2 cores held by cancelled runs of one, two, which do not end, for 9 s",
            True,
        ),
        (
            m.SparkSeen((m.Lingering(ONE, ALL_HELD - 1, 1), m.Lingering(TWO, ALL_HELD + 4, 1)), cores=2),
            "2 of 2 cores held by cancelled runs of one, two, which do not end, for 9 s",
            False,
        ),
        (
            m.SparkSeen((m.Lingering(tuple("abcde"), LINGER, 0),), cores=2),
            "Spark's planning is held up by cancelled runs of a, b, c and 2 more, which do not end, for 30 s",
            True,
        ),
        (  # on a cluster Spark itself ends executors whose tasks do not end
            m.SparkSeen((m.Lingering(ONE, LINGER, 3),), had_executors=True),
            "3 cores held by cancelled runs of one, which do not end, for 30 s",
            False,
        ),
        (m.SparkSeen(without_executors=3600.0), "Spark has no executor, for 3600 s: runs wait", False),
        (
            m.SparkSeen(without_executors=LOST - 1, had_executors=True),
            "Spark has no executor, for 19 s: runs wait",
            False,
        ),
        (
            m.SparkSeen(without_executors=LOST, had_executors=True),
            "Spark has no executor, for 20 s: runs wait",
            True,
        ),
        (m.SparkSeen(silent=SILENCE - 1), "Java has not answered for 59 s", False),
        (m.SparkSeen(silent=SILENCE), "Java has not answered for 60 s", True),
    ],
)
def test_what_is_said_of_spark_and_when_it_is_ended(seen: m.SparkSeen, expected: str, ends: bool) -> None:
    engine = with_a_run()
    engine.handle(seen)
    assert note(engine) == expected
    assert bool(kills(engine)) == ends
    engine.handle(m.SparkSeen(cores=2))
    assert note(engine) == ""
    assert len(kills(engine)) == ends


def test_a_spark_that_is_ended_is_started_again_and_its_runs_are_not_to_blame() -> None:
    engine = with_a_run()
    for _ in range(5):
        engine.handle(m.SparkSeen((m.Lingering(("gone",), LINGER, 1),), cores=2))
        assert len(kills(engine)) == 1
        evaluate = engine.take(t.Evaluate)
        engine.answer(t.KillSpark)
        engine.handle(m.Answer(evaluate, error=SparkGoneError("Spark died")))
        assert "1 of 2 cores held" in engine.machine.views.overview().spark_error
        while not any(isinstance(task, t.Evaluate) for task in engine.pending):
            engine.answer(type(engine.pending[0]))
        assert engine.machine.views.overview().spark_error == ""
        assert engine.machine.context.lives["q"].suspicion.deaths == 0
    engine.answer_all()
    assert engine.positions["q"]["0"] == 5


def test_a_query_that_held_a_core_twice_runs_alone_and_for_a_short_time() -> None:
    engine = with_a_run()
    for _ in range(2):
        assert engine.pending[0].limit is None  # type: ignore[attr-defined]
        engine.handle(m.SparkSeen((m.Lingering(("q",), LINGER, 1),), cores=2))
        evaluate = engine.take(t.Evaluate)
        engine.answer(t.KillSpark)
        engine.handle(m.Answer(evaluate, error=SparkGoneError("Spark died")))
        while not any(isinstance(task, t.Evaluate) for task in engine.pending):
            engine.answer(type(engine.pending[0]))
    evaluate = engine.take(t.Evaluate)
    assert evaluate.limit == 60
    engine.handle(m.Answer(evaluate, error=HeadgateError("a run took longer than 60 s")))
    assert engine.machine.context.lives["q"].error == "a run took longer than 60 s"


def test_closing_waits_for_no_run_of_a_spark_that_does_not_work() -> None:
    engine = with_a_run()
    engine.tickets += 1
    engine.handle(m.Close(engine.tickets, 10.0, 300.0))
    assert engine.tickets not in engine.replies
    engine.handle(m.SparkSeen(without_executors=LOST, had_executors=True))
    engine.take(t.Evaluate)  # is never answered
    engine.answer_all()
    assert engine.tickets in engine.replies


def test_a_spark_that_comes_later_only_does_not_hold_up_closing() -> None:
    engine = with_a_run()
    engine.ask(m.AddQuery, query("other", "SELECT id FROM b"))
    while not any(isinstance(task, t.CheckQuery) for task in engine.pending):
        engine.answer(type(engine.pending[0]))
    engine.handle(m.Answer(engine.take(t.Evaluate), error=SparkGoneError("Spark died")))
    engine.handle(m.Answer(engine.take(t.RestartSpark), error=HeadgateError("Spark did not start")))
    engine.tickets += 1
    engine.handle(m.Close(engine.tickets, 10.0, 300.0))
    engine.handle(m.Answer(engine.take(t.CheckQuery), error=SparkGoneError("Spark died")))
    engine.answer_all()
    assert engine.tickets in engine.replies
