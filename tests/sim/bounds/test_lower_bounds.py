"""No policy is below the bound, whatever the workload."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sim.builders import EXAMPLES, judged, workload

from headgate.cli.policy_fit import misfit
from headgate.model import HeadgateError
from headgate.policies.registry import policies
from headgate.sim.bounds import Bounds, lower_bounds
from headgate.sim.bounds.clairvoyant import best_sum
from headgate.sim.bounds.needed_work import needed_work
from headgate.sim.bounds.relaxations import least_sum
from headgate.workload import Workload, read_workload

MILLISECONDS = st.integers(0, 8)
FILTERS = st.builds(
    lambda kind, cost, share, overhead: (
        f"{kind}, cost={cost}ms, overhead={overhead}us" + ("" if kind == "project" else f", selectivity={share / 4}")
    ),
    st.sampled_from(["select", "project", "table-join"]),
    MILLISECONDS,
    st.integers(1, 4),
    st.sampled_from([0, 0, 500]),
)
TREES: list[list[str]] = [
    ["join, from=[s, t], cost=2ms, selectivity=0.5, window=10ms", "project, cost=1ms"],
    [
        "select, from=s, as=a, cost=1ms, selectivity=0.5",
        "union, from=[a, t], cost=1ms",
        "table-join, cost=1ms, selectivity=1.5",
    ],
    ["select, from=t, cost=1ms", "aggregate, cost=2ms, window=10ms", "project, cost=3ms"],
    ["except, from=[s, t], cost=1ms, selectivity=0.5, window=10ms"],
    ["select, from=s, name=hot, cost=4ms, selectivity=0.5", "project, cost=1ms"],
    ["select, from=s, name=hot, cost=4ms, selectivity=0.5", "select, cost=2ms, selectivity=0.5"],
]


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """A few queries of all kinds on two streams, in two classes, on some cores."""
    queries: dict[str, Any] = {}
    for number in range(draw(st.integers(1, 3))):
        chain = draw(st.lists(FILTERS, min_size=1, max_size=3))
        first, *rest = chain
        kind, _, settings = first.partition(",")
        queries[f"f{number}"] = {"operators": [f"{kind}, from={draw(st.sampled_from('st'))},{settings}", *rest]}
    for number, tree in enumerate(draw(st.lists(st.sampled_from(TREES), max_size=3))):
        queries[f"t{number}"] = {"operators": tree}
    for name in queries:
        queries[name]["class"] = draw(st.sampled_from(["high", "low"]))
    times = [draw(st.lists(st.integers(0, 40), min_size=1, max_size=8)) for _ in "st"]
    streams = {name: f"at, times=[{', '.join(f'{at}ms' for at in own)}]" for name, own in zip("st", times, strict=True)}
    return workload(
        queries,
        streams,
        classes={"high": 6.0, "low": 1.0},
        cores=draw(st.integers(1, 3)),
        train=draw(st.sampled_from([1, "all"])),
        noise=draw(st.sampled_from([0.0, 0.1])),
        run_overhead=draw(st.sampled_from([0, "1 ms"])),
        seed=draw(st.integers(1, 100)),
    )


@settings(max_examples=80, deadline=None, derandomize=True)
@given(workloads(), st.data())
def test_no_policy_is_below_the_bound(given: Workload, data: st.DataObject) -> None:
    bounds = lower_bounds(given)
    fitting = sorted(name for name, policy in policies().items() if misfit(policy, given) is None)
    for policy in data.draw(st.lists(st.sampled_from(fitting), min_size=3, max_size=3, unique=True)):
        report = judged(given, policy)
        assert report.results == bounds.results
        for measure, least in bounds.least.items():
            value = report.value(measure)
            assert value is not None
            assert value >= least - 1e-9, (policy, measure)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.integers(0, 20), MILLISECONDS), min_size=1, max_size=6),
    st.integers(1, 2),
)
def test_the_best_order_of_few_results_is_not_below_the_bound(jobs: list[tuple[int, int]], cores: int) -> None:
    """Each result is of a query and a stream of its own, so that whole results can be ordered at will."""
    queries = {f"q{number}": f"select, from=s{number}, cost={cost}ms" for number, (_, cost) in enumerate(jobs)}
    streams = {f"s{number}": f"at, times=[{at}ms]" for number, (at, _) in enumerate(jobs)}
    given = workload(queries, streams, cores=cores)
    needed = needed_work(given)
    ones = np.ones(len(jobs))
    best = best_sum(needed.jobs, cores, ones)
    assert least_sum(needed.jobs, cores, ones) <= best + 1e-9
    for policy in ("srpt", "fcfs", "hr"):
        mean = judged(given, policy).value("response_time.mean")
        assert mean is not None
        assert mean * len(jobs) + sum(needed.arrival) >= best - 1e-9


def test_the_bound_of_a_tuple_alone_is_its_processing_time() -> None:
    given = workload(
        {"q": ["select, cost=2ms", "project, cost=3ms, overhead=1ms"]}, "at, times=[5ms]", run_overhead="4 ms"
    )
    assert lower_bounds(given).least["response_time.mean"] == pytest.approx(0.010)
    assert judged(given, "fcfs").value("response_time.mean") == pytest.approx(0.010)


def test_the_bound_is_reached_where_the_shortest_first_is_best() -> None:
    queries = {name: f"select, cost={cost}ms" for name, cost in {"a": 7, "b": 2, "c": 4}.items()}
    given = workload(queries, "at, times=[0]")
    assert lower_bounds(given).least["response_time.mean"] == pytest.approx((2 + 6 + 13) / 3000)
    assert judged(given, "srpt").value("response_time.mean") == pytest.approx((2 + 6 + 13) / 3000)


def test_the_weighted_bound_is_reached_where_the_most_weight_for_the_work_is_best() -> None:
    queries = {
        "a": {"operators": ["select, cost=6ms"], "class": "high"},
        "b": {"operators": ["select, cost=2ms"], "class": "low"},
    }
    given = workload(queries, "at, times=[0]", classes={"high": 4.0, "low": 1.0})
    assert lower_bounds(given).least["response_time.weighted"] == pytest.approx((4 * 6 + 8) / 5000)
    assert judged(given, "weighted-hr").value("response_time.weighted") == pytest.approx((4 * 6 + 8) / 5000)


def test_what_is_shared_is_needed_once() -> None:
    queries = {
        name: ["select, name=hot, cost=4ms", f"project, cost={cost}ms"] for name, cost in {"a": 1, "b": 2}.items()
    }
    needed = needed_work(workload(queries, "at, times=[0]"))
    assert needed.jobs.work.tolist() == pytest.approx([0.003, 0.004])
    assert needed.jobs.alone.tolist() == pytest.approx([0.005, 0.006])


def test_tuples_without_a_result_are_not_worked_for() -> None:
    given = workload({"q": "select, cost=4ms, pass=[false, true, false]"}, "at, times=[0, 0, 0]")
    assert needed_work(given).jobs.work.tolist() == [0.004]


def test_tuples_are_there_when_their_source_has_been_read() -> None:
    streams = {"s": {"arrivals": "at, times=[0, 0]", "source_cost": "5 ms"}}
    given = workload({"q": "select, cost=1ms"}, streams)
    assert needed_work(given).jobs.release.tolist() == pytest.approx([0.005, 0.010])
    assert lower_bounds(given).least["response_time.mean"] == pytest.approx((6 + 11) / 2000)
    read_by_cores = replace(given, source_cores=0)
    assert needed_work(read_by_cores).jobs.work.tolist() == pytest.approx([0.006, 0.006])


def test_no_results_have_no_bound() -> None:
    given = workload({"q": "select, cost=1ms, selectivity=0"}, "at, times=[0]")
    assert lower_bounds(given) == Bounds({}, 0)
    assert lower_bounds(given).gap("response_time.mean", 1.0) is None


@pytest.mark.parametrize("file", ["example-1.toml", "sensors.toml", "filters.toml"])
def test_examples(file: str) -> None:
    given = replace(read_workload(EXAMPLES / file), duration=2.0, drain=True)
    bounds = lower_bounds(given)
    for policy in ("srpt", "hr", "hnr", "fcfs"):
        report = judged(given, policy)
        assert report.results == bounds.results
        for measure, least in bounds.least.items():
            value = report.value(measure)
            assert value is not None
            assert value >= least - 1e-9


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"changes": [{"at": "1 s", "query": "q", "operator": 0, "cost": "2 ms"}]}, "operators change"),
        ({"drain": False}, "it ends before all work is done"),
    ],
)
def test_what_depends_on_the_schedule_has_no_bound(change: dict[str, Any], says: str) -> None:
    with pytest.raises(HeadgateError, match=f"has no lower bound, as {says}"):
        lower_bounds(workload({"q": "select, cost=1ms"}, "poisson, rate=10", **change))


def test_queries_that_come_later_have_no_bound() -> None:
    with pytest.raises(HeadgateError, match="has no lower bound, as queries begin or end while it runs"):
        lower_bounds(workload({"q": {"operators": ["select, cost=1ms"], "start": "1 s"}}))
