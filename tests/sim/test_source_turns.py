"""Source cores that go from source to source, by round robin or by the schedule of `mbd`."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sim.builders import results, workload

from headgate.model import HeadgateError
from headgate.sim import simulate
from headgate.sim.feeds import Delivery, Feeds
from headgate.sim.source_turns import cycle
from headgate.workload import Workload


def two(sources: str, x: str = "at, times=[0, 1ms, 25ms]", y: str = "at, times=[0]", **head: Any) -> Workload:
    """Two sources of 10 ms a tuple; that of class `gold` is x."""
    streams = {name: {"arrivals": text, "source_cost": "10 ms"} for name, text in (("x", x), ("y", y))}
    queries = {
        "p": {"operators": ["select, from=x, cost=1ms"], "class": "gold"},
        "q": {"operators": ["select, from=y, cost=1ms"], "class": "tin"},
    }
    order: dict[str, Any] = {"sources": sources} if sources else {}
    return workload(queries, streams, classes={"gold": 3, "tin": 1}, **order, **head)


def deliveries(given: Workload) -> list[Delivery]:
    return Feeds.of(given).deliveries


def test_a_turn_reads_all_that_has_come() -> None:
    """x has one tuple at 0, y one; when x is next, at 20 ms, its second one is there, and at 30 ms the third."""
    found = [(delivery.stream, round(delivery.at, 6)) for delivery in deliveries(two("rr"))]
    assert found == [("x", 0.01), ("y", 0.02), ("x", 0.03), ("x", 0.04)]


def test_a_turn_has_an_overhead() -> None:
    """1 ms before what there is at the beginning of each turn: of x one tuple at 0, then both others at 32 ms."""
    made = two("rr", x="at, times=[0, 1ms, 21ms]")
    streams = tuple(replace(stream, source_overhead=0.001) for stream in made.streams)
    found = [(delivery.stream, round(delivery.at, 6)) for delivery in deliveries(replace(made, streams=streams))]
    assert found == [("x", 0.011), ("y", 0.022), ("x", 0.033), ("x", 0.043)]


def test_the_schedule_of_mbd_has_a_source_as_often_as_its_class_is_worth() -> None:
    assert cycle(two("rr")) == ["x", "y"]
    assert cycle(two("mbd")) == ["x", "x", "y", "x"]


def test_two_cores_do_not_read_one_source_at_once() -> None:
    found = deliveries(two("rr", x="at, times=[0, 0, 5ms]", source_cores=2))
    of_x = [delivery.at for delivery in found if delivery.stream == "x"]
    assert of_x == pytest.approx([0.01, 0.02, 0.03])
    assert [delivery.at for delivery in found if delivery.stream == "y"] == pytest.approx([0.01])


Arrivals = st.sampled_from(["poisson, rate=40", "constant, rate=30", "onoff, rate=40, on=100ms, off=200ms"])


@given(st.sampled_from(["rr", "mbd"]), Arrivals, Arrivals, st.integers(1, 3))
def test_every_tuple_is_read_once_and_no_sooner_than_it_came(order: str, x: str, y: str, cores: int) -> None:
    made = two(order, x, y, source_cores=cores, duration="1 s")
    found = deliveries(made)
    for name, arrivals in Feeds.of(made).times.items():
        own = [delivery for delivery in found if delivery.stream == name]
        assert [delivery.arrival for delivery in own] == arrivals.tolist()
        assert all(delivery.at >= delivery.arrival + 0.01 - 1e-9 for delivery in own)
        assert all(after.at >= before.at + 0.01 - 1e-9 for before, after in pairwise(own))
    assert results(simulate(made, "fcfs")) == results(simulate(two("", x, y, duration="1 s"), "fcfs"))


def test_an_idle_core_reads_at_once() -> None:
    found = deliveries(two("rr", x="at, times=[0, 100ms]", y="at, times=[50ms]"))
    assert [delivery.at for delivery in found] == pytest.approx([0.01, 0.06, 0.11])


@pytest.mark.parametrize(("order", "cores"), [("last", 1), ("rr", 0), ("mbd", 0)])
def test_an_order_needs_its_cores(order: str, cores: int) -> None:
    with pytest.raises(HeadgateError, match="is an order with"):
        two(order, source_cores=cores)
