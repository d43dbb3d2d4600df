from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.freshness.problems import BANDWIDTHS, nasty

from headgate.freshness import Elements, plan
from headgate.freshness.heuristics import Allocation, approximate
from headgate.freshness.partitions import KEYS, improved, partition
from headgate.freshness.setups import Alignment, Setup
from headgate.model import HeadgateError


@settings(max_examples=150, deadline=None)
@given(
    nasty(),
    BANDWIDTHS,
    st.sampled_from(sorted(KEYS)),
    st.integers(1, 10),
    st.integers(0, 3),
    st.sampled_from(Allocation),
)
def test_no_heuristic_beats_the_optimum(
    elements: Elements, bandwidth: float, by: str, partitions: int, iterations: int, allocation: Allocation
) -> None:
    found = approximate(elements, bandwidth, by=by, partitions=partitions, iterations=iterations, allocation=allocation)
    assert float(elements.size @ found.frequency) <= bandwidth * (1 + 1e-9)
    assert found.perceived_freshness <= plan(elements, bandwidth).perceived_freshness * (1 + 1e-9)


@pytest.mark.parametrize("by", KEYS)
@pytest.mark.parametrize("allocation", Allocation)
def test_one_partition_for_each_element_is_exact(by: str, allocation: Allocation) -> None:
    setup = Setup(objects=60, updates=120, syncs=30, pareto=1.5)
    elements = setup.elements()
    found = approximate(elements, 30, by=by, partitions=60, allocation=allocation)
    np.testing.assert_allclose(found.frequency, plan(elements, 30).frequency, atol=1e-9)


def test_partitions_have_equal_lengths() -> None:
    elements = Setup(objects=103).elements()
    counts = np.bincount(partition(elements, "pf", 10))
    assert (len(counts), counts.sum(), counts.max() - counts.min()) == (10, 103, 1)


def test_kmeans_improves_partitions() -> None:
    elements = Setup(objects=5_000, updates=10_000, syncs=2_500, deviation=2.0).elements()
    shares = [approximate(elements, 2_500, partitions=20, iterations=n).perceived_freshness for n in (0, 3, 10)]
    assert shares[0] < shares[1] < shares[2] < plan(elements, 2_500).perceived_freshness


def test_kmeans_moves_to_the_nearest_mean() -> None:
    elements = Elements.of([1.0, 1.1, 5.0, 5.1], [1, 1, 1, 1])
    assert improved(elements, np.array([0, 1, 0, 1]), 5).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])


def test_bandwidth_allocation_gives_small_elements_more() -> None:
    elements = Elements.of([1, 1], [1, 1], [1, 3])
    assert approximate(elements, 4, partitions=1).frequency == pytest.approx([1.0, 1.0])
    fba = approximate(elements, 4, partitions=1, allocation=Allocation.BANDWIDTH)
    assert fba.frequency == pytest.approx([2.0, 2 / 3])


def test_an_unknown_key_is_named() -> None:
    with pytest.raises(HeadgateError, match="unknown partitioning 'pg'; did you mean"):
        partition(Elements.of([1], [1]), "pg", 1)
    with pytest.raises(HeadgateError, match="at least 1 partition"):
        partition(Elements.of([1], [1]), "p", 0)


@pytest.mark.parametrize("alignment", Alignment)
def test_setups_have_the_documents_totals(alignment: Alignment) -> None:
    elements = Setup(changes=alignment, pareto=1.2, sizes=alignment).elements()
    assert elements.change_rate.sum() == pytest.approx(1000)
    assert elements.change_rate.std() == pytest.approx(1.0, abs=0.1)
    assert elements.size.mean() == pytest.approx(1.0)
    falls = {Alignment.ALIGNED: -1.0, Alignment.REVERSE: 1.0}.get(alignment)
    if falls:
        assert np.all(np.diff(elements.change_rate) * falls >= 0)
