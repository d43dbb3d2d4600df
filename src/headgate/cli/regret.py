"""What choosing among policies has cost: adaptive against the best of its candidates on the same workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headgate.model import HeadgateError
from headgate.model.number_text import significant

if TYPE_CHECKING:
    from headgate.metrics import Report


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

    def to_json(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "best": self.best,
            "best_value": self.best_value,
            "regret": self.amount,
            "share": self.share,
        }


def candidates_of(policies: Sequence[str]) -> dict[str, list[str]]:
    """The candidates of each policy that is adaptive; an error if none is.

    >>> candidates_of(["fcfs", "adaptive, candidates=[hr, (bsd, clusters=3)]"])
    {'adaptive, candidates=[hr, (bsd, clusters=3)]': ['hr', 'bsd, clusters=3']}
    """
    from headgate.policies.adaptive.adaptive import Adaptive
    from headgate.policies.registry import create

    created = {text: create(text) for text in policies}
    found = {text: policy.candidate_policies for text, policy in created.items() if isinstance(policy, Adaptive)}
    if not found:
        raise HeadgateError(
            "--regret compares adaptive with its candidates, and no policy here is adaptive",
            hint='add --policy "adaptive, candidates=[hr, fcfs]"',
        )
    return found


def regrets(candidates: Mapping[str, Sequence[str]], reports: Mapping[str, Report], by: str) -> list[Regret]:
    """The regret of each adaptive policy that was simulated."""
    return [_regret(policy, names, reports, by) for policy, names in candidates.items() if policy in reports]


def _regret(policy: str, candidates: Sequence[str], reports: Mapping[str, Report], by: str) -> Regret:
    from headgate.metrics import smaller_is_better

    sign = 1.0 if smaller_is_better(by) else -1.0
    values = {name: reports[name].value(by) for name in candidates if name in reports}
    known = {name: value for name, value in values.items() if value is not None}
    value = reports[policy].value(by)
    if not known or value is None:
        return Regret(policy, value, None, None, len(candidates), None, None)
    best = min(known, key=lambda name: (sign * known[name], name))
    amount = sign * (value - known[best])
    share = amount / abs(known[best]) if known[best] else None
    return Regret(policy, value, best, known[best], len(candidates), amount, share)


def in_words(regret: Regret, by: str) -> str:
    """One line for people.

    >>> in_words(Regret("adaptive", 0.015, "hr", 0.012, 4, 0.003, 0.25), "response_time.mean")
    'regret of adaptive: 3 ms (25 %) in mean response time against hr, the best of its 4 candidates'
    """
    from headgate.metrics import measure_at

    measure = measure_at(by)
    if regret.amount is None or regret.best is None:
        return f"regret of {regret.policy}: unknown, nothing to measure {measure.words} by"
    unit, scale = measure.shown_unit([regret.value, regret.best_value])
    amount = f"{significant(abs(regret.amount) / scale)}{f' {unit}' if unit else ''}"
    if regret.share is not None:
        amount += f" ({significant(abs(regret.share) * 100)} %)"
    if regret.amount < 0:
        amount = f"none, it is better by {amount}"
    of = f"the best of its {regret.candidates} candidates" if regret.candidates > 1 else "its only candidate"
    return f"regret of {regret.policy}: {amount} in {measure.words} against {regret.best}, {of}"
