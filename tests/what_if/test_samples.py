"""Which recorded run stands for a replayed one."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from headgate.what_if.samples import AROUND, NEAR, Sample, Samples, _place

SIZES = st.tuples(st.floats(0, 1e5), st.floats(0, 1e5))


@given(
    runs=st.lists(st.tuples(st.floats(0, 100), SIZES), min_size=1, max_size=AROUND),
    now=st.floats(0, 100),
    sizes=SIZES,
    seed=st.integers(0, 99),
)
def test_one_of_the_nearest_is_drawn(
    runs: list[tuple[float, tuple[float, float]]], now: float, sizes: tuple[float, float], seed: int
) -> None:
    samples = Samples.of(Sample(began, theirs, 1.0) for began, theirs in runs)

    def apart(sample: Sample) -> float:
        places = zip(_place(sample.sizes, sample.began), _place(sizes, now), strict=True)
        return sum(abs(one - other) for one, other in places)

    drawn = samples.like(now, sizes, random.Random(seed))
    nearer = [sample for sample in samples.runs if apart(sample) < apart(drawn) - 1e-9]
    assert drawn in samples.runs
    assert len(nearer) < NEAR


def test_a_join_without_tuples_on_one_side_is_like_those_without() -> None:
    runs = [Sample(0.1 * n, (100.0, float(n % 3 == 0)), off=1.0 if n % 3 == 0 else 0.1) for n in range(300)]
    samples, dice = Samples.of(runs), random.Random(1)
    assert {samples.like(15.0, (100.0, 0.0), dice).off for _ in range(50)} == {0.1}
    assert {samples.like(15.0, (100.0, 2.0), dice).off for _ in range(50)} == {1.0}
