"""Measures over time: a run cut into bins of equal width, every result in the bin of its emission (Al Moakar 2013)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.metrics.records.result_columns import Floats, ResultColumns
from headgate.model import HeadgateError

BIN = 0.1  # seconds
_ROUNDING = 1e-9  # 0.3 / 0.1 is a little less than 3, and yet 0.3 begins the fourth bin


@dataclass(frozen=True, slots=True)
class Bins:
    """`count` bins of `width` seconds from time 0; the last one holds its end too.

    >>> Bins.over(1.0, 0.25).index(np.array([0.0, 0.3, 0.5, 1.0])).tolist()
    [0, 1, 2, 3]
    """

    width: float
    count: int

    @classmethod
    def over(cls, span: float, width: float = BIN) -> Bins:
        """Enough bins to cover a run."""
        if not width > 0:
            raise HeadgateError(f"a bin must be wider than 0 s, found {width:g}", hint="write for example 0.1")
        return cls(width, max(1, math.ceil(span / width - _ROUNDING)))

    @property
    def starts(self) -> Floats:
        return np.arange(self.count, dtype=np.float64) * self.width

    def index(self, times: Floats) -> NDArray[np.int64]:
        position = np.floor(times / self.width + _ROUNDING).astype(np.int64)
        return np.clip(position, 0, self.count - 1)

    def counts(self, times: Floats) -> NDArray[np.int64]:
        """How many of the times fall into each bin."""
        return np.bincount(self.index(times), minlength=self.count)

    def means(self, times: Floats, values: Floats) -> Floats:
        """The mean of the values in each bin, NaN where there are none.

        >>> Bins(1.0, 2).means(np.array([0.1, 0.2, 1.5]), np.array([1.0, 3.0, 5.0])).tolist()
        [2.0, 5.0]
        """
        position = self.index(times)
        counts = np.bincount(position, minlength=self.count)
        sums = np.bincount(position, weights=values, minlength=self.count)
        means = np.full(self.count, np.nan)
        np.divide(sums, counts, out=means, where=counts > 0)
        return means


@dataclass(frozen=True, slots=True, eq=False)
class OverTime:
    """Per bin and class: mean response time (NaN without results), results emitted, and their arrivals."""

    bins: Bins
    response: Mapping[str, Floats]
    results: Mapping[str, NDArray[np.int64]]
    arrivals: Mapping[str, NDArray[np.int64]]


def over_time(classes: Mapping[str, ResultColumns], bins: Bins) -> OverTime:
    """Every class over time.

    >>> classes = {"a": ResultColumns.of([0.0, 0.5], [0.75, 1.5], [0.0, 0.5], 1.0)}
    >>> over_time(classes, Bins.over(2.0, 1.0)).response["a"].tolist()
    [0.75, 1.0]
    """
    return OverTime(
        bins,
        {name: bins.means(columns.emission, columns.response) for name, columns in classes.items()},
        {name: bins.counts(columns.emission) for name, columns in classes.items()},
        {name: bins.counts(columns.arrival) for name, columns in classes.items()},
    )
