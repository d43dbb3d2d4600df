"""How long results took, from the tuple that completed them to their commit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headgate.spark.machine.lifecycle import Life
from headgate.spark.machine.recent_results import Floats
from headgate.spark.machine.tasks import PortionResult

TOGETHER = 20_000  # results at most whose times share an array: whoever keeps some of them keeps it all
_NONE: Floats = np.empty(0)


def response_times(lives: Sequence[Life], results: Sequence[PortionResult], at: float) -> list[Floats]:
    """For each query, those of its results that were committed at a moment.

    A query has let no tuple wait before it was added. What a run gave to a thousand queries is computed together.
    """
    arrivals: list[Floats] = [result.arrivals if result.count else _NONE for result in results]
    sizes = [len(own) for own in arrivals]
    if len(sizes) == 1 or sum(sizes) > TOGETHER:
        return [_took(own, life.added, at) for own, life in zip(arrivals, lives, strict=True)]
    added = np.repeat([life.added for life in lives], sizes)
    took = _took(np.concatenate(arrivals), added, at)
    ends = np.cumsum(sizes).tolist()
    return [took[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def _took(arrivals: Floats, added: Floats | float, at: float) -> Floats:
    took: Floats = np.maximum(0.0, at - np.maximum(arrivals, added))
    return took
