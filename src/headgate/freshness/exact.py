"""The exact refresh plan: the frequencies that maximize perceived freshness within a bandwidth.

Maximize Σ p F(λ/f) subject to Σ s f = B (Carney 2005, equations 2.1 and 2.4). At the optimum all refreshed elements
give the same gain per unit of bandwidth, μ: p/(λ s) · gain(λ/f) = μ, and those that could not even give μ with their
first refresh, p/(λ s) ≤ μ, get none. With a floor, f is the larger of the floor's frequency and that of μ.
What is left is one root search on μ, each step of which is a pass over the elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate.freshness.certificate import Certificate, certify
from headgate.freshness.curve import Floats, freshness, ratio_at_freshness, ratio_at_gain
from headgate.freshness.elements import Elements
from headgate.freshness.search import Multiplier, Use, find_multiplier
from headgate.model import HeadgateError

CHUNK = 32_768  # elements whose intermediate results stay in the processor's cache
GRACE = 1e-12  # a bandwidth that misses the floors by rounding alone meets them
MOST_BANDWIDTH = 1e100  # beyond, gains are too small for floating-point numbers
TINY, HUGE = 1e-300, 1e300


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """How often to refresh each element, how fresh that keeps it, and the proof that nothing is better."""

    elements: Elements
    frequency: Floats
    certificate: Certificate

    @property
    def freshness(self) -> Floats:
        """Of each element, on average over time; 1 for one that never changes."""
        return freshness_at(self.elements.change_rate, self.frequency)

    @property
    def perceived_freshness(self) -> float:
        """The share of accesses that find a fresh copy."""
        return float(self.elements.access @ self.freshness)

    @property
    def unrefreshed(self) -> int:
        """How many elements that change and are wanted get no refresh."""
        wanted = (self.elements.change_rate > 0) & (self.elements.access > 0)
        return int(np.count_nonzero(wanted & (self.frequency == 0)))


def plan(
    elements: Elements, bandwidth: float, *, min_freshness: ArrayLike | None = None, at_least: Floats | None = None
) -> Plan:
    """The plan that maximizes perceived freshness; floors of freshness (or of frequency, `at_least`) come first.

    The example of Carney 2005, table 2.1, row d, where 1.68 is printed for the first element:

    >>> optimum = plan(Elements.of(change_rate=[1, 2, 3, 4, 5], access=[5, 4, 3, 2, 1]), bandwidth=5)
    >>> optimum.frequency.round(2).tolist()
    [1.69, 1.83, 1.49, 0.0, 0.0]
    >>> round(optimum.perceived_freshness, 4), optimum.certificate.violation < 1e-12
    (0.4995, True)
    """
    check_bandwidth(bandwidth)
    if min_freshness is not None:
        elements = elements.with_floor(min_freshness)
    least = floor_frequency(elements) if at_least is None else np.maximum(floor_frequency(elements), at_least)
    check_floors(float(elements.size @ least), bandwidth)
    problem = Problem.of(elements, least)
    solution = problem.solve(bandwidth)
    frequency = least.copy()
    frequency[problem.rows] = problem.mixed(solution)
    return Plan(elements, frequency, certify(elements, frequency, least, bandwidth, solution))


def general_plan(elements: Elements, bandwidth: float) -> Plan:
    """General freshening (GF): the plan for average freshness, which knows no profile, judged with the profile.

    >>> general = general_plan(Elements.of(change_rate=[1, 2, 3, 4, 5], access=[5, 4, 3, 2, 1]), bandwidth=5)
    >>> general.frequency.round(2).tolist()
    [1.15, 1.36, 1.35, 1.14, 0.0]
    """
    blind = plan(elements.ignoring_access(), bandwidth)
    return Plan(elements, blind.frequency, blind.certificate)


def even_frequency(elements: Elements, bandwidth: float) -> Floats:
    """Every element refreshed equally often, as a mirror does that knows nothing."""
    return np.full(len(elements), bandwidth / elements.size.sum())


def freshness_at(change_rate: Floats, frequency: Floats) -> Floats:
    """How fresh some frequencies keep the elements.

    >>> freshness_at(np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0])).round(3).tolist()
    [1.0, 0.0, 0.632]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return freshness(np.where(change_rate == 0, 0.0, change_rate / frequency))


def floor_frequency(elements: Elements) -> Floats:
    """The least frequency that keeps each element as fresh as its floor asks."""
    if not elements.floor.any():
        return np.zeros(len(elements))
    ratio = ratio_at_freshness(elements.floor)
    return np.divide(elements.change_rate, ratio, out=np.zeros(len(elements)), where=ratio > 0)


def check_bandwidth(bandwidth: float) -> None:
    """Refuse what no plan can be made for."""
    if not 0 < bandwidth <= MOST_BANDWIDTH:
        bound = f"at most {MOST_BANDWIDTH:g}" if bandwidth > 0 else "more than 0"
        raise HeadgateError(f"bandwidth must be {bound}, found {bandwidth:g}", hint="write for example 1000")


def check_floors(needed: float, bandwidth: float) -> None:
    """Refuse floors that the bandwidth cannot meet.

    >>> try:
    ...     plan(Elements.of([1, 2], [1, 1]), bandwidth=1, min_freshness=0.9)
    ... except HeadgateError as error:
    ...     print(error.message)
    the floors need a bandwidth of 13.9824, more than the 1 there is
    """
    if needed > bandwidth * (1 + GRACE):
        raise HeadgateError(
            f"the floors need a bandwidth of {needed:.6g}, more than the {bandwidth:g} there is",
            hint="give more bandwidth or lower min_freshness",
        )


class Problem(NamedTuple):
    """The elements that a refresh can help, in the columns that the search needs."""

    rows: slice | NDArray[np.intp]
    load: Floats  # s λ: the bandwidth of one refresh per change
    cost: Floats  # s λ / p: the inverse of what a first refresh gives per bandwidth
    size: Floats
    least: Floats  # floors, in bandwidth; empty if there are none
    kept: float  # bandwidth of floors of elements outside this problem

    @classmethod
    def of(cls, elements: Elements, least: Floats) -> Problem:
        useful = (elements.change_rate > 0) & (elements.access > 0)
        rows = slice(None) if useful.all() else np.flatnonzero(useful)
        size = elements.size[rows]
        load = size * elements.change_rate[rows]
        with np.errstate(over="ignore"):
            cost = np.clip(load / elements.access[rows], TINY, HUGE)
        floors = least * elements.size
        kept = float(floors[~useful].sum())
        return cls(rows, load, cost, size, floors[rows] if floors.any() else np.empty(0), kept)

    def solve(self, bandwidth: float) -> Multiplier:
        """The multiplier; 0 where no refresh helps, the ceiling where the floors take everything."""
        if not len(self.load):
            return Multiplier(0.0, 0.0, 1.0, 0)
        ceiling = float(1.0 / self.cost.min()) * (1 + 1e-9)
        if self.kept + self.least.sum() >= bandwidth * (1 - GRACE):
            return Multiplier(ceiling, ceiling, 1.0, 0)
        # Ratios are at least √(2 gain): the use at this price is at most the bandwidth, and nearly it if that is large.
        start = (float((self.load / np.sqrt(self.cost)).sum()) / bandwidth) ** 2 / 2
        return find_multiplier(self.use, bandwidth, ceiling, start)

    def use(self, price: float) -> Use:
        """The bandwidth used at a price, and its slope."""
        used, slope = self.kept, 0.0
        for begin in range(0, len(self.load), CHUNK):
            part = slice(begin, begin + CHUNK)
            gains = price * self.cost[part]
            ratio = ratio_at_gain(gains)
            wanted = self.load[part] / ratio
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                steep = wanted * gains * (1.0 + ratio) / (ratio * ratio * (1.0 - gains))
            steep[~(wanted > 0)] = 0.0
            if len(self.least):
                steep[wanted < self.least[part]] = 0.0
                wanted = np.maximum(wanted, self.least[part])
            used += float(wanted.sum())
            slope -= float(steep.sum())
        return Use(used, slope)

    def mixed(self, solution: Multiplier) -> Floats:
        """The frequencies at the multiplier."""
        if solution.lower == solution.upper:
            return self.frequency(solution.lower)
        upper = self.frequency(solution.upper)  # a sum of shares would move what is equal at both ends by a rounding
        return upper + solution.mix * (self.frequency(solution.lower) - upper)

    def frequency(self, price: float) -> Floats:
        """How often each is refreshed at a price, its floor included."""
        wanted = np.empty_like(self.load)
        for begin in range(0, len(wanted), CHUNK):
            part = slice(begin, begin + CHUNK)
            wanted[part] = self.load[part] / ratio_at_gain(price * self.cost[part])
        return (np.maximum(wanted, self.least) if len(self.least) else wanted) / self.size
