"""The mirrors that the document plans for (Carney 2005, tables 2.2 and 2.3, section 2.5.3), drawn anew from a seed.

Change rates are gamma, accesses Zipf, sizes all 1 or Pareto with mean 1. Objects are numbered by falling access.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from headgate.freshness.curve import Floats
from headgate.freshness.elements import Elements


class Alignment(StrEnum):
    """How a column lies beside the accesses, which fall from the first object to the last."""

    ALIGNED = "aligned"  # falls as well: what changes often is wanted most
    REVERSE = "reverse"  # rises
    SHUFFLED = "shuffled"  # no relation


@dataclass(frozen=True, slots=True)
class Setup:
    """The parameters of an experiment; the defaults are those of table 2.2.

    >>> elements = Setup(theta=1.0).elements()
    >>> len(elements), round(float(elements.access[0] / elements.access[9]), 6)
    (500, 10.0)
    """

    objects: int = 500
    updates: float = 1000.0  # per period, of all objects together
    syncs: float = 250.0  # per period: the bandwidth
    theta: float = 1.0  # skew of the accesses
    deviation: float = 1.0  # standard deviation of the change rates
    changes: Alignment = Alignment.SHUFFLED
    pareto: float | None = None  # shape of the sizes; without one all are 1
    sizes: Alignment = Alignment.SHUFFLED
    shuffled_access: bool = False
    seed: int = 1

    def elements(self) -> Elements:
        """The objects of this setup."""
        rng = np.random.default_rng(self.seed)
        mean = self.updates / self.objects
        rates = rng.gamma((mean / self.deviation) ** 2, self.deviation**2 / mean, self.objects)
        rates = _aligned(rates * (mean / rates.mean()), self.changes, rng)
        access = zipf(self.objects, self.theta)
        size = np.ones(self.objects)
        if self.pareto is not None:
            drawn = rng.pareto(self.pareto, self.objects) + 1.0
            size = _aligned(drawn / drawn.mean(), self.sizes, rng)
        return Elements.of(rates, rng.permutation(access) if self.shuffled_access else access, size)


LARGE = Setup(objects=500_000, updates=1_000_000, syncs=250_000, theta=1.0, deviation=2.0)  # table 2.3


def zipf(count: int, theta: float) -> Floats:
    """Access probabilities proportional to 1/iᶿ.

    >>> zipf(2, 1.0).round(3).tolist()
    [0.667, 0.333]
    """
    weights = np.arange(1, count + 1) ** -theta
    return np.asarray(weights / weights.sum())


def _aligned(column: Floats, alignment: Alignment, rng: np.random.Generator) -> Floats:
    match alignment:
        case Alignment.ALIGNED:
            return np.sort(column)[::-1]
        case Alignment.REVERSE:
            return np.sort(column)
        case Alignment.SHUFFLED:
            return rng.permutation(column)
