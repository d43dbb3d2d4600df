"""Workloads with other loads, rates, cores and seeds than their file says."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sim.builders import workload

from headgate.model import HeadgateError
from headgate.sim import simulate
from headgate.sim.feeds import rates
from headgate.sim.load import offered_load, scaled
from headgate.sweep.varied_settings import Vary, varied
from headgate.workload import Workload

QUERIES = {"q1": "select, cost=5ms, selectivity=0.5", "q2": "select, cost=2ms"}


def made(arrivals: str = "poisson, rate=50", **settings: Any) -> Workload:
    return workload(QUERIES, arrivals, duration="2 s", **settings)


@pytest.mark.parametrize("point", [{"load": 0.5}, {"load": 0.5, "cores": 2}, {"load": 0.5, "rate": 10.0}])
def test_a_varied_load_holds_at_the_varied_rate_and_cores(point: dict[str, float]) -> None:
    assert offered_load(scaled(varied(made(), point))) == pytest.approx(0.5)


@pytest.mark.parametrize(("point", "load"), [({"rate": 100.0}, 1.6), ({"cores": 2}, 0.4), ({"seed": 9}, 0.8)])
def test_a_load_of_the_file_holds_at_the_files_rate_and_cores(point: dict[str, float], load: float) -> None:
    assert offered_load(scaled(varied(made(load=0.8), point))) == pytest.approx(load)


@pytest.mark.parametrize(
    "arrivals",
    ["poisson, rate=50", "steps, rates=[20, 60], every=1s", "onoff, rate=7, on=1s", "constant, rate=3, batch=2"],
)
def test_every_stream_has_the_varied_rate(arrivals: str) -> None:
    assert rates(varied(made(arrivals), {"rate": 120.0})) == {"s": pytest.approx(120.0)}


def test_seeds_are_as_the_command_lines() -> None:
    one, other = (simulate(varied(made(), {"seed": seed}), "fcfs") for seed in (1, 2))
    again = simulate(varied(made(), {"seed": 1}), "fcfs")
    assert one.queries[0].emission == again.queries[0].emission != other.queries[0].emission


def test_ends_of_a_range_belong_to_it() -> None:
    assert Vary.parse("load=0.5:1.0:0.05").values[-1] == 1.0
    assert len(Vary.parse("load=0.5:1.0:0.05").values) == 11
    assert Vary.parse("cores=1:8:2").values == (1, 3, 5, 7)


def test_arrivals_without_a_rate_cannot_be_varied() -> None:
    with pytest.raises(HeadgateError, match="stream 's' has no rate"):
        varied(made("at, times=[0]"), {"rate": 5.0})
