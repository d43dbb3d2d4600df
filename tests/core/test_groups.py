"""Groups follow what their members cost: those that have become too much work are formed anew."""

from __future__ import annotations

import pytest
from tests.core.builders import arrive, chains

from headgate.core import Scheduler, StatisticsChanged
from headgate.core.unit_formation import REGROUP_INTERVAL
from headgate.model import WHOLE_QUEUE, Idle, OperatorOutcome, Outcome, Run
from headgate.plan.fusion import Fuse
from headgate.stats.measured import WARM, Measured


def learned(core: Scheduler, seconds: float, times: int = 1, now: float = 0.0) -> None:
    """Run everything that waits, so many times, each tuple taking some seconds in each query."""
    for _ in range(times):
        arrive(core, 500, at=now)
        while isinstance(run := core.next(0, now), Run):
            told = tuple(OperatorOutcome(call, 500, 0, 500 * seconds) for call in run.calls)
            core.finished(Outcome(run, len(run.calls) * 500 * seconds, None, told), now)


def of_four(fits_overhead: bool = False) -> Scheduler:
    """Four filters of one stream of 200 tuples a second, fused."""
    network = chains(**{name: f"select, name={name}" for name in "abcd"})
    measured = Measured.of(network, fits_overhead=fits_overhead)
    core = Scheduler(network, "fcfs", measured=measured, train=WHOLE_QUEUE, fuse=Fuse.ALL, learn=True)
    core.event(StatisticsChanged(stream="s", rate=200.0), 0.0)
    return core


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
    core = of_four()
    learned(core, seconds)
    arrive(core, 5)
    assert sizes(core) == expected
    assert isinstance(core.next(0, 0.0), Idle)


def test_what_first_runs_cost_changes_no_group() -> None:
    """On a machine that warms up they take far longer than those to come."""
    core = of_four(fits_overhead=True)
    learned(core, 5e-3, WARM - 1)
    arrive(core, 5)
    assert sizes(core) == [4]
    learned(core, 5e-3, 2)
    arrive(core, 5)
    assert sizes(core) == [1, 1, 1, 1]


def test_groups_come_together_again_when_they_cost_less() -> None:
    core = of_four()
    learned(core, 5e-3)
    learned(core, 1e-6, 100)
    arrive(core, 5)
    assert sizes(core) == [1, 1, 1, 1], "not before it is time to look again"
    learned(core, 1e-6, now=REGROUP_INTERVAL)
    arrive(core, 5, at=REGROUP_INTERVAL)
    assert sizes(core) == [4]


def test_statistics_are_looked_at_no_more_often_than_their_number_allows() -> None:
    looks: list[float] = []
    network = chains(**{name: f"select, name={name}" for name in "abcd"})
    core = Scheduler(network, "fcfs", train=WHOLE_QUEUE, learn=True, rest=0.25)  # four operators: a second
    core.policy.changed = lambda view: looks.append(view.now)  # type: ignore[method-assign]
    for step in range(1, 17):
        core.event(StatisticsChanged(stream="s", rate=float(step)), step / 4)
    assert looks == [1.0, 2.0, 3.0, 4.0]
