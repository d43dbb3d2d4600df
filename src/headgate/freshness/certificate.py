"""The proof that goes with a plan: anyone can check that no other plan within the bandwidth is better."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from headgate.freshness.curve import Floats, freshness, gain, ratio_at_gain
from headgate.freshness.elements import Elements
from headgate.freshness.search import Multiplier

CHUNK = 65_536
ROUNDING = 1 + 1e-14  # a floor that went through bandwidth and back


@dataclass(frozen=True, slots=True)
class Certificate:
    """What makes a plan optimal.

    `multiplier`: the freshness that one more unit of bandwidth gives. `violation`: the largest relative distance from
    the optimality conditions of any element. `used`: the bandwidth of the plan. `bound`: no plan within the bandwidth
    has more perceived freshness (by duality at the multiplier), so bound − perceived freshness limits what is lost.
    """

    multiplier: float
    violation: float
    used: float
    bound: float
    steps: int

    def to_json(self) -> dict[str, float | int]:
        return asdict(self)


def certify(
    elements: Elements, frequency: Floats, least: Floats, bandwidth: float, solution: Multiplier
) -> Certificate:
    """Judge a plan from its frequencies alone; only the multiplier is taken from the search.

    Each element's gain per bandwidth must be the multiplier, or at most that where its floor (or 0) holds it.
    """
    price = solution.upper
    violation, bound = 0.0, price * bandwidth
    for begin in range(0, len(elements), CHUNK):
        part = slice(begin, begin + CHUNK)
        rate, access, size = elements.change_rate[part], elements.access[part], elements.size[part]
        useful = (rate > 0) & (access > 0)
        bound += float(access[rate == 0].sum()) - price * float((size * least[part])[~useful].sum())
        cost = size[useful] * rate[useful] / access[useful]
        often, floor = frequency[part][useful], least[part][useful]
        violation = max(violation, _violation(price * cost, rate[useful], often, floor))
        best = np.maximum(rate[useful] / ratio_at_gain(price * cost), floor)
        with np.errstate(divide="ignore"):
            bound += float(access[useful] @ freshness(rate[useful] / best) - price * (size[useful] @ best))
    used = float(elements.size @ frequency)
    return Certificate(price, violation, used, bound, solution.steps)


def _violation(priced: Floats, rate: Floats, frequency: Floats, floor: Floats) -> float:
    """How far gains per bandwidth are from the price, relative to it; `priced` is the price per highest gain."""
    if not len(rate):
        return 0.0
    with np.errstate(divide="ignore"):
        distance = gain(rate / frequency) / priced - 1.0
    return float(np.where(frequency > floor * ROUNDING, np.abs(distance), np.maximum(distance, 0.0)).max())
