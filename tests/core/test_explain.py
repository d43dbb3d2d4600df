"""The numbers of a decision are the formula's, the winner's and the runner-up's."""

from __future__ import annotations

import pytest
from tests.core.builders import arrive, chains, finish, must_run

from headgate.core import Scheduler
from headgate.model import Why

COSTS = {"q1": (0.005, 1.0), "q2": (0.002, 0.33), "q3": (0.004, 0.5)}
NOW = 0.25

FORMULAS = {
    "hr": lambda c, s, wait: s / c,
    "hnr": lambda c, s, wait: s / (c * c),
    "lsf": lambda c, s, wait: wait / c,
    "bsd": lambda c, s, wait: s * wait / (c * c * c),
    "srpt": lambda c, s, wait: -c,
    "fcfs": lambda c, s, wait: wait,
    "greedy": lambda c, s, wait: (1 - s) / c,
}


def decided(policy: str) -> Why:
    core = Scheduler(
        chains(**{name: f"select, cost={c}s, selectivity={s}, from={name}" for name, (c, s) in COSTS.items()}), policy
    )
    core.explaining = True
    for number, name in enumerate(COSTS):
        arrive(core, number + 1, at=0.05 * number, stream=name)
    must_run(core, now=NOW)
    assert core.why is not None
    return core.why


@pytest.mark.parametrize("policy", FORMULAS)
def test_priorities_are_the_formula(policy: str) -> None:
    why = decided(policy)
    priorities = {
        name: FORMULAS[policy](cost, share, NOW - 0.05 * number)
        for number, (name, (cost, share)) in enumerate(COSTS.items())
    }
    first, second, _ = sorted(priorities, key=lambda name: -priorities[name])
    assert why.runner_up is not None
    assert [name.partition(".")[0] for name in (why.winner, why.runner_up)] == [first, second]
    assert why.numbers["priority"] == pytest.approx(priorities[first])
    assert why.runner_up_numbers["priority"] == pytest.approx(priorities[second])


def test_what_waits_and_for_how_long_is_told() -> None:
    why = decided("hnr")
    assert (why.winner, why.runner_up) == ("q2", "q1")
    assert why.numbers["wait"] == pytest.approx(NOW - 0.05)
    assert why.numbers["waiting"] == 2
    assert why.runner_up_numbers["waiting"] == 1


def test_scores_are_told_too() -> None:
    why = decided("mtiq")
    assert (why.winner.partition(".")[0], why.numbers["score 1"], why.runner_up_numbers["score 1"]) == ("q3", 3, 2)


def test_the_only_one_ready_has_no_runner_up() -> None:
    core = Scheduler(chains(q="select"), "hr")
    core.explaining = True
    arrive(core)
    must_run(core)
    assert core.why is not None
    assert core.why.runner_up is None
    assert str(core.why).startswith("hr: q (")
    assert "the only one ready" in str(core.why)


def test_without_asking_nothing_is_explained() -> None:
    core = Scheduler(chains(q="select"), "hr")
    arrive(core, 2)
    finish(core, must_run(core))
    assert core.why is None
