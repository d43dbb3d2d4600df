"""The best order of a few jobs, found by trying all: what a scheduler that knows the future could do."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heapreplace
from itertools import permutations

from headgate.sim.bounds.jobs import Floats, Jobs

MOST_JOBS = 8  # 40 320 orders


def best_sum(jobs: Jobs, cores: int, weights: Floats) -> float:
    """The least weighted sum of ends if jobs run whole, one after another, on each core.

    A core may wait for a job that has not come yet, so the best order is among these.

    >>> from numpy import ones
    >>> best_sum(Jobs.of([0.0, 1.0], [3.0, 1.0]), 1, ones(2))
    7.0
    """
    if len(jobs) > MOST_JOBS:
        raise ValueError(f"{len(jobs)} jobs have too many orders to try, {MOST_JOBS} are the most")
    return min(_sum(order, jobs, cores, weights) for order in permutations(range(len(jobs))))


def _sum(order: Iterable[int], jobs: Jobs, cores: int, weights: Floats) -> float:
    free = [0.0] * cores
    heapify(free)
    total = 0.0
    for job in order:
        end = max(free[0], float(jobs.release[job])) + float(jobs.alone[job])
        heapreplace(free, end)
        total += float(weights[job]) * end
    return total
