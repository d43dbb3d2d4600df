from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import lambertw

from headgate.freshness.curve import freshness, gain, ratio_at_freshness, ratio_at_gain


def test_the_inverse_of_the_gain_is_lamberts() -> None:
    wanted = np.linspace(0.05, 1 - 1e-6, 10_001)
    expected = -1 - lambertw(-(1 - wanted) / np.e, -1).real
    np.testing.assert_allclose(ratio_at_gain(wanted), expected, rtol=1e-13)


@given(st.floats(-30, 0.7).map(lambda exponent: 10.0**exponent))
def test_the_inverse_of_the_gain_loses_no_digits(ratio: float) -> None:
    found = ratio_at_gain(gain(np.array([ratio])))[0]
    assert abs(found / ratio - 1) < 1e-14


def test_the_last_double_below_one() -> None:
    last = np.nextafter(1.0, 0.0)
    assert 40.0 < ratio_at_gain(np.array([last]))[0] < 41.0


def test_the_gain_is_the_slope_of_freshness() -> None:
    rate, often, step = 1.7, np.linspace(0.2, 5.0, 50), 1e-6
    slope = (freshness(rate / (often + step)) - freshness(rate / (often - step))) / (2 * step)
    np.testing.assert_allclose(gain(rate / often) / rate, slope, atol=1e-8)


@given(st.just(0.0) | st.floats(1e-300, 1.0, exclude_max=True))
def test_a_floor_is_met(share: float) -> None:
    assert freshness(ratio_at_freshness(share)) >= share * (1 - 1e-14)
