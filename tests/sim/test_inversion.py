"""Al Moakar 2013, section 6.3.1: what holds in any run. experiments/almoakar has all of it, for longer."""

from __future__ import annotations

from functools import cache

import pytest
from experiments.almoakar.inversion import Run, run
from experiments.almoakar.published import MBD, MBD_DSP, MORR, MRR, PCT, PCT_S

pytestmark = pytest.mark.slow

SECONDS = 0.15


@cache
def found(workload: str, scheduler: str) -> Run:
    return run(workload, scheduler, seed=1, seconds=SECONDS)


@pytest.mark.parametrize("workload", ["5G_4", "3E_6", "3F_6", "5I"])
@pytest.mark.parametrize("scheduler", [MBD, MBD_DSP])
def test_mbd_inverts_nothing(workload: str, scheduler: str) -> None:
    assert found(workload, scheduler).inverted == []


def test_threads_per_class_go_by_the_load_of_classes() -> None:
    means = found("5G_4", PCT).means
    assert max(means, key=lambda name: means[name]) == "c3"
    assert len(found("3F_6", PCT_S).inverted) == 5
    assert found("3E_6", PCT_S).inverted == []


@pytest.mark.parametrize("scheduler", [MRR, MORR])
def test_turns_prefer_nobody(scheduler: str) -> None:
    means = found("5G_4", scheduler).means.values()
    assert max(means) < 1.2 * min(means)
    assert found("5G_4", scheduler).inverted
