"""Al Moakar 2013, section 6.3.1: what holds in any run. experiments/almoakar has all of it, for longer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from experiments.almoakar.schedulers import LEVELS, SCHEDULERS, Slower, inversions

from headgate.metrics import measure
from headgate.sim import simulate
from headgate.workload import read_workload

pytestmark = pytest.mark.slow

WORKLOADS = Path(__file__).parents[2] / "workloads"
SECONDS = 0.15


@dataclass(frozen=True)
class Run:
    """At which levels a run inverts, and the mean response times of its classes."""

    inverted: tuple[str, ...]
    means: dict[str, float]


@cache
def found(workload: str, policy: str) -> Run:
    given = replace(read_workload(WORKLOADS / f"almoakar-{workload}.toml"), duration=SECONDS)
    records = simulate(given, policy)
    ratios = inversions(records)
    means = {name: each.response_time.mean or 0.0 for name, each in measure(records).classes.items()}
    return Run(tuple(level for level in LEVELS if ratios[f"PrIR {level}"]), means)


@pytest.mark.parametrize("workload", ["5G_4", "3E_6", "3F_6", "5I"])
@pytest.mark.parametrize("policy", ["mbd", "mbd, inversion=dsp"])
def test_mbd_inverts_nothing(workload: str, policy: str) -> None:
    assert found(workload, policy).inverted == ()


def test_threads_per_class_go_by_the_load_of_classes() -> None:
    means = found("5G_4", SCHEDULERS["PCT"]).means
    assert max(means, key=lambda name: means[name]) == "c3"
    assert len(found("3F_6", SCHEDULERS["PCT_S"]).inverted) == 5
    assert found("3E_6", SCHEDULERS["PCT_S"]).inverted == ()


@pytest.mark.parametrize(("number", "level"), [(3, "mean"), (3, "p75"), (1, "mean")])
def test_a_class_that_gets_fewer_tuples_is_inverted(number: int, level: str) -> None:
    """Section 6.3.3: the premise of the experiments with inversion modules."""
    given = Slower(number)(replace(read_workload(WORKLOADS / "almoakar-5G_4.toml"), duration=SECONDS))
    pairs = {pair.above: pair.ratio for pair in measure(simulate(given, "mbd")).inversion.levels[level]}
    assert pairs[f"c{number}"]


@pytest.mark.parametrize("name", ["MRR", "MORR"])
def test_turns_prefer_nobody(name: str) -> None:
    means = found("5G_4", SCHEDULERS[name]).means.values()
    assert max(means) < 1.2 * min(means)
    assert found("5G_4", SCHEDULERS[name]).inverted
