"""Throughput: results per second, and how evenly they come (Pajjuri 2004)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headgate.metrics.measures.over_time import Bins
from headgate.metrics.records.result_columns import Floats


@dataclass(frozen=True, slots=True)
class Throughput:
    """Mean results per second; standard deviation of the counts of the run's whole seconds."""

    mean: float | None = None
    deviation: float | None = None


def summarise(emission: Floats, span: float) -> Throughput:
    """The throughput of a run that took `span` seconds.

    >>> import numpy as np
    >>> summarise(np.array([0.5, 1.25, 1.5, 1.75]), 2.0)
    Throughput(mean=2.0, deviation=1.0)
    """
    if span <= 0:
        return Throughput()
    return Throughput(len(emission) / span, _deviation(emission, span))


def _deviation(emission: Floats, span: float) -> float | None:
    whole = math.floor(span + 1e-9)
    if whole == 0:
        return None
    counted = emission[emission <= whole]  # what is left of a last, shorter second would look like a lull
    return float(Bins(1.0, whole).counts(counted).std())
