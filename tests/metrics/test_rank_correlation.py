"""Spearman's rank correlation."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.metrics.measures.rank_correlation import rank_correlation

VALUES = st.lists(st.integers(0, 20).map(float), min_size=2, max_size=12)


@given(VALUES)
def test_only_the_order_counts(values: list[float]) -> None:
    grown = [value**3 + 7 for value in values]
    same, opposite = rank_correlation(values, grown), rank_correlation(values, [-value for value in grown])
    if len(set(values)) == 1:
        assert (same, opposite) == (None, None)
    else:
        assert [same, opposite] == pytest.approx([1.0, -1.0])


@given(VALUES.flatmap(lambda values: st.tuples(st.just(values), st.permutations(values))))
def test_it_is_between_minus_one_and_one_and_the_same_both_ways(both: tuple[list[float], list[float]]) -> None:
    values, others = both
    found = rank_correlation(values, others)
    assert found is None or -1.0 - 1e-9 <= found <= 1.0 + 1e-9
    assert found == rank_correlation(others, values)


def test_without_ties_it_is_the_formula_of_the_squared_differences() -> None:
    """1 − 6 Σ d² / (n (n² − 1)), for every order of five."""
    for order in permutations(range(5)):
        squares = sum((place - other) ** 2 for place, other in enumerate(order))
        assert rank_correlation(list(range(5)), list(order)) == pytest.approx(1 - 6 * squares / (5 * 24))


def test_no_order_has_no_correlation() -> None:
    assert rank_correlation([], []) is None
    assert rank_correlation([1.0], [2.0]) is None
    assert rank_correlation([1.0, 1.0], [1.0, 2.0]) is None


def test_lists_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="2 values and 1 values"):
        rank_correlation([1.0, 2.0], [1.0])
