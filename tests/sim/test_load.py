"""The load that a workload asks for: of what, and by scaling what."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sim.builders import judged, workload

from headgate.model import HeadgateError
from headgate.sim.feeds import rates
from headgate.sim.load import offered_load, scaled
from headgate.workload import LoadBy, LoadOf, Workload


def chain(streams: str = "poisson, rate=100", **head: object) -> Workload:
    operators = ["select, cost=1ms, overhead=2ms, selectivity=0.5", "select, cost=2ms, overhead=1ms"]
    return workload({"q": operators}, streams, run_overhead="3 ms", **head)  # type: ignore[arg-type]


def test_the_capacity_of_carney_leaves_overheads_out() -> None:
    """Section 3.4.1: a capacity of 0.9 asks for 90 % of the time for processing tuples, and fixes the rates by that."""
    asked = chain(load=0.9, load_of="costs", load_by="rates")
    found = scaled(asked)
    assert found.queries == asked.queries
    assert found.run_overhead == 0.003
    assert rates(found)["s"] == pytest.approx(0.9 / 0.002)  # 1 ms, and 2 ms for half of the tuples
    assert offered_load(found, LoadOf.COSTS) == pytest.approx(0.9)
    assert offered_load(found) == pytest.approx(0.9 * (2.0 + 2.5 + 3.0) / 2.0)


@given(st.sampled_from(LoadOf), st.sampled_from(LoadBy), st.floats(0.05, 3.0))
def test_the_load_is_the_one_that_is_asked_for(of: LoadOf, by: LoadBy, load: float) -> None:
    found = scaled(replace(chain(), load=load, load_of=of, load_by=by))
    assert offered_load(found, of) == pytest.approx(load)
    assert (found.queries if by is LoadBy.RATES else found.streams) == (
        chain().queries if by is LoadBy.RATES else chain().streams
    )


@pytest.mark.parametrize("load", [0.01, 0.4, 2.0])
def test_the_load_of_joins_grows_faster_than_their_rates(load: float) -> None:
    join = ["join, from=[s, t], cost=1ms, selectivity=0.1, window=1s", "project, cost=1ms"]
    given_ = workload({"q": {"operators": join}}, dict.fromkeys("st", "poisson, rate=10"), load=load, load_by="rates")
    assert offered_load(scaled(given_)) == pytest.approx(load)


def test_steps_keep_their_times() -> None:
    found = scaled(chain("steps, rates=[100, 300], every=2s", load=1.0, load_of="costs", load_by="rates"))
    assert str(found.streams[0].arrivals) == "steps, rates=[250.0, 750.0], every=2s"


def test_utilisation_is_the_load_and_the_overheads() -> None:
    report = judged(chain("constant, rate=1", load=0.2, load_of="costs", load_by="rates", duration="20 s"), "fcfs")
    assert report.value("utilisation") == pytest.approx(0.2 * 7.5 / 2.0, rel=0.05)


def test_arrivals_without_a_rate_cannot_be_scaled() -> None:
    with pytest.raises(HeadgateError, match="load_by = rates: stream 's' has no rate"):
        scaled(replace(chain("at, times=[0, 1s]"), load=0.5, load_by=LoadBy.RATES, load_of=LoadOf.COSTS))


@pytest.mark.parametrize("key", ["load_of", "load_by"])
def test_other_words_are_refused(key: str) -> None:
    with pytest.raises(HeadgateError, match=key):
        chain(**{key: "overheads"})
