"""What choosing among policies has cost: adaptive against the best of its candidates, on the same tuples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headgate.policies.adaptive.adaptive import Adaptive
from headgate.policies.registry import create


@dataclass(frozen=True, slots=True)
class Regret:
    """How much worse an adaptive policy did than its best candidate would have; negative where it did better."""

    policy: str
    value: float | None
    best: str | None  # of its candidates; None: none has the measure
    best_value: float | None
    candidates: int
    amount: float | None  # in the measure's unit
    share: float | None  # of the best candidate's value

    @classmethod
    def of(
        cls, policy: str, candidates: Sequence[str], values: Mapping[str, float | None], smaller_is_better: bool = True
    ) -> Regret:
        """By the values of a measure, the adaptive policy's own among them.

        >>> found = Regret.of("adaptive", ["hr", "fcfs"], {"adaptive": 3.0, "hr": 2.0, "fcfs": 4.0})
        >>> found.best, found.amount, found.share
        ('hr', 1.0, 0.5)
        """
        sign = 1.0 if smaller_is_better else -1.0
        known = {name: value for name in candidates if (value := values.get(name)) is not None}
        value = values.get(policy)
        if not known or value is None:
            return cls(policy, value, None, None, len(candidates), None, None)
        best = min(known, key=lambda name: (sign * known[name], name))
        amount = sign * (value - known[best])
        share = amount / abs(known[best]) if known[best] else None
        return cls(policy, value, best, known[best], len(candidates), amount, share)

    def to_json(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "best": self.best,
            "best_value": self.best_value,
            "regret": self.amount,
            "share": self.share,
        }


def adaptive_candidates(policies: Iterable[str]) -> dict[str, list[str]]:
    """The candidates of each policy that is adaptive.

    >>> adaptive_candidates(["fcfs", "adaptive, candidates=[hr, (bsd, clusters=3)]"])
    {'adaptive, candidates=[hr, (bsd, clusters=3)]': ['hr', 'bsd, clusters=3']}
    """
    created = {text: create(text) for text in policies}
    return {text: policy.candidate_policies for text, policy in created.items() if isinstance(policy, Adaptive)}
