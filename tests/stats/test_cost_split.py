"""How the duration of a run is split over its queries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.stats.cost_split import RESULT, split

counts = st.integers(0, 10**6)
works = st.lists(st.tuples(counts, counts), min_size=1, max_size=6)
spans = st.floats(0.0, 100.0)


@given(seconds=spans, overhead=spans, work=works)
def test_the_shares_add_up_unless_only_the_overhead_can_be_split(
    seconds: float, overhead: float, work: list[tuple[int, int]]
) -> None:
    shares = split(seconds, overhead, work)
    expected = seconds if any(map(sum, work)) else min(seconds, overhead)
    assert sum(shares) == pytest.approx(expected)
    assert min(shares) >= min(seconds, overhead) / len(work) * (1 - 1e-9)


@given(seconds=spans, overhead=spans, work=works, more=st.integers(1, 1000))
def test_more_work_is_never_cheaper(seconds: float, overhead: float, work: list[tuple[int, int]], more: int) -> None:
    (tuples, results), *others = work
    before = split(seconds, overhead, work)[0]
    assert split(seconds, overhead, [(tuples + more, results), *others])[0] >= before - 1e-9
    assert split(seconds, overhead, [(tuples, results + more), *others])[0] >= before - 1e-9


@given(seconds=spans, overhead=spans, work=works)
def test_a_result_weighs_as_much_as_some_tuples(seconds: float, overhead: float, work: list[tuple[int, int]]) -> None:
    as_tuples = [(tuples + round(RESULT) * results, 0) for tuples, results in work]
    assert split(seconds, overhead, work) == pytest.approx(split(seconds, overhead, as_tuples))
