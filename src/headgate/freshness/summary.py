"""A plan compared with today's refreshes, with a plan without profile, and with more or less bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from headgate.freshness.curve import Floats
from headgate.freshness.elements import Elements
from headgate.freshness.exact import Plan, even_frequency, freshness_at, general_plan, plan
from headgate.model import HeadgateError

STEP = 0.1  # how much more and less bandwidth is looked at


@dataclass(frozen=True, slots=True)
class Summary:
    """A plan in numbers; what cannot be known (less bandwidth than the floors need) is None."""

    perceived_freshness: float
    multiplier: float
    bandwidth: float
    used: float
    elements: int
    unrefreshed: int
    violation: float
    bound: float
    now: float  # with today's frequencies, or with all equally often
    now_is_even: bool
    general: float  # GF: the profile ignored
    less: float | None  # with 10 % less bandwidth
    more: float | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def summarize(plan: Plan, bandwidth: float, frequency: Floats | None = None) -> Summary:
    """The numbers of a plan.

    >>> elements = Elements.of(change_rate=[1, 2, 3, 4, 5], access=[5, 4, 3, 2, 1])
    >>> numbers = summarize(plan(elements, 5), 5)
    >>> [round(share, 3) for share in (numbers.less, numbers.perceived_freshness, numbers.more)]
    [0.478, 0.499, 0.518]
    """
    elements = plan.elements
    now = even_frequency(elements, bandwidth) if frequency is None else frequency
    return Summary(
        perceived_freshness=plan.perceived_freshness,
        multiplier=plan.certificate.multiplier,
        bandwidth=bandwidth,
        used=plan.certificate.used,
        elements=len(elements),
        unrefreshed=plan.unrefreshed,
        violation=plan.certificate.violation,
        bound=plan.certificate.bound,
        now=float(elements.access @ freshness_at(elements.change_rate, now)),
        now_is_even=frequency is None,
        general=general_plan(elements, bandwidth).perceived_freshness,
        less=reachable(elements, (1 - STEP) * bandwidth),
        more=reachable(elements, (1 + STEP) * bandwidth),
    )


def reachable(elements: Elements, bandwidth: float) -> float | None:
    """The best perceived freshness at some bandwidth; None where it does not pay the floors."""
    try:
        return plan(elements, bandwidth).perceived_freshness
    except HeadgateError:
        return None


def over_bandwidth(elements: Elements, bandwidths: Sequence[float]) -> list[tuple[float, float, float]]:
    """Bandwidth, perceived freshness of the plan, and of GF; where the floors are paid."""
    reached = [(bandwidth, reachable(elements, bandwidth)) for bandwidth in bandwidths]
    return [
        (bandwidth, share, general_plan(elements, bandwidth).perceived_freshness)
        for bandwidth, share in reached
        if share is not None
    ]
