"""Queueing theory where there is one: means over several seeds lie around what a formula says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.sim.builders import workload

from headgate.sim import simulate
from headgate.workload import Workload

pytestmark = pytest.mark.slow


def mean_waits(given: Workload, policy: str, costs: dict[str, float], seeds: Sequence[int]) -> dict[str, list[float]]:
    """The mean wait of each query's tuples before their run, one number per seed."""
    waits: dict[str, list[float]] = {name: [] for name in costs}
    for seed in seeds:
        for query in simulate(replace(given, seed=seed), policy).queries:
            response = np.array(query.emission) - np.array(query.arrival)
            waits[query.query].append(float(response.mean()) - costs[query.query])
    return waits


def around(means: Sequence[float], expected: float) -> bool:
    """Whether an expectation lies within four standard errors of the mean of independent means."""
    error = float(np.std(means, ddof=1)) / math.sqrt(len(means))
    return abs(float(np.mean(means)) - expected) < 4 * error


def pollaczek_khinchine(rates: Sequence[float], costs: Sequence[float]) -> float:
    """The mean wait under FCFS of Poisson streams of constant costs."""
    busy = sum(rate * cost for rate, cost in zip(rates, costs, strict=True))
    residual = sum(rate * cost**2 for rate, cost in zip(rates, costs, strict=True)) / 2
    return residual / (1 - busy)


def streams_of_their_own(rates: Sequence[float], costs: Sequence[float], **head: Any) -> Workload:
    return workload(
        {f"q{number}": f"select, from=s{number}, cost={cost!r}s" for number, cost in enumerate(costs)},
        {f"s{number}": f"poisson, rate={rate!r}" for number, rate in enumerate(rates)},
        **head,
    )


@pytest.mark.parametrize("busy", [0.5, 0.8])
def test_constant_costs_under_fcfs(busy: float) -> None:
    given = workload({"q": f"select, cost={busy / 100!r}s"}, "poisson, rate=100", duration="100 s")
    (means,) = mean_waits(given, "fcfs", {"q": busy / 100}, range(1, 9)).values()
    assert around(means, pollaczek_khinchine([100.0], [busy / 100]))


@pytest.mark.parametrize("policy", ["fcfs", "fifo"])
def test_several_costs_under_fcfs(policy: str) -> None:
    rates, costs = [60.0, 30.0, 10.0], [0.002, 0.01, 0.03]
    given = streams_of_their_own(rates, costs, duration="100 s")
    waits = mean_waits(given, policy, {f"q{k}": cost for k, cost in enumerate(costs)}, range(1, 9))
    for means in waits.values():  # the wait does not depend on the class
        assert around(means, pollaczek_khinchine(rates, costs))


def test_exponential_costs_under_fcfs() -> None:
    """Two hundred queries whose costs are the quantiles of an exponential: M/M/1 up to its tail."""
    classes, rate, service = 200, 100.0, 140.0
    costs = [-math.log(1 - (k + 0.5) / classes) / service for k in range(classes)]
    rates = [rate / classes] * classes
    given = streams_of_their_own(rates, costs, duration="100 s")
    means = []
    for seed in range(1, 9):
        records = simulate(replace(given, seed=seed), "fcfs")
        waits = [
            np.array(query.emission) - np.array(query.arrival) - cost
            for query, cost in zip(records.queries, costs, strict=True)
        ]
        means.append(float(np.concatenate(waits).mean()))
    assert around(means, pollaczek_khinchine(rates, costs))
    assert pollaczek_khinchine(rates, costs) == pytest.approx(rate / service / (service - rate), rel=0.02)
    assert around(means, rate / service / (service - rate))


def test_two_classes_without_preemption() -> None:
    """Cobham: whoever runs is not interrupted, and the first class never waits behind the second's queue."""
    rates, costs = [30.0, 40.0], [0.01, 0.012]
    residual = sum(rate * cost**2 for rate, cost in zip(rates, costs, strict=True)) / 2
    first, both = rates[0] * costs[0], sum(rate * cost for rate, cost in zip(rates, costs, strict=True))
    given = workload(
        {
            "q0": {"operators": [f"select, from=s0, cost={costs[0]}s"], "class": "high"},
            "q1": {"operators": [f"select, from=s1, cost={costs[1]}s"], "class": "low"},
        },
        {f"s{number}": f"poisson, rate={rate}" for number, rate in enumerate(rates)},
        classes={"high": 1000.0, "low": 1.0},
        duration="100 s",
    )
    waits = mean_waits(given, "weighted-hr", {"q0": costs[0], "q1": costs[1]}, range(1, 13))
    assert around(waits["q0"], residual / (1 - first))
    assert around(waits["q1"], residual / ((1 - first) * (1 - both)))
