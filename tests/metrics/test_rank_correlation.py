"""Spearman's rank correlation."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.metrics.measures.rank_correlation import rank_correlation

VALUES = st.lists(st.integers(0, 20).map(float), min_size=2, max_size=12)


@given(VALUES)
def test_only_the_order_counts(values: list[float]) -> None:
    grown = [value**3 + 7 for value in values]
    expected = None if len(set(values)) == 1 else pytest.approx(1.0)
    assert rank_correlation(values, grown) == expected
    assert rank_correlation(values, [-value for value in grown]) == (None if expected is None else pytest.approx(-1.0))


@given(VALUES, st.randoms(use_true_random=False))
def test_it_is_between_minus_one_and_one_and_the_same_both_ways(values: list[float], random: object) -> None:
    others = list(values)
    random.shuffle(others)  # type: ignore[attr-defined]
    found = rank_correlation(values, others)
    assert found is None or -1.0 - 1e-9 <= found <= 1.0 + 1e-9
    assert found == rank_correlation(others, values)


def test_without_ties_it_is_the_formula_of_the_squared_differences() -> None:
    """1 − 6 Σ d² / (n (n² − 1)), for every order of five; their mean is 0."""
    found = []
    for order in permutations(range(5)):
        squares = sum((place - other) ** 2 for place, other in enumerate(order))
        found.append(rank_correlation(list(range(5)), list(order)))
        assert found[-1] == pytest.approx(1 - 6 * squares / (5 * 24))
    assert np.mean(found) == pytest.approx(0.0)


def test_no_order_has_no_correlation() -> None:
    assert rank_correlation([], []) is None
    assert rank_correlation([1.0], [2.0]) is None
    assert rank_correlation([1.0, 1.0], [1.0, 2.0]) is None


def test_lists_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="2 values and 1 values"):
        rank_correlation([1.0, 2.0], [1.0])
