"""The document's approximations, to show what they lose (Carney 2005, sections 2.3 to 2.5).

Elements go into partitions, each partition is replaced by its average element, the small problem is solved, and what
it gives a partition is shared out among its elements. The small problem is the exact one with T elements in one: T
times the access, T times the size.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from headgate.freshness.curve import Floats
from headgate.freshness.elements import Elements
from headgate.freshness.exact import freshness_at, plan
from headgate.freshness.partitions import Labels, improved, partition


class Allocation(StrEnum):
    """How a partition's bandwidth is shared out."""

    FREQUENCY = "ffa"  # equally many refreshes for each
    BANDWIDTH = "fba"  # equally much bandwidth for each, so more refreshes for small ones


@dataclass(frozen=True, slots=True, eq=False)
class Approximation:
    """A plan by partitions."""

    elements: Elements
    frequency: Floats
    partitions: int

    @property
    def perceived_freshness(self) -> float:
        return float(self.elements.access @ freshness_at(self.elements.change_rate, self.frequency))


def approximate(
    elements: Elements,
    bandwidth: float,
    *,
    by: str = "pf",
    partitions: int = 50,
    iterations: int = 0,
    allocation: Allocation = Allocation.FREQUENCY,
) -> Approximation:
    """A plan from partitions by a key, after some iterations of k-means.

    >>> elements = Elements.of(change_rate=[1, 2, 3, 4, 5], access=[5, 4, 3, 2, 1])
    >>> approximate(elements, 5, partitions=2).frequency.round(3).tolist()
    [2.052, 2.052, 0.299, 0.299, 0.299]
    >>> round(approximate(elements, 5, partitions=5).perceived_freshness, 4)
    0.4995
    """
    labels = partition(elements, by, partitions)
    if iterations:
        labels = improved(elements, labels, iterations)
    return allocate(elements, bandwidth, labels, allocation)


def allocate(elements: Elements, bandwidth: float, labels: Labels, allocation: Allocation) -> Approximation:
    """The plan for some partitions."""
    counts = np.bincount(labels)
    some = counts > 0
    average = _sums(elements.size, labels) / np.maximum(counts, 1)
    small = Elements.of(
        (_sums(elements.change_rate, labels) / np.maximum(counts, 1))[some],
        _sums(elements.access, labels)[some],
        (average * counts)[some],
    )
    often = np.zeros(len(counts))
    often[some] = plan(small, bandwidth).frequency
    shared = often[labels]
    if allocation is Allocation.BANDWIDTH:
        shared *= average[labels] / elements.size
    return Approximation(elements, shared, int(np.count_nonzero(some)))


def _sums(column: Floats, labels: Labels) -> Floats:
    return np.asarray(np.bincount(labels, weights=column), dtype=float)
