"""A trace turned into a history tells the same as the simulator's own records."""

from __future__ import annotations

import pytest
from tests.core.test_trace import WORKLOADS
from tests.sim.builders import traced

from headgate.history.from_trace import history_of_trace


@pytest.mark.parametrize("policy", ["fcfs", "hnr", "rr", "mbd", "express", "cqc"])
@pytest.mark.parametrize("name", ["changes", "cores", "fused"])
def test_runs_results_and_arrivals_are_all_there(name: str, policy: str) -> None:
    records, lines = traced(WORKLOADS[name](), policy)
    history = history_of_trace(lines)
    done = [run for run in history.runs if not run.cancelled]
    assert len(history.runs) >= len(done) >= 1
    emitted = sorted(time for query in records.queries for time in query.emission.tolist())
    answered = sum(run.results for run in done)
    assert answered == pytest.approx(len(emitted), abs=len(records.queries))  # runs cut off at the end are not over
    for run in done:
        assert run.oldest <= run.began <= run.evaluated <= run.ended
        assert run.why is not None
        for answer in run.answers.values():
            assert run.oldest <= answer.oldest_arrival <= answer.mean_arrival <= run.ended
    assert set(history.arrivals) == {"s", "t"}


def test_a_decision_tells_who_else_waited() -> None:
    _, lines = traced(WORKLOADS["changes"](), "hnr")
    crowded = [run for run in history_of_trace(lines).runs if run.why is not None and len(run.why.waiting) > 1]
    assert crowded
    for run in crowded:
        assert run.why is not None
        assert run.why.runner_up == run.why.waiting[0].unit
        assert run.unit not in [unit.unit for unit in run.why.waiting]
        assert all("priority" in unit.numbers for unit in run.why.waiting)
