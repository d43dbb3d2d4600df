"""How soon jobs can end at best, by three relaxations of which each is below every schedule on the cores.

All cores together can do no more than one core that is as many times as fast and may be shared in any proportion.
There,

* the sum of all ends is least if whoever has the least work left comes first (shortest remaining time first);
* the weighted sum of mean busy times, when a job is worked on on average, is least if whoever has the most weight for
  its work comes first (Goemans 1997). A job that no more than one core works on at a time ends at least half its work
  after its mean busy time.

And no job ends before its release and the time that it takes alone.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from headgate.sim.bounds.jobs import Floats, Jobs


def least_sum(jobs: Jobs, cores: int, weights: Floats) -> float:
    """A number that the weighted sum of the jobs' ends cannot go below: the largest of the relaxations'.

    >>> least_sum(Jobs.of([0.0, 0.0], [1.0, 2.0]), 1, np.ones(2))
    4.0
    >>> least_sum(Jobs.of([0.0, 0.0], [1.0, 2.0]), 2, np.ones(2))
    3.0
    """
    bounds = [
        float(weights @ (jobs.release + jobs.alone)),
        float(weights @ (mean_busy_times(jobs, cores, weights) + jobs.work / 2)),
    ]
    if len(jobs) and weights.min() == weights.max():
        bounds.append(float(weights[0]) * shortest_remaining_first(jobs, cores))
    return max(bounds)


def shortest_remaining_first(jobs: Jobs, speed: float) -> float:
    """The sum of ends on one fast core, where whoever has the least work left comes first.

    >>> shortest_remaining_first(Jobs.of([0.0, 1.0], [3.0, 1.0]), 1)
    6.0
    """
    coming = sorted(zip(jobs.release.tolist(), (jobs.work / speed).tolist(), strict=True), reverse=True)
    left: list[float] = []  # seconds of the jobs that are there
    now = total = 0.0
    while coming or left:
        if not left:
            now = max(now, coming[-1][0])
        while coming and coming[-1][0] <= now:
            heappush(left, coming.pop()[1])
        seconds = heappop(left)
        until = coming[-1][0] if coming else np.inf
        if now + seconds <= until:
            now += seconds
            total += now
        else:
            heappush(left, seconds - (until - now))
            now = until
    return total


def mean_busy_times(jobs: Jobs, speed: float, weights: Floats) -> Floats:
    """When each job is worked on on average on one fast core, where the largest weight for the work comes first.

    >>> mean_busy_times(Jobs.of([0.0, 1.0], [3.0, 1.0]), 1, np.ones(2)).tolist()
    [2.1666666666666665, 1.5]
    """
    seconds = jobs.work / speed
    urgency = np.divide(seconds, weights, out=np.full(len(jobs), np.inf), where=weights > 0)
    ranks = np.empty(len(jobs), dtype=np.int64)
    ranks[np.argsort(urgency, kind="stable")] = np.arange(len(jobs))
    coming = sorted(zip(jobs.release.tolist(), ranks.tolist(), range(len(jobs)), strict=True), reverse=True)
    rest = seconds.tolist()
    moments = np.zeros(len(jobs))  # Σ seconds × their middle
    there: list[tuple[int, int]] = []
    now = 0.0
    while coming or there:
        if not there:
            now = max(now, coming[-1][0])
        while coming and coming[-1][0] <= now:
            _, rank, job = coming.pop()
            heappush(there, (rank, job))
        job = there[0][1]
        until = coming[-1][0] if coming else np.inf
        ends = now + rest[job] <= until
        spent = rest[job] if ends else until - now
        moments[job] += spent * (now + spent / 2)
        rest[job] -= spent
        now = now + spent if ends else until
        if ends:
            heappop(there)
    return np.divide(moments, seconds, out=jobs.release.copy(), where=seconds > 0)
