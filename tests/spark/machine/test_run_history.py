"""What is written down of runs, and when: their start at once, so that one under way is known."""

from __future__ import annotations

from tests.spark.machine.standin import StandIn, query

from headgate.history.history import History
from headgate.history.records import Record
from headgate.spark.machine import messages as m


def engine_with_records() -> tuple[StandIn, list[Record]]:
    engine = StandIn()
    records: list[Record] = []
    engine.machine.history._write = records.append
    for name in ("q", "other"):
        engine.ask(m.AddQuery, query(name, f"SELECT id, '{name}' AS name FROM a"))
    engine.answer_all()
    return engine, records


def test_the_start_of_a_run_is_written_before_its_end_is_known() -> None:
    engine, records = engine_with_records()
    engine.append("a", 5)
    history = History.of(records)
    assert [(start.queries, start.tuples) for start in history.under_way] == [(("q",), 5), (("other",), 5)]
    first = history.under_way[0]
    assert first.why is not None
    assert (first.why.winner, [unit.unit for unit in first.why.waiting]) == ("q", ["other"])
    engine.answer_all()
    done = History.of(records)
    assert done.under_way == []
    assert [run.id for run in done.runs] == [start.id for start in history.under_way]


def test_why_a_run_was_chosen_is_written_once() -> None:
    engine, records = engine_with_records()
    engine.append("a", 5)
    engine.answer_all()
    told = [getattr(record, "recorded_why", None) for record in records]
    assert len([why for why in told if why is not None]) == 2
