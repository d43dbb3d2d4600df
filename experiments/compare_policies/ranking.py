"""What the simulations say: values, gaps and ranks of policies by workload and measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean
from types import MappingProxyType
from typing import Any

from experiments.compare_policies.plan import Case
from headgate.metrics import smaller_is_better
from headgate.model import HeadgateError

MEASURES: Mapping[str, str] = MappingProxyType(
    {
        "response_time.mean": "mean response",
        "response_time.p95": "95 % of responses",
        "response_time.weighted": "mean response, weighted by class",
        "slowdown.mean": "mean slowdown",
        "slowdown.max": "largest slowdown",
        "slowdown.l2": "ℓ2 norm of slowdown",
        "queue.tuples.mean": "mean queue",
        "queue.tuples.max": "largest queue",
        "qos.mean": "QoS",
    }
)
"""The measures that are compared, by their paths, in words."""
SAME = 1e-6  # by which share values may differ and count as equal
ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Outcome:
    """One workload: the means of measures over seeds by policy, and what no policy can go below."""

    case: Case
    values: Mapping[str, Mapping[str, float]]  # by measure and policy, only measures that tell policies apart
    bounds: Mapping[str, float]  # by measure

    def best(self, measure: str) -> list[str]:
        """The policies with the best value, several if it is the same."""
        values = self.values[measure]
        best = (min if smaller_is_better(measure) else max)(values.values())
        return [policy for policy, value in values.items() if abs(value - best) <= SAME * abs(best)]

    def ratios(self, measure: str) -> dict[str, float]:
        """How many times the best value each policy has, or the best has its value if larger is better."""
        values = self.values[measure]
        best = values[self.best(measure)[0]]
        small = smaller_is_better(measure)
        pairs = {policy: (value, best) if small else (best, value) for policy, value in values.items()}
        return {policy: max(1.0, above / below) for policy, (above, below) in pairs.items() if above > 0 and below > 0}

    def gap(self, measure: str) -> float | None:
        """How many times the bound the best value is; None where there is no bound."""
        bound = self.bounds.get(measure, 0.0)
        return self.values[measure][self.best(measure)[0]] / bound if bound > 0 else None


def outcome(case: Case, results: Mapping[str, Mapping[str, Any]]) -> Outcome:
    """What the finished simulations of a workload say; refused if one is below its bound."""
    by_policy: dict[str, list[Mapping[str, Any]]] = {}
    for key, task in case.tasks.items():
        if key in results:
            by_policy.setdefault(task.policy, []).append(results[key])
    found = {measure: _means(by_policy, measure) for measure in MEASURES}
    values = {measure: means for measure, means in found.items() if _differ(means) and _applies(case, measure)}
    bounds = _bounds(case, results)
    for measure, bound in bounds.items():
        for policy, value in values.get(measure, {}).items():
            if value < bound * (1 - ROUNDING):
                raise HeadgateError(f"{case.name}, {policy}: {measure} is {value}, below its bound {bound}")
    return Outcome(case, values, bounds)


def typical_ratios(outcomes: Sequence[Outcome], measure: str) -> dict[str, tuple[float, int]]:
    """Each policy's geometric mean of its ratios to the best, and on how many workloads; the best policy first.

    Only policies that fit all workloads on which the measure tells policies apart.
    """
    found = [each.ratios(measure) for each in outcomes if measure in each.values]
    everywhere = set.intersection(*map(set, found)) if found else set()
    means = {policy: exp(fmean(log(ratios[policy]) for ratios in found)) for policy in everywhere}
    return {policy: (means[policy], len(found)) for policy in sorted(means, key=lambda name: (means[name], name))}


def _means(by_policy: Mapping[str, Sequence[Mapping[str, Any]]], measure: str) -> dict[str, float]:
    """Means over seeds, of policies that have the measure in all runs."""
    complete = {policy: runs for policy, runs in by_policy.items() if all(run.get(measure) is not None for run in runs)}
    return {policy: fmean(run[measure] for run in runs) for policy, runs in complete.items()}


def _differ(means: Mapping[str, float]) -> bool:
    return len(means) > 1 and max(means.values()) - min(means.values()) > SAME * abs(max(means.values()))


def _applies(case: Case, measure: str) -> bool:
    """Weights say something only if they differ."""
    return measure != "response_time.weighted" or len({each.priority for each in case.workload.classes}) > 1


def _bounds(case: Case, results: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Means over seeds; none if a policy had other results than the bound counts on."""
    by_seed = {seed: results[key] for key, seed in case.bounds.items() if results.get(key)}
    finished = [(task.seed, results[key]["results"]) for key, task in case.tasks.items() if key in results]
    if not finished or any(by_seed.get(seed, {}).get("results") != count for seed, count in finished):
        return {}
    runs = list(by_seed.values())
    return {measure: fmean(run[measure] for run in runs) for measure in MEASURES if all(measure in run for run in runs)}
