"""Random problems, small and nasty."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from headgate.freshness import Elements
from headgate.freshness.curve import Floats
from headgate.freshness.exact import freshness_at

RATES = st.one_of(st.just(0.0), st.just(1.0), st.floats(-12, 12).map(lambda exponent: 10.0**exponent))
ACCESSES = st.one_of(st.just(0.0), st.just(1.0), st.floats(-8, 8).map(lambda exponent: 10.0**exponent))
SIZES = st.one_of(st.just(1.0), st.floats(-6, 6).map(lambda exponent: 10.0**exponent))
BANDWIDTHS = st.floats(-9, 9).map(lambda exponent: 10.0**exponent)


@st.composite
def nasty(draw: st.DrawFn, most: int = 8) -> Elements:
    """Extreme rates, accesses and sizes; elements that never change or are never wanted; equal ones."""
    rows = draw(st.lists(st.tuples(RATES, ACCESSES, SIZES), min_size=1, max_size=most))
    rows += rows[: draw(st.integers(0, len(rows)))]
    rate, access, size = np.array(rows).T
    if not access.any():
        access = np.ones(len(rows))
    return Elements.of(rate, access, size)


def plain(rng: np.random.Generator, count: int) -> Elements:
    """A problem that a general solver can manage."""
    return Elements.of(rng.gamma(2.0, 1.0, count), rng.random(count) + 0.01, rng.uniform(0.3, 3.0, count))


def perceived(elements: Elements, frequency: Floats) -> float:
    return float(elements.access @ freshness_at(elements.change_rate, frequency))
