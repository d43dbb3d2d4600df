"""Lower bounds on the measures of a workload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headgate.sim.bounds.jobs import Floats
from headgate.sim.bounds.needed_work import NeededWork, needed_work
from headgate.sim.bounds.relaxations import least_sum
from headgate.sim.load import scaled
from headgate.sim.policy_fit import ideal_times
from headgate.workload import Workload


@dataclass(frozen=True, slots=True)
class Bounds:
    """What no policy can go below, by the dotted path of the measure, and how many results there are.

    They hold for runs with as many results: some operators close windows by what they see first.
    """

    least: Mapping[str, float]
    results: int

    def gap(self, measure: str, value: float) -> float | None:
        """How far a value is above its bound, as a share of the bound; None where there is no bound.

        >>> Bounds({"response_time.mean": 2.0}, 1).gap("response_time.mean", 3.0)
        0.5
        """
        bound = self.least.get(measure, 0.0)
        return value / bound - 1.0 if bound > 0 else None


def lower_bounds(workload: Workload) -> Bounds:
    """Bounds on the mean response time, the one weighted by class priority, and the mean slowdown.

    Refused where results or costs depend on the schedule: where operators change, or queries begin or end, in between.
    """
    needed = needed_work(workload)
    results = len(needed.query)
    if not results:
        return Bounds({}, 0)
    cores = workload.cores
    least = {
        "response_time.mean": _mean(needed, cores, np.full(results, 1.0 / results), needed.arrival),
        "response_time.weighted": _mean(needed, cores, _class_weights(needed, workload), needed.arrival),
    }
    ideal = ideal_times(scaled(workload))
    seconds = np.array([ideal[query] for query in needed.query])
    if (seconds > 0).any():  # slowdown is of those only
        weights = np.divide(1.0, seconds, out=np.zeros(results), where=seconds > 0) / np.count_nonzero(seconds)
        least["slowdown.mean"] = _mean(needed, cores, weights, needed.reference)
    return Bounds(least, results)


def _mean(needed: NeededWork, cores: int, weights: Floats, since: Floats) -> float:
    return least_sum(needed.jobs, cores, weights) - float(weights @ since)


def _class_weights(needed: NeededWork, workload: Workload) -> Floats:
    """What a result counts in the mean of the classes' means, weighted by their priorities."""
    classes = {query.name: query.query_class for query in workload.queries}
    priorities = {each.name: each.priority for each in workload.classes}
    of = [classes[query] for query in needed.query]
    counts = Counter(of)
    total = sum(priorities[name] for name in counts)
    return np.array([priorities[name] / counts[name] / total for name in of])
