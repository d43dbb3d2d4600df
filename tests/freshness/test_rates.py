from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.freshness.rates import Histories, estimate
from headgate.model import HeadgateError


@given(st.integers(1, 60), st.data(), st.floats(0.01, 100.0))
@settings(deadline=None)
def test_regular_visits_have_a_closed_form(visits: int, data: st.DataObject, gap: float) -> None:
    changes = data.draw(st.integers(0, visits))
    found = estimate(Histories.of([0] * visits, [gap] * visits, [1] * changes + [0] * (visits - changes)))
    expected = -np.log((visits - changes + 0.5) / (visits + 0.5)) / gap
    assert found.rate[0] == pytest.approx(expected, rel=1e-9)
    assert found.low[0] <= found.rate[0] <= found.high[0]


def test_no_changes_and_nothing_but_changes() -> None:
    found = estimate(Histories.of([0, 0, 1, 1], [1, 2, 1, 2], [0, 0, 1, 1], count=3))
    assert (found.rate[0], found.low[0]) == (0.0, 0.0)
    assert found.high[0] == pytest.approx(3.8414588 / 2 / 3)
    assert np.isfinite(found.rate[1])
    assert found.low[1] > 0
    assert np.isinf(found.high[1])
    assert np.isnan(found.rate[2])
    assert (found.low[2], found.high[2], found.visits[2]) == (0.0, np.inf, 0)


def test_irregular_visits_find_the_rate_and_intervals_cover_it() -> None:
    rng = np.random.default_rng(3)
    elements, visits = 400, 60
    rates = rng.gamma(2.0, 0.5, elements)
    which = np.repeat(np.arange(elements), visits)
    gaps = rng.exponential(1.0, len(which)) + 0.05
    changed = rng.random(len(which)) < -np.expm1(-rates[which] * gaps)
    found = estimate(Histories.of(which, gaps, changed))
    covered = np.mean((found.low <= rates) & (rates <= found.high))
    assert 0.92 < covered < 0.98
    assert np.mean(found.rate / rates) == pytest.approx(1.0, abs=0.1)
    assert np.corrcoef(found.rate, rates)[0, 1] > 0.9


def test_gaps_must_be_positive() -> None:
    with pytest.raises(HeadgateError, match="not positive"):
        Histories.of([0], [0.0], [True])
