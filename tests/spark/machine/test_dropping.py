"""Streams, tables and classes are dropped only if no query uses them; then nothing of them is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.spark.machine.standin import StandIn, query

from headgate.model import ConflictError, QueryClass, Stream, Target
from headgate.spark.arguments import quality
from headgate.spark.machine import messages as m
from headgate.spark.machine import tasks as t
from headgate.spark.machine.definitions import CLASSES, DROPPED, STREAMS, TABLES

OTHER = Stream(name="a", schema=(("other", "string"),))
DROPS: dict[str, tuple[Any, ...]] = {
    STREAMS: (m.DropStream, "a"),
    TABLES: (m.DropTable, "t"),
    CLASSES: (m.DropClass, "high"),
}


def answered(engine: StandIn, *command: Any) -> Exception | None:
    ticket = engine.ask(*command)
    engine.answer_all()
    return engine.replies[ticket].error


@pytest.fixture
def engine() -> StandIn:
    engine = StandIn()
    assert answered(engine, m.DeclareTable, "t", {"path": "one"}) is None
    return engine


@pytest.mark.parametrize("kind", DROPS)
def test_what_is_dropped_may_be_declared_anew(engine: StandIn, kind: str) -> None:
    engine.append("a", 5)
    assert answered(engine, *DROPS[kind]) is None
    assert DROPS[kind][1] not in engine.catalog[kind]
    assert "unknown" in str(answered(engine, *DROPS[kind]))
    later = engine.restarted()
    assert (
        DROPS[kind][1]
        not in {
            STREAMS: later.machine.scheduling.ends,
            TABLES: later.machine.scheduling.tables,
            CLASSES: later.machine.scheduling.scheduler.network.classes,
        }[kind]
    )
    for system in (engine, later):
        anew = {
            STREAMS: (m.DeclareStream, OTHER, {"schema": "other"}),
            TABLES: (m.DeclareTable, "t", {"path": "two"}),
            CLASSES: (m.DeclareClass, QueryClass("high", 7.0)),
        }[kind]
        system.ends["a"] = 0
        assert answered(system, *anew) is None
        assert DROPS[kind][1] in system.catalog[kind]


def test_a_new_stream_of_the_name_has_nothing_of_the_old_one(engine: StandIn) -> None:
    engine.append("a", 5)
    engine.machine.preparation.stream_starts["a"] = 3
    assert answered(engine, *DROPS[STREAMS]) is None
    assert engine.catalog[DROPPED] == {"a": {}}
    engine.ends["a"] = 0
    ticket = engine.ask(m.DeclareStream, OTHER, {"schema": "other"})
    opening = next(task for task in engine.pending if isinstance(task, t.OpenStream))
    assert opening.fresh
    engine.answer_all()
    assert engine.replies[ticket].error is None
    scheduling = engine.machine.scheduling
    assert (engine.catalog[DROPPED], scheduling.ends["a"]) == ({}, 0)
    assert scheduling.scheduler.network.streams["a"] == OTHER
    assert engine.machine.preparation.start("a") == 0
    engine.ask(m.AddQuery, query("p", "SELECT id FROM a", once=True))
    engine.answer_all()
    assert engine.machine.context.lives["p"].until == {(0,): 0}


def test_it_is_refused_while_queries_use_it(engine: StandIn) -> None:
    for name in ("p", "q"):
        assert answered(engine, m.AddQuery, query(name, "SELECT id FROM a", "high")) is None
    before = engine.seen()
    error = answered(engine, m.DropStream, "a")
    assert isinstance(error, ConflictError)
    assert str(error) == "stream 'a' cannot be dropped: queries 'p' and 'q' read it; stop them first"
    error = answered(engine, m.DropClass, "high")
    assert isinstance(error, ConflictError)
    assert str(error) == "class 'high' cannot be dropped: queries 'p' and 'q' are in it; move or stop them first"
    assert engine.seen() == before
    assert answered(engine, m.Stop, "p") is None
    assert str(answered(engine, m.DropStream, "a")).endswith("query 'q' reads it; stop it first")
    assert answered(engine, m.Stop, "q") is None
    assert answered(engine, m.DropStream, "a") is None
    assert answered(engine, m.DropClass, "high") is None


@pytest.mark.parametrize("kind", DROPS)
def test_a_drop_that_cannot_be_committed_changes_nothing(engine: StandIn, kind: str) -> None:
    before = engine.seen()
    ticket = engine.ask(*DROPS[kind])
    engine.answer_all(fail=0)
    assert "made to fail" in str(engine.replies[ticket].error)
    assert engine.seen() == before
    assert answered(engine, m.AddQuery, query("p", "SELECT id FROM a", "high")) is None


def test_nothing_may_use_it_while_it_is_being_dropped(engine: StandIn) -> None:
    assert answered(engine, m.AddQuery, query("r", "SELECT id FROM b")) is None
    dropping = [engine.ask(*DROPS[STREAMS]), engine.ask(*DROPS[CLASSES])]
    late = [
        engine.ask(m.AddQuery, query("p", "SELECT id FROM a")),
        engine.ask(m.AddQuery, query("q", "SELECT id FROM b", "high")),
        engine.ask(m.Move, "r", "high"),
        engine.ask(m.Replace, query("r", "SELECT id FROM a")),
    ]
    engine.answer_all()
    assert [engine.replies[ticket].error for ticket in dropping] == [None, None]
    errors = [str(engine.replies[ticket].error) for ticket in late]
    assert [error.split(";")[0] for error in errors] == [
        "unknown stream 'a'",
        "unknown class 'high'",
        "unknown class 'high'",
        "unknown stream 'a'",
    ]
    assert list(engine.machine.context.lives) == ["r"]


def test_a_query_that_may_go_back_to_it_holds_it(engine: StandIn) -> None:
    assert answered(engine, m.AddQuery, query("p", "SELECT id FROM a", "high")) is None
    moving = engine.ask(m.Move, "p", "low")
    dropping = engine.ask(*DROPS[CLASSES])
    engine.answer_all(fail=0)
    assert "made to fail" in str(engine.replies[moving].error)
    assert isinstance(engine.replies[dropping].error, ConflictError)
    assert engine.machine.context.lives["p"].query.query_class == "high"


def test_commands_for_the_same_thing_wait_for_each_other(engine: StandIn) -> None:
    declare = (m.DeclareStream, OTHER, {"schema": "other"})
    tickets = [engine.ask(*command) for command in (DROPS[STREAMS], DROPS[STREAMS], declare, declare)]
    engine.ends["a"] = 0
    engine.answer_all()
    errors = [str(engine.replies[ticket].error or "").split(";")[0] for ticket in tickets]
    assert errors == ["", "unknown stream 'a'", "", ""]
    assert engine.catalog[STREAMS]["a"] == {"schema": "other"}


def test_a_stream_is_gone_even_if_its_files_could_not_be_removed(engine: StandIn) -> None:
    ticket = engine.ask(*DROPS[STREAMS])
    engine.answer_all(fail=2)  # after the commit and the end of its source
    assert engine.replies[ticket].error is None
    assert "a" not in engine.machine.scheduling.ends
    assert engine.catalog[DROPPED] == {"a": {}}  # the next who uses the name, or opens the directory, removes them


def test_tuples_that_were_told_late_belong_to_nobody(engine: StandIn) -> None:
    assert answered(engine, m.AddQuery, query("r", "SELECT id FROM b", lag="wait, tuples=1")) is None
    assert answered(engine, *DROPS[STREAMS]) is None
    engine.append("a", 3)
    assert "a" not in engine.machine.scheduling.ends
    ticket = engine.ask(m.FindLaggingQuery, "a")
    assert engine.replies[ticket].value is None


# -- changing a class ------------------------------------------------------------------------------------------


def test_only_what_is_given_changes(engine: StandIn) -> None:
    target, later = Target.parse("p95 1 s"), Target.parse("p90 2 s")
    assert answered(engine, m.DeclareClass, QueryClass("c", 2.0, "skip, tuples=10", target)) is None

    def classes() -> Mapping[str, QueryClass]:
        return engine.machine.scheduling.scheduler.network.classes

    assert answered(engine, m.ChangeClass, "c", {"priority": 5.0}) is None
    assert classes()["c"] == QueryClass("c", 5.0, "skip, tuples=10", target)
    assert answered(engine, m.ChangeClass, "c", {"lag": None, "target": later}) is None
    assert classes()["c"] == QueryClass("c", 5.0, None, later)
    restarted = engine.restarted().machine.scheduling.scheduler.network.classes
    assert restarted["c"] == classes()["c"]


def test_two_changes_at_a_time_both_count(engine: StandIn) -> None:
    tickets = [
        engine.ask(m.ChangeClass, "high", {"priority": 9.0}),
        engine.ask(m.ChangeClass, "high", {"lag": "skip, tuples=3"}),
    ]
    engine.answer_all()
    assert [engine.replies[ticket].error for ticket in tickets] == [None, None]
    changed = engine.machine.scheduling.scheduler.network.classes["high"]
    assert (changed.priority, changed.lag) == (9.0, "skip, tuples=3")


def test_a_new_lag_limit_and_target_count_at_once(engine: StandIn) -> None:
    assert answered(engine, m.AddQuery, query("p", "SELECT id FROM a", "high")) is None
    assert not engine.machine.lag_limits.sources_may_wait
    changes = {"lag": "wait, tuples=1", "target": Target.parse("p95 1 s")}
    assert answered(engine, m.ChangeClass, "high", changes) is None
    assert engine.machine.lag_limits.sources_may_wait
    status = engine.machine.target_watch.status(engine.machine.context.lives["p"])
    assert status is not None
    assert status.target == Target.parse("p95 1 s")


def test_a_target_that_contradicts_the_graph_of_a_query_is_refused(engine: StandIn) -> None:
    patient = replace(query("p", "SELECT id FROM a", "high"), qos=quality([(0.0, 1.0), (2.0, 1.0), (3.0, 0.0)]))
    assert answered(engine, m.AddQuery, patient) is None
    before = engine.seen()
    assert "contradicts" in str(answered(engine, m.ChangeClass, "high", {"target": Target.parse("p95 0.5 s")}))
    assert engine.seen() == before
