"""Replays of a history under several policies, beside what was recorded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headgate.model import HeadgateError, unknown
from headgate.what_if.response_times import Judged, Times

SURE = 0.05  # differences below this share are told of nobody, however small the error is: other seeds have them too
MEASURES = ("mean", "p50", "p95")
TARGETS = "targets"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The recorded run, the same one replayed, and what other policies would have made of it."""

    recorded: Judged
    replayed: Judged
    policies: Mapping[str, Judged]  # as they were asked for
    members: Mapping[str, Sequence[str]] = field(default_factory=dict)  # the recorded queries of each class

    def error(self, query_class: str) -> float | None:
        """How far the replay of the recorded policy is off for a class: of the mean response time, relative to it."""
        return relative(self.replayed.classes.get(query_class, Times()).mean, self.recorded.classes[query_class].mean)

    def change(self, policy: str, query_class: str) -> float | None:
        """How much longer the mean response time of a class is than that of the recorded policy, both replayed."""
        new = self.policies[policy].classes.get(query_class, Times()).mean
        old = self.replayed.classes.get(query_class, Times()).mean
        return None if new is None or not old else new / old - 1.0

    def within_error(self, policy: str, query_class: str) -> bool | None:
        """Whether that difference is so small that it says nothing."""
        change, error = self.change(policy, query_class), self.error(query_class)
        return None if change is None or error is None else abs(change) <= max(SURE, error)

    def ranking(self, by: str) -> list[str]:
        """The policies, the best first; those that leave a class without results come last, whatever others get."""

        def place(policy: str) -> tuple[Any, ...]:
            return len(self.unserved(policy)), *self._place(self.policies[policy], by), policy

        return sorted(self.policies, key=place)

    def unserved(self, policy: str) -> list[str]:
        """Classes with recorded results that get none under a policy."""
        served = self.policies[policy].classes
        recorded = [name for name, times in self.recorded.classes.items() if times.mean is not None]
        return [name for name in recorded if served.get(name, Times()).mean is None]

    def tied(self, policy: str, best: str, by: str) -> bool:
        """Whether a policy is no worse than another as far as can be told: by its measure, within that one's error."""
        if by == TARGETS:
            return self.policies[policy].met == self.policies[best].met
        mine, theirs = value(self.policies[policy], by), value(self.policies[best], by)
        difference = relative(mine, theirs)
        return difference is not None and difference <= (relative_error(self, by) or SURE)

    def to_json(self, by: str) -> dict[str, Any]:
        tree: dict[str, Any] = {
            "recorded": {"policy": self.recorded.policy, **self.recorded.to_json()},
            "replayed": {"policy": self.replayed.policy, **self.replayed.to_json()},
            "error": {name: self.error(name) for name in self.recorded.classes},
            "policies": {},
            "by": by,
            "ranking": self.ranking(by),
        }
        for policy, judged in self.policies.items():
            tree["policies"][policy] = judged.to_json()
            for name, told in tree["policies"][policy]["classes"].items():
                if name in self.recorded.classes:
                    told["change"] = self.change(policy, name)
                    told["within_error"] = self.within_error(policy, name)
        return tree

    @staticmethod
    def _place(judged: Judged, by: str) -> tuple[float, float]:
        mean = math.inf if judged.overall.mean is None else judged.overall.mean
        if by == TARGETS:
            return float(-judged.met), mean
        found = value(judged, by)
        return math.inf if found is None else found, mean


def value(judged: Judged, by: str) -> float | None:
    """A measure of a run: `mean`, `p50` or `p95` of all results, or of a class as `critical.p95`."""
    name, _, measure = by.rpartition(".")
    times = judged.overall if not name else judged.classes.get(name, Times())
    found: float | None = getattr(times, measure)
    return found


def measured(judged: Judged, by: str) -> float | None:
    """What ranks a run: a measure, or the number of targets that it meets."""
    return float(judged.met) if by == TARGETS else value(judged, by)


def relative_error(comparison: Comparison, by: str) -> float | None:
    """How far the replay of the recorded policy is off in what ranks; at least what other seeds differ by."""
    error = relative(measured(comparison.replayed, by), measured(comparison.recorded, by))
    return None if error is None else max(SURE, error)


def check_measure(by: str, recorded: Judged) -> None:
    """Refuse a measure that there is not."""
    if by == TARGETS:
        if not recorded.targets:
            raise HeadgateError(
                "no recorded query or class has a target",
                where="--by",
                hint='give one a target = "500 ms", or use mean',
            )
        return
    name, _, measure = by.rpartition(".")
    if measure not in MEASURES:
        raise unknown("measure", by, [*MEASURES, TARGETS, *(f"{one}.p95" for one in recorded.classes)], where="--by")
    if name and name not in recorded.classes:
        raise unknown("class", name, recorded.classes, where="--by")


def relative(found: float | None, true: float | None) -> float | None:
    """How far a number is off.

    >>> round(relative(1.1, 1.0), 3), relative(None, 1.0)
    (0.1, None)
    """
    return None if found is None or not true else abs(found - true) / true
