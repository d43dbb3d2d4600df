"""Elements sorted into partitions, and partitions improved by k-means (Carney 2005, sections 2.3.1 and 2.4.1.3)."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from headgate.freshness.curve import Floats, freshness
from headgate.freshness.elements import Elements
from headgate.model import HeadgateError, unknown

Labels = NDArray[np.intp]
CHUNK = 16_384  # elements whose distances to all means are held at once


def _by_ratio(elements: Elements) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(elements.access / elements.change_rate, nan=0.0, posinf=np.inf)


def _by_freshness(elements: Elements) -> Floats:
    return elements.access * freshness(elements.change_rate)


def _by_sized_freshness(elements: Elements) -> Floats:
    return elements.access * freshness(elements.change_rate * elements.size)


KEYS: MappingProxyType[str, Callable[[Elements], Floats]] = MappingProxyType(
    {
        "p": lambda elements: elements.access,
        "lambda": lambda elements: elements.change_rate,
        "p/lambda": _by_ratio,
        "pf": _by_freshness,  # perceived freshness at one refresh a period
        "pfs": _by_sized_freshness,  # … at the refreshes that one unit of bandwidth pays
        "size": lambda elements: elements.size,
    }
)


def partition(elements: Elements, by: str, partitions: int) -> Labels:
    """The partition of each element: sorted by a key, cut into runs of equal length.

    >>> partition(Elements.of([1, 9, 5, 3], [1, 1, 1, 1]), by="lambda", partitions=2).tolist()
    [0, 1, 1, 0]
    """
    if by not in KEYS:
        raise unknown("partitioning", by, KEYS)
    if partitions < 1:
        raise HeadgateError(f"there must be at least 1 partition, found {partitions}", hint="write for example 50")
    count = len(elements)
    labels = np.empty(count, dtype=np.intp)
    order = np.argsort(KEYS[by](elements), kind="stable")
    labels[order] = np.arange(count) * min(partitions, count) // count
    return labels


def improved(elements: Elements, labels: Labels, iterations: int) -> Labels:
    """Partitions after some iterations of k-means on p, λ and s, each scaled to the sum 1 (equation 2.3, footnote 6).

    A partition that loses all its elements disappears.
    """
    points = np.column_stack([_scaled(elements.access), _scaled(elements.change_rate), _scaled(elements.size)])
    points /= points.max()  # the same order of distances, without denormal squares
    for _ in range(iterations):
        moved = _nearest(points, _means(points, labels))
        if np.array_equal(moved, labels):
            break
        labels = moved
    return labels


def _scaled(column: Floats) -> Floats:
    total = column.sum()
    return column / total if total else column


def _means(points: Floats, labels: Labels) -> Floats:
    counts = np.bincount(labels)
    sums = np.column_stack([np.bincount(labels, weights=column) for column in points.T])
    return sums[counts > 0] / counts[counts > 0, None]


def _nearest(points: Floats, means: Floats) -> Labels:
    """|x − m|² without |x|², which is the same for all means."""
    nearest = np.empty(len(points), dtype=np.intp)
    lengths = (means * means).sum(axis=1)
    for begin in range(0, len(points), CHUNK):
        part = points[begin : begin + CHUNK]
        nearest[begin : begin + CHUNK] = (lengths - 2.0 * part @ means.T).argmin(axis=1)
    return nearest
