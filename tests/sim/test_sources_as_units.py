"""No cores for sources: reading a stream is work as any other, and the policy says when."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from tests.sim.builders import EXAMPLES, counts, emissions, intervals, results, traced, workload

from headgate.core.trace import replay_trace
from headgate.model import Level
from headgate.plan.fusion import Fuse
from headgate.plan.units import units
from headgate.policies.registry import policies
from headgate.sim import offered_load, scaled, simulate
from headgate.workload import Workload, read_workload

GRAPH = [[0.0, 1.0], [0.05, 1.0], [1.0, 0.0]]
CLASSES = {"high": 5, "low": 1}
QUERIES = {
    "cheap": {"operators": ["select, cost=1ms, selectivity=0.5", "project, cost=1ms"], "class": "high", "qos": GRAPH},
    "dear": {"operators": ["select, cost=6ms, selectivity=0.7", "project, cost=2ms"], "class": "low", "qos": GRAPH},
    "hot": {"operators": ["select, name=hot, cost=1ms, selectivity=0.3"], "class": "low", "qos": GRAPH},
    "hotter": {
        "operators": ["select, name=hot, cost=1ms, selectivity=0.3", "select, cost=2ms, selectivity=0.5"],
        "class": "high",
        "qos": GRAPH,
    },
}
VARIANTS = [
    "adaptive, candidates=[chain, (hr, level=query), segment]",
    "bsd, clusters=4, batch=cluster",
    "hnr, sharing=pdt",
    "hr, train=all",
    "mbd, inversion=dsp, affinity=10",
    "path-capacity, train=3",
]
LEVELS = [
    f"{name}, level={level}" for name, policy in policies().items() if name != "adaptive" for level in policy.levels
]


def reading(arrivals: str, cost: str = "10 ms") -> dict[str, Any]:
    return {"s": {"arrivals": arrivals, "source_cost": cost}}


def small(source_cores: int, **head: Any) -> Workload:
    streams = reading("onoff, rate=30, on=200ms, off=300ms", "3 ms")
    return workload(QUERIES, streams, classes=CLASSES, source_cores=source_cores, **{"duration": "2 s", **head})


def ends(policy: str, queries: Any, streams: Any, **head: Any) -> dict[str, list[float]]:
    return emissions(simulate(workload(queries, streams, source_cores=0, **head), policy))


# -- by hand -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["fcfs", "hr", "fifo", "cqc", "srpt"])
def test_what_has_been_read_goes_first(policy: str) -> None:
    found = ends(policy, {"q": "select, cost=1ms"}, reading("at, times=[0], batch=3"))
    assert found["q"] == pytest.approx([0.011, 0.022, 0.033])


def test_a_policy_may_read_all_first() -> None:
    """The least slack is that of tuples with most work before them."""
    queries = {"q": {"operators": ["select, cost=1ms"], "qos": GRAPH}}
    found = ends("fixed-priority", queries, reading("at, times=[0], batch=3"))
    assert found["q"] == pytest.approx([0.031, 0.032, 0.033])


def test_a_train_is_read_at_once() -> None:
    found = ends("fcfs, train=all", {"q": "select, cost=1ms"}, reading("at, times=[0], batch=3"))
    assert found["q"] == pytest.approx([0.031, 0.032, 0.033])


def test_reading_comes_between_two_queries_by_its_rate() -> None:
    """Results per second: a 1000, b 111, and 2 results for 12 ms of reading, a and b: 167."""
    queries = {"a": "select, cost=1ms", "b": "select, cost=9ms"}
    found = ends("hr", queries, reading("at, times=[0], batch=2", "2 ms"))
    assert found["a"] == pytest.approx([0.003, 0.006])
    assert found["b"] == pytest.approx([0.015, 0.024])


def test_cqc_reads_only_when_nothing_else_of_the_class_waits() -> None:
    queries = {"a": "select, cost=1ms", "b": "select, cost=9ms"}
    found = ends("cqc", queries, reading("at, times=[0], batch=2", "2 ms"))
    assert found["a"] == pytest.approx([0.003, 0.015])
    assert found["b"] == pytest.approx([0.012, 0.024])


OF_CLASSES = ["abd", "mbd", "mrr", "morr", "mprr", "lottery", "operator-lottery", "per-class-thread", "weighted-hr"]


@pytest.mark.parametrize("policy", OF_CLASSES)
def test_on_one_core_the_class_schedulers_read_only_when_nothing_else_waits(policy: str) -> None:
    """Al Moakar 2013, section 2.2.1: both tuples of a reading are through before anything is read again."""
    queries = {"a": "select, cost=1ms", "b": "select, cost=9ms"}
    given = workload(queries, reading("at, times=[0, 1ms]", "2 ms"), source_cores=0)
    records, lines = traced(given, f"{policy}, train=1")
    chosen = [first for _, _, _, (first, *_) in sorted(intervals(lines))]
    source = next(unit.id for unit in units(given.network(), Level.QUERY) if unit.level is Level.SOURCE)
    assert [number == source for number in chosen] == [True, False, False] * 2
    assert counts(records) == {"a": 2, "b": 2}
    assert replay_trace(lines).same


@pytest.mark.parametrize("policy", ["hr", "fixed-priority, train=1", "rr", "fcfs, train=1", "mtiq"])
def test_any_policy_reads_last_where_the_workload_says_so(policy: str) -> None:
    queries = {
        name: {"operators": [f"select, cost={cost}"], "qos": GRAPH} for name, cost in (("a", "1ms"), ("b", "9ms"))
    }
    given = workload(queries, reading("at, times=[0], batch=2", "2 ms"), source_cores=0, sources="last")
    records, lines = traced(given, policy)
    assert sorted(emissions(records)["b"]) == pytest.approx([0.012, 0.024], abs=1.1e-3)
    assert replay_trace(lines).same


def test_two_cores_read_and_work_at_the_same_time() -> None:
    found = ends("fcfs", {"q": "select, cost=4ms"}, reading("at, times=[0], batch=3"), cores=2)
    assert found["q"] == pytest.approx([0.014, 0.024, 0.034])  # one stream is read by one core at a time


def test_two_streams_compete_for_the_only_core() -> None:
    about = {"arrivals": "at, times=[0]", "source_cost": "10 ms"}
    queries = {"a": "select, from=x, cost=1ms", "b": "select, from=y, cost=1ms"}
    found = ends("fcfs", queries, {"x": about, "y": about})
    assert found["a"] + found["b"] == pytest.approx([0.011, 0.022])  # of equally old tuples those that are further on


def test_response_times_begin_when_a_tuple_arrives_not_when_it_is_read() -> None:
    given = workload({"q": "select, cost=1ms"}, reading("at, times=[0, 0, 0]"), source_cores=0)
    query = simulate(given, "fcfs").queries[0]
    assert query.arrival.tolist() == [0.0, 0.0, 0.0]


def test_slowdown_is_measured_against_the_same_time_as_with_source_cores() -> None:
    ideals = [{q.query: q.ideal_time for q in simulate(small(cores), "fcfs").queries} for cores in (0, 1)]
    assert ideals[0] == ideals[1]


def test_an_unread_tuple_waits_once_and_a_read_one_for_every_query() -> None:
    queries = {"a": "select, cost=1ms", "b": "select, cost=1ms"}
    given = workload(queries, reading("at, times=[0], batch=10"), source_cores=0)
    assert simulate(given, "fcfs").queue.max_tuples == 11  # nine unread, two of the first
    assert simulate(given, "fcfs, train=all").queue.max_tuples == 20


# -- what no policy can change -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("policy", [*LEVELS, *VARIANTS, "adaptive"])
@pytest.mark.parametrize("cores", [1, 2])
def test_every_policy_gives_the_results_that_source_cores_give(policy: str, cores: int) -> None:
    given = small(0, cores=cores)
    records, lines = traced(given, policy)
    assert results(records) == results(simulate(small(1, cores=cores), "fcfs"))
    assert records.unfinished == 0
    assert replay_trace(lines).same


@pytest.mark.parametrize("policy", ["hr, level=operator", "cqc", "mbd", "rr", "chain", "segment", "hnr, level=path"])
def test_every_tuple_is_read_exactly_once(policy: str) -> None:
    given = small(0, cores=2)
    records, lines = traced(given, policy)
    (queue,) = (edge.id for edge in given.network().edges.values() if edge.stream == "s")
    takes = [take for line in map(json.loads, lines) for take in line.get("run", {}).get("takes", ())]
    read = [(first, behind) for number, first, behind in takes if number == queue]
    assert [first for first, _ in read] == [0, *(behind for _, behind in read[:-1])]
    assert read[-1][1] == records.tuples_in["s"]


def test_nothing_is_read_twice_at_once() -> None:
    given = small(0, cores=3)
    (source,) = (unit.id for unit in units(given.network(), Level.QUERY) if unit.level is Level.SOURCE)
    runs = sorted((start, end) for start, end, _, chosen in intervals(traced(given, "fcfs")[1]) if source in chosen)
    assert all(end <= start + 1e-12 for (_, end), (start, _) in pairwise(runs))


@pytest.mark.parametrize("head", [{"fuse": "all"}, {"noise": 0.2}, {"statistics": "measured"}, {"train": "all"}])
def test_settings_of_the_workload_work_as_ever(head: dict[str, Any]) -> None:
    for policy in ("hr", "cqc", "mbd, adapt=s"):
        assert results(simulate(small(0, **head), policy)) == results(simulate(small(1, **head), policy))


@pytest.mark.parametrize("name", ["sql.toml", "sensors.toml", "filters.toml"])
def test_examples_give_the_same_results(name: str) -> None:
    given = read_workload(EXAMPLES / name)
    streams = tuple(replace(stream, source_cost=1e-5) for stream in given.streams)
    given = replace(given, streams=streams, changes=(), duration=1.0, load=None)
    assert counts(simulate(replace(given, source_cores=0), "hr")) == counts(simulate(given, "hr"))


def test_a_change_means_the_same_operator() -> None:
    changes = [{"at": "1 s", "query": "dear", "operator": 0, "selectivity": 0.0}]
    streams = reading("constant, rate=50", "1 ms")
    found = [
        simulate(workload(QUERIES, streams, changes=changes, classes=CLASSES, source_cores=cores, duration="2 s"), "hr")
        for cores in (0, 1)
    ]
    assert results(found[0]) == results(found[1])
    assert max(results(found[0])["dear"]) < 1.0


def test_queries_come_and_go_with_what_is_read_for_them() -> None:
    queries = {
        "always": "select, cost=1ms",
        "later": {"operators": ["select, cost=1ms"], "start": "1 s"},
        "early": {"operators": ["select, cost=1ms"], "end": "1 s"},
    }
    given = workload(queries, reading("constant, rate=50", "1 ms"), source_cores=0, duration="2 s")
    records, lines = traced(given, "hr, level=operator")
    assert counts(records) == {"always": 100, "later": 50, "early": 50}
    assert replay_trace(lines).same


def test_a_stream_that_takes_no_time_to_read_has_no_source() -> None:
    given = [workload(QUERIES, "poisson, rate=40", classes=CLASSES, source_cores=cores) for cores in (0, 1)]
    assert not given[0].network().readers
    assert emissions(simulate(given[0], "hnr")) == emissions(simulate(given[1], "hnr"))


# -- statistics and units ------------------------------------------------------------------------------------------


def test_reading_is_load_of_the_cores() -> None:
    given = workload({"q": "select, cost=5ms"}, reading("constant, rate=10"), source_cores=0)
    assert offered_load(given) == pytest.approx(0.15)
    asked = scaled(replace(given, load=0.6))
    assert offered_load(asked) == pytest.approx(0.6)
    assert asked.streams[0].source_cost == pytest.approx(0.04)
    records = simulate(asked, "fcfs")
    assert records.busy / records.seconds == pytest.approx(0.6, rel=0.02)


@pytest.mark.parametrize("level", [Level.OPERATOR, Level.SEGMENT, Level.PATH, Level.QUERY])
def test_a_source_is_a_unit_of_its_own_at_every_level(level: Level) -> None:
    network = small(0).network()
    found = units(network, level)
    source, *others = sorted(found, key=lambda unit: unit.level is not Level.SOURCE)
    assert (str(source), source.level, source.payer, source.queries) == ("read s", Level.SOURCE, "high", tuple(QUERIES))
    assert all(source.calls[0] not in unit.calls and unit.level is not Level.SOURCE for unit in others)
    without = [(unit.level, unit.queries) for unit in units(small(1).network(), level)]
    assert [(unit.level, unit.queries) for unit in others] == without


def test_queries_behind_a_source_are_fused_as_before_it() -> None:
    grouped = [[unit.queries for unit in units(small(cores).network(), Level.QUERY, Fuse.ALL)] for cores in (0, 1)]
    assert grouped[0][1:] == grouped[1]
