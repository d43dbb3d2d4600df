"""The regret of adaptive policies in simulations, and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headgate.model import HeadgateError
from headgate.model.number_text import significant

if TYPE_CHECKING:
    from headgate.metrics import Report
    from headgate.policies.adaptive.regret import Regret


def candidates_of(policies: Sequence[str]) -> dict[str, list[str]]:
    """The candidates of each policy that is adaptive; an error if none is.

    >>> candidates_of(["fcfs", "adaptive, candidates=[hr, (bsd, clusters=3)]"])
    {'adaptive, candidates=[hr, (bsd, clusters=3)]': ['hr', 'bsd, clusters=3']}
    """
    from headgate.policies.adaptive.regret import adaptive_candidates

    found = adaptive_candidates(policies)
    if not found:
        raise HeadgateError(
            "--regret compares adaptive with its candidates, and no policy here is adaptive",
            hint='add --policy "adaptive, candidates=[hr, fcfs]"',
        )
    return found


def regrets(candidates: Mapping[str, Sequence[str]], reports: Mapping[str, Report], by: str) -> list[Regret]:
    """The regret of each adaptive policy that was simulated."""
    from headgate.metrics import smaller_is_better
    from headgate.policies.adaptive.regret import Regret

    values = {policy: report.value(by) for policy, report in reports.items()}
    return [
        Regret.of(policy, names, values, smaller_is_better(by))
        for policy, names in candidates.items()
        if policy in reports
    ]


def in_words(regret: Regret, by: str) -> str:
    """One line for people.

    >>> from headgate.policies.adaptive.regret import Regret
    >>> in_words(Regret("adaptive", 0.015, "hr", 0.012, 4, 0.003, 0.25), "response_time.mean")
    'regret of adaptive: 3 ms (25 %) in mean response time against hr, the best of its 4 candidates'
    """
    from headgate.metrics import measure_at

    measure = measure_at(by)
    unit, scale = measure.shown_unit([regret.value, regret.best_value]) if regret.amount is not None else ("", 1.0)
    return regret_text(regret, measure.words, f" {unit}" if unit else "", scale)


def regret_text(regret: Regret, measure: str, unit: str, scale: float) -> str:
    """One line for people, given the measure in words, its unit and what a number is divided by."""
    if regret.amount is None or regret.best is None:
        return f"regret of {regret.policy}: unknown, nothing to measure {measure} by"
    amount = f"{significant(abs(regret.amount) / scale)}{unit}"
    if regret.share is not None:
        amount += f" ({significant(abs(regret.share) * 100)} %)"
    if regret.amount < 0:
        amount = f"none, it is better by {amount}"
    of = f"the best of its {regret.candidates} candidates" if regret.candidates > 1 else "its only candidate"
    return f"regret of {regret.policy}: {amount} in {measure} against {regret.best}, {of}"
