"""What an engine has done lately is in its data directory, while it runs and after it ended."""

from __future__ import annotations

from pathlib import Path

from tests.spark.conftest import Open
from tests.spark.engine.test_steering import rows
from tests.spark.engine.workload import PATIENCE, declare

from headgate.history.ring import read_history
from headgate.spark.session import Session


def test_runs_arrivals_results_and_deliveries_are_written_down(opened: Open, tmp_path: Path) -> None:
    session = opened(policy="express", workers=2)
    declare(session, ("a", "b"))
    high = session.query("some", "SELECT id FROM a WHERE id % 2 = 0", query_class="high")
    low = session.query("all", "SELECT id, v FROM a", query_class="low")
    for first in (0, 100):
        session.append("a", rows(first, 100))
        assert session.drain(PATIENCE)
    while_open = read_history(tmp_path / "data")
    session.close()
    history = read_history(tmp_path / "data")
    assert {run.unit for run in while_open.runs} == {run.unit for run in history.runs}
    assert sum(count for _, count in history.arrivals["a"]) == 200
    assert [setting.header["policy"] for setting in history.settings][-1] == "express"
    for handle, results in ((high, 100), (low, 200)):
        runs = [run for run in history.runs if handle.name in run.queries]
        answers = [run.answers[handle.name] for run in runs if handle.name in run.answers]
        assert sum(run.tuples for run in runs) == 200
        assert sum(answer.count for answer in answers) == results
        assert history.delivered(handle.name, runs[-1].commit) is not None
        for run in runs:
            assert run.oldest <= run.began <= run.evaluated <= run.ended
            assert run.why is not None
            assert "score 1" in run.why.numbers


def test_a_query_that_waited_is_told_with_its_numbers(opened: Open, tmp_path: Path) -> None:
    session = opened(policy="fcfs", workers=1)
    declare(session, ("a",))
    with_others(session)
    session.append("a", rows(0, 10))
    assert session.drain(PATIENCE)
    session.close()
    first, *_ = read_history(tmp_path / "data").runs
    assert first.why is not None
    assert {unit.unit for unit in first.why.waiting} | {first.unit} == {"q0", "q1", "q2"}
    assert all(unit.tuples == 10 and unit.numbers["wait"] >= 0 for unit in first.why.waiting)


def with_others(session: Session) -> None:
    for number in range(3):
        session.query(f"q{number}", f"SELECT id + {number} AS id FROM a", query_class="low")
