"""What several experiments read off their curves."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from headgate.reproduction import Sample


def holds_until(curve: Mapping[float, Sample], level: float) -> float:
    """Up to where a curve stays above a level, in between as if it were straight; its last place if it always does.

    >>> curve = {100.0: Sample.of(1.0), 200.0: Sample.of(0.9), 300.0: Sample.of(0.7)}
    >>> holds_until(curve, 0.8), holds_until(curve, 0.5), holds_until(curve, 1.5)
    (250.0, 300.0, 100.0)
    """
    places = sorted(curve)
    if curve[places[0]].mean < level:
        return places[0]
    for left, right in pairwise(places):
        above, below = curve[left].mean, curve[right].mean
        if below < level:
            return left + (right - left) * (above - level) / (above - below)
    return places[-1]


def stays_below(curve: Mapping[float, Sample], level: float) -> float:
    """Up to where a curve stays below a level.

    >>> stays_below({0.5: Sample.of(1.0), 1.0: Sample.of(3.0)}, 2.0)
    0.75
    """
    return holds_until({place: 0.0 - sample for place, sample in curve.items()}, -level)


def in_all(curve: Mapping[float, Sample], streams: int) -> dict[float, Sample]:
    """A curve over the rate of all streams together, from one over the rate of each."""
    return {rate * streams: sample for rate, sample in curve.items()}
