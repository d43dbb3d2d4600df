from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.freshness import Elements, plan
from headgate.freshness.moved import fixed_share, respond
from headgate.freshness.setups import Setup
from headgate.freshness.timetable import Timetable, paced
from headgate.model import HeadgateError

from .problems import perceived

OFTEN = st.lists(st.one_of(st.just(0.0), st.just(1.0), st.floats(0.01, 20.0)), min_size=1, max_size=12)


@settings(deadline=None)
@given(OFTEN, st.floats(0.5, 20.0))
def test_every_element_comes_at_equal_distances(often: list[float], end: float) -> None:
    times, which = Timetable.of(often).between(0.0, end)
    assert np.all(np.diff(times) >= 0)
    for element, frequency in enumerate(often):
        own = times[which == element]
        assert abs(len(own) - frequency * end) <= 1
        if len(own) > 1:
            np.testing.assert_allclose(np.diff(own), 1 / frequency, rtol=1e-6)


@settings(deadline=None)
@given(OFTEN, st.lists(st.floats(0.0, 10.0), min_size=2, max_size=6))
def test_parts_make_the_whole(often: list[float], cuts: list[float]) -> None:
    table = Timetable.of(often)
    edges = sorted({0.0, *cuts, 10.0})
    parts = [visit for begin, end in pairwise(edges) for visit in table.until(end, begin)]
    assert parts == list(table.until(10.0))


def test_the_work_is_spread_evenly() -> None:
    setup = Setup(objects=5_000, updates=10_000, syncs=2_500)
    found = plan(setup.elements(), setup.syncs)
    times, which = Timetable.of(found.frequency).between(0.0, 10.0)
    begins = paced(times, np.ones(len(which)), setup.syncs)
    counts = np.histogram(begins, bins=500, range=(0.0, 10.0))[0]
    assert counts.max() <= 51
    assert counts.min() >= 40
    assert np.max(begins - times) < 0.02  # of a period, where most elements wait for more than half of one


def test_iteration_does_not_end() -> None:
    visits = list(islice(Timetable.of([3.0, 0.5]), 1000))
    assert visits[-1].time > 250
    assert list(Timetable.of([0.0])) == []


def test_frequencies_are_checked() -> None:
    with pytest.raises(HeadgateError, match="negative or missing in row 2"):
        Timetable.of([1.0, -1.0])


def test_the_split_goes_where_it_gives_most() -> None:
    before = Setup(objects=200, updates=400, syncs=100).elements()
    rng = np.random.default_rng(1)
    rates, access = before.change_rate.copy(), before.access.copy()
    hot = rng.choice(200, 20, replace=False)
    access[hot] *= 30
    now = Elements.of(rates, access, before.size)
    fixed = plan(before, fixed_share(100, 0.1)).frequency
    found = respond(before, now, fixed, 100, split=0.1)
    assert float(now.size @ found.extra) == pytest.approx(10.0)
    assert found.gain > 0
    even = np.zeros(200)
    even[hot] = 10.0 / 20
    assert perceived(now, fixed + found.extra) > perceived(now, fixed + even)
    assert perceived(now, fixed + found.extra) > perceived(now, plan(before, 100).frequency)


def test_what_has_not_moved_gets_nothing() -> None:
    elements = Setup(objects=50, updates=100, syncs=25).elements()
    found = respond(elements, elements, plan(elements, 20).frequency, 25)
    assert (len(found.rows), found.extra.sum(), found.gain) == (0, 0.0, 0.0)


def test_a_wrong_split() -> None:
    with pytest.raises(HeadgateError, match="split must be a share below 1"):
        fixed_share(10, 1.0)
