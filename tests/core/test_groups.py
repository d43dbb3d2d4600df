"""Groups follow what their members cost: those that have become too much work are formed anew."""

from __future__ import annotations

import pytest
from tests.core.builders import arrive, chains

from headgate.core import Scheduler, StatisticsChanged
from headgate.model import WHOLE_QUEUE, Idle, OperatorOutcome, Outcome, Run
from headgate.plan.grouping import Fuse


def sizes(core: Scheduler) -> list[int]:
    """How many queries are in each run, until there is nothing to run."""
    found = []
    while isinstance(run := core.next(0, 0.0), Run):
        (unit,) = run.units
        found.append(len(unit.queries))
        core.finished(Outcome(run, 0.0), 0.0)
    return found


@pytest.mark.parametrize(("seconds", "expected"), [(1e-5, [4]), (1.5e-3, [2, 2]), (5e-3, [1, 1, 1, 1])])
def test_a_group_that_costs_too_much_is_cut(seconds: float, expected: list[int]) -> None:
    network = chains(**{name: f"select, name={name}" for name in "abcd"})
    core = Scheduler(network, "fcfs", train=WHOLE_QUEUE, fuse=Fuse.ALL, learn=True)
    core.event(StatisticsChanged(stream="s", rate=200.0), 0.0)
    arrive(core, 500)
    run = core.next(0, 0.0)
    assert isinstance(run, Run)
    told = tuple(OperatorOutcome(call, 500, 0, 500 * seconds) for call in run.calls)
    core.finished(Outcome(run, 4 * 500 * seconds, None, told), 0.0)
    arrive(core, 5)
    assert sizes(core) == expected
    assert isinstance(core.next(0, 0.0), Idle)
