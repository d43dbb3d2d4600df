"""What aggregates, unions, excepts, splits and table joins give."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sim.builders import counts, traced, workload

from headgate.model import Aggregate, Source, Window
from headgate.sim import Simulation, simulate
from headgate.sim.operators import SimulatedTuple, WindowAggregate

POLICIES = ["fcfs", "fcfs, train=all", "hr, level=operator", "rr", "mtiq, train=all", "path-capacity"]


def closings(arrivals: list[float], window: Window) -> list[float]:
    """When each window that has a tuple is closed: at the first tuple at or after its end."""
    numbers = range(-int(window.panes) - 1, int(arrivals[-1] / window.slide) + 1)
    found = []
    for number in numbers:
        start, end = number * window.slide, number * window.slide + window.size
        inside = any(start <= arrival < end for arrival in arrivals)
        closing = next((arrival for arrival in arrivals if arrival >= end), None)
        if inside and closing is not None:
            found.append(closing)
    return sorted(found)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("size", "slide"), [(0.5, 0.5), (1.0, 0.25), (0.75, 0.5), (2.0, 2.0)])
def test_every_window_emits_once_with_the_tuple_that_closes_it(policy: str, size: float, slide: float) -> None:
    operators = ["project, cost=3ms", f"aggregate, cost=5ms, window={size}s, slide={slide}s"]
    simulation = Simulation(workload({"q": operators}, "onoff, rate=20, on=300ms, off=900ms"), policy)
    expected = closings(list(simulation.feeds.times["s"]), Window(size, slide))
    assert sorted(simulation.run().queries[0].arrival) == expected


@pytest.mark.parametrize("slide", [0.1, 0.2, 0.3, 0.7, 1 / 3])
def test_a_tuple_on_the_border_belongs_to_one_of_two_windows(slide: float) -> None:
    operator = Aggregate(inputs=(Source("s"),), window=Window(slide))
    effect = WindowAggregate(operator, key=1)
    moments = [number * slide for number in range(500)]
    found = [effect.results(SimulatedTuple(0, moment, moment), 0) for moment in moments]
    assert [len(each) for each in found] == [0] + [1] * 499


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=40), st.sampled_from([(1.0, 1.0), (1.0, 0.5), (0.7, 0.4)]))
def test_tuples_in_any_order_never_close_a_window_twice(ticks: list[int], cut: tuple[float, float]) -> None:
    """A tuple that comes after its window has closed is late and opens nothing."""
    effect = WindowAggregate(Aggregate(inputs=(Source("s"),), window=Window(*cut)), key=1)
    found = [result for tick in ticks for result in effect.results(SimulatedTuple(0, tick / 8, tick / 8), 0)]
    assert len({result.identity for result in found}) == len(found)


def test_a_share_of_a_window_leaves_with_it() -> None:
    given = workload({"q": "aggregate, cost=1ms, window=1s, selectivity=0.3"}, "constant, rate=20", duration="5 s")
    assert counts(simulate(given, "fcfs")) == {"q": 4 * 6}
    given = workload({"q": "aggregate, cost=1ms, window=1s, selectivity=0.01"}, "constant, rate=20", duration="5 s")
    assert counts(simulate(given, "fcfs")) == {"q": 4}


@pytest.mark.parametrize("policy", POLICIES)
def test_union_gives_all_tuples_of_all_inputs(policy: str) -> None:
    operators = ["select, from=a, as=x, cost=2ms", "union, from=[x, b, c], cost=1ms"]
    streams = {"a": "poisson, rate=20", "b": "poisson, rate=10", "c": "constant, rate=5"}
    records = simulate(workload({"q": operators}, streams), policy)
    assert counts(records)["q"] == sum(records.tuples_in.values())


def test_behind_a_union_tuples_of_equal_offsets_are_drawn_apart() -> None:
    streams = {"a": "constant, rate=100", "b": "constant, rate=100"}
    operators = ["union, from=[a, b], cost=1us", "select, cost=1us, selectivity=0.5"]
    query = simulate(workload({"q": operators}, streams), "fcfs").queries[0]
    alone = sum(query.arrival.count(arrival) == 1 for arrival in set(query.arrival))
    assert 300 < alone < 700  # of a thousand moments, half have one of two


@pytest.mark.parametrize("policy", POLICIES)
def test_except_takes_from_the_left_only(policy: str) -> None:
    streams = {"a": "poisson, rate=20", "b": "poisson, rate=50"}
    records = simulate(workload({"q": "except, from=[a, b], cost=1ms, window=1s"}, streams), policy)
    assert counts(records)["q"] == records.tuples_in["a"]
    half = "except, from=[a, b], cost=1ms, window=1s, selectivity=0.5"
    records = simulate(workload({"q": half}, streams), policy)
    assert 0.35 < counts(records)["q"] / records.tuples_in["a"] < 0.65


@pytest.mark.parametrize("policy", POLICIES)
def test_split_hands_every_tuple_to_every_consumer(policy: str) -> None:
    operators = [
        "split, from=s, as=both, cost=1ms",
        "select, from=both, as=x, cost=1ms, pass=[true, false]",
        "project, from=both, as=y, cost=2ms",
        "union, from=[x, y], cost=1ms",
    ]
    records = simulate(workload({"q": operators}, "constant, rate=20"), policy)
    assert counts(records)["q"] == 200 * 3 // 2


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("copies", [0.0, 1.0, 2.0, 3.0])
def test_table_join_gives_that_many_for_each(policy: str, copies: float) -> None:
    operators = [f"table-join, cost=1ms, selectivity={copies}", "project, cost=100us"]
    assert counts(simulate(workload({"q": operators}), policy))["q"] == copies * 100


def test_table_join_gives_a_fraction_by_chance() -> None:
    given = workload({"q": "table-join, cost=1us, selectivity=2.5"}, "constant, rate=1000")
    records = simulate(given, "hr")
    assert counts(records)["q"] / 10_000 == pytest.approx(2.5, rel=0.02)
    assert {records.queries[0].arrival.count(arrival) for arrival in records.queries[0].arrival[:500]} == {2, 3}


def test_what_a_table_join_multiplies_is_drawn_one_by_one() -> None:
    operators = ["table-join, cost=1us, selectivity=4.0", "select, cost=1us, selectivity=0.5"]
    records = simulate(workload({"q": operators}, "constant, rate=500"), "hr")
    assert counts(records)["q"] == pytest.approx(2 * 5000, rel=0.05)
    assert {records.queries[0].arrival.count(arrival) for arrival in set(records.queries[0].arrival)} == {1, 2, 3, 4}


def test_one_attribute_decides_alike_everywhere() -> None:
    queries = {f"q{share}": f"select, cost=1ms, selectivity=0.{share}, attribute=temp" for share in (2, 5, 8)}
    records = simulate(workload(queries, "constant, rate=40"), "fcfs")
    few, half, most = (set(query.arrival) for query in records.queries)
    assert few < half < most


def test_a_quick_run_gives_what_a_watched_one_gives() -> None:
    """Without a trace, runs of one tuple through a chain take a shorter way."""
    queries = {
        "a": ["select, cost=1ms, selectivity=0.4", "table-join, cost=2ms, selectivity=0.9", "project, cost=1ms"],
        "b": ["select, cost=3ms, overhead=1ms, selectivity=0.7"],
        "c": ["table-join, cost=1ms, selectivity=1.5", "select, cost=1ms, selectivity=0.5"],
    }
    given = workload(queries, "poisson, rate=40", run_overhead="1 ms")
    quick, (watched, _) = simulate(given, "hnr"), traced(given, "hnr")
    for one, other in zip(quick.queries, watched.queries, strict=True):
        assert one.arrival.tolist() == other.arrival.tolist()
        assert one.emission.tolist() == pytest.approx(other.emission.tolist())


def test_response_times_of_windows_count_from_the_tuple_that_closes_them_or_from_their_end() -> None:
    """The window of one second from 0 on is closed by the tuple at 1.4 s, and gives its result 1 ms later."""
    for windows, arrival in (("closing", 1.4), ("end", 1.0)):
        given = workload(
            {"q": "aggregate, cost=1ms, window=1s"}, "at, times=[0, 500ms, 1400ms]", duration="3 s", windows=windows
        )
        query = simulate(given, "fcfs").queries[0]
        assert query.arrival.tolist() == pytest.approx([arrival])
        assert query.emission.tolist() == pytest.approx([1.401])
