from __future__ import annotations

import math

import numpy as np
import pytest

from headgate.sim.arrivals import Times, arrivals
from headgate.spark.ingest.synthetic.timetable import Timetable

ENDLESS = [
    "constant, rate=50",
    "poisson, rate=50",
    "onoff, rate=50, on=1s, off=1s, shape=3",
    "onoff, rate=50, on=1s, off=1s, shape=3, sources=4",
    "steps, rates=[20, 80], every=3s",
    "steps, rates=[0, 150, 0], every=700ms, kind=constant",
]


def table(text: str, seed: int = 1) -> Timetable:
    return Timetable(arrivals(text), np.random.default_rng(seed))


def taken(text: str, until: float, seed: int = 1) -> Times:
    return table(text, seed).until(until)


@pytest.mark.parametrize("text", ENDLESS)
def test_times_rise_and_have_the_rate(text: str) -> None:
    times = taken(text, 400.0)
    assert np.all(np.diff(times) >= 0)
    assert 0.0 <= times[0] <= times[-1] <= 400.0
    assert len(times) == pytest.approx(20_000, rel=0.15)


@pytest.mark.parametrize("text", ENDLESS)
def test_how_it_is_cut_does_not_matter(text: str) -> None:
    cut = table(text)
    blocks = [cut.until(moment, 7) for moment in np.linspace(0.0, 30.0, 500)]
    blocks.append(cut.until(30.0))
    assert np.array_equal(np.concatenate(blocks), taken(text, 30.0))


@pytest.mark.parametrize(
    "text", ["constant, rate=0.3, start=2s", "steps, rates=[2, 5, 0], at=[0, 3s, 7s], kind=constant"]
)
def test_even_arrivals_are_the_simulators(text: str) -> None:
    times = arrivals(text).times(95.0, np.random.default_rng(1))
    moments = taken(text, 95.0)
    assert moments[moments < 95.0 - 1e-9] == pytest.approx(times)


def test_finite_arrivals_end() -> None:
    moments = table("at, times=[1s, 0, 2s], batch=2")
    assert moments.until(1.5).tolist() == [0.0, 0.0, 1.0, 1.0]
    assert moments.next == 2.0
    assert len(moments.until(math.inf)) == 2
    assert moments.next == math.inf


def test_no_rate_at_all_means_no_arrival() -> None:
    assert table("steps, rates=[0, 0], every=1s").next == math.inf


def test_a_slow_process_is_not_searched_for_ever() -> None:
    assert table("poisson, rate=0.0000001").next > 0.0


@pytest.mark.parametrize(
    "text",
    [
        "constant, rate=1e12",
        "poisson, rate=1e12",
        "onoff, rate=1e12, on=1s, off=1s, shape=3",
        "onoff, rate=1e12, on=1s, off=1s, shape=3, sources=4",
        "steps, rates=[1e12, 2e12], every=3s",
        "poisson, rate=1e6, batch=1000000",
    ],
)
def test_a_huge_rate_is_made_in_blocks_that_fit_into_memory(text: str) -> None:
    moments = table(text)
    assert len(moments.until(1.0, 2000)) == 2000
    assert moments.next < 0.5
