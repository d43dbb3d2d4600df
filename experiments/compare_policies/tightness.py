"""How near the lower bound is to the best order, on cases so small that all orders can be tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headgate.sim.bounds.clairvoyant import best_sum
from headgate.sim.bounds.jobs import Jobs
from headgate.sim.bounds.relaxations import least_sum

CASES, JOBS = 200, 6


@dataclass(frozen=True, slots=True)
class Tightness:
    """By which share the best order's mean response is above the bound, over many small cases."""

    cores: int
    cases: int
    reached: float  # share of the cases in which the best order is the bound
    mean: float
    largest: float


def tightness(cores: int, cases: int = CASES) -> Tightness:
    """Random jobs that keep the cores about busy while they come."""
    shares = np.array(list(_shares(cores, cases)))
    return Tightness(cores, cases, float((shares < 1e-9).mean()), float(shares.mean()), float(shares.max()))


def _shares(cores: int, cases: int) -> Iterator[float]:
    random = np.random.default_rng(1)
    ones = np.ones(JOBS)
    for _ in range(cases):
        release = np.sort(random.uniform(0.0, JOBS / cores, JOBS))
        work = 2.0 ** random.integers(0, 5, JOBS) / 6.2  # five sizes, as in Sharaf et al. 2006
        jobs = Jobs.of(release.tolist(), work.tolist())
        best, least = (bound(jobs, cores, ones) - release.sum() for bound in (best_sum, least_sum))
        yield best / least - 1.0
