"""Random numbers belong to tuples and operators, not to policies, cores or neighbours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.sim.builders import EXAMPLES, counts, intervals, results, traced, workload

from headgate.sim import Simulation, simulate
from headgate.sim.draws import Drawn, Noise, Single
from headgate.workload import read_workload

QUERIES = {
    "a": ["select, cost=1ms, selectivity=0.5", "table-join, cost=2ms, selectivity=1.5"],
    "b": ["select, from=s, cost=1ms, selectivity=0.3"],
    "c": ["union, from=[s, t], cost=1ms", "select, cost=1ms, selectivity=0.6"],
    "d": ["join, from=[s, t], cost=1ms, selectivity=0.2, window=100ms", "select, cost=1ms, selectivity=0.5"],
}
STREAMS = {"s": "poisson, rate=30", "t": "onoff, rate=20, on=200ms, off=100ms"}
BASE = {name: [*operators] for name, operators in QUERIES.items()}
BASE["a"][0] += ", from=s"


@pytest.mark.parametrize("policy", ["rr", "hr, level=operator", "lsf", "path-capacity", "mtiq, train=all"])
@pytest.mark.parametrize("cores", [1, 2])
def test_all_policies_see_the_same_arrivals_and_outcomes(policy: str, cores: int) -> None:
    one = simulate(workload(BASE, STREAMS, cores=cores), policy)
    other = simulate(workload(BASE, STREAMS), "fcfs")
    assert one.tuples_in == other.tuples_in
    assert results(one) == results(other)


@pytest.mark.parametrize("first", [True, False])
def test_one_more_query_changes_nothing_for_the_others(first: bool) -> None:
    more = {"more": ["select, from=s, cost=1ms, selectivity=0.5", "select, cost=1ms, selectivity=0.5"]}
    without = results(simulate(workload(BASE, STREAMS), "hr"))
    beside = results(simulate(workload({**more, **BASE} if first else {**BASE, **more}, STREAMS), "hr"))
    assert {name: beside[name] for name in without} == without
    assert beside["more"]


def test_one_more_query_changes_nothing_for_queries_in_sql() -> None:
    given = replace(read_workload(EXAMPLES / "sql.toml"), duration=4.0, load=None)
    whole = results(simulate(given, "fcfs"))
    for name in ("hot", "seen"):
        part = replace(given, queries=tuple(query for query in given.queries if query.name != name))
        found = results(simulate(part, "fcfs"))
        assert found == {other: whole[other] for other in found}


def test_one_more_stream_changes_nothing_for_the_others() -> None:
    more = {"zero": "poisson, rate=50", **STREAMS}
    assert results(simulate(workload(BASE, more), "fcfs")) == results(simulate(workload(BASE, STREAMS), "fcfs"))


@pytest.mark.slow
def test_a_seed_gives_one_simulation() -> None:
    given = workload(BASE, STREAMS, noise=0.1, cores=2)
    for policy in ("random", "bsd, level=operator"):
        assert traced(given, policy)[1] == traced(given, policy)[1]


def test_another_seed_gives_another_simulation() -> None:
    given = workload(BASE, STREAMS)
    assert results(simulate(given, "fcfs")) != results(simulate(replace(given, seed=2), "fcfs"))


def test_outcomes_are_independent_between_operators() -> None:
    queries = dict.fromkeys(("p", "q"), "select, cost=1us, selectivity=0.5")
    records = simulate(workload(queries, "constant, rate=400"), "fcfs")
    p, q = (set(query.arrival) for query in records.queries)
    assert len(p & q) / 4000 == pytest.approx(0.25, abs=0.03)


def test_noise_stays_within_its_share() -> None:
    given = workload({"q": "select, cost=10ms"}, "constant, rate=50", noise=0.05, duration="40 s")
    lengths = np.array([end - start for start, end, _, _ in intervals(traced(given, "fcfs")[1])]) / 0.010
    assert 0.95 - 1e-9 <= lengths.min() < 0.955
    assert 1.045 < lengths.max() <= 1.05 + 1e-9
    assert lengths.mean() == pytest.approx(1.0, abs=0.003)


def test_noise_is_the_tuples_own() -> None:
    given = workload(dict.fromkeys("ab", "select, cost=10ms"), "constant, rate=30", noise=0.2)
    ends = [simulate(given, policy).busy for policy in ("fcfs", "srpt", "random")]
    assert ends[0] == pytest.approx(ends[1]) == pytest.approx(ends[2])


def test_noise_does_not_depend_on_the_order_of_asking() -> None:
    noise, again = Noise(1, ("n",), 0.1), Noise(1, ("n",), 0.1)
    identities = [5, 2000, 7, 2**60 + 3, 1023, 1024, 5]
    forwards = [noise.factor(identity) for identity in identities]
    assert [again.factor(identity) for identity in reversed(identities)] == forwards[::-1]


@pytest.mark.parametrize("selectivity", [0.0, 0.25, 1.0, 2.5])
def test_drawn_and_single_give_the_share_they_are_given(selectivity: float) -> None:
    drawn = Drawn(1, ("x",), [(0, selectivity)], tuples=20_000)
    single = Single(1, ("x",), [(0.0, selectivity)])
    assert np.mean(np.frombuffer(drawn.table, dtype=np.uint8)) == pytest.approx(selectivity, abs=0.02)
    assert np.mean([single.copies(identity, 0.0) for identity in range(20_000)]) == pytest.approx(selectivity, abs=0.02)


def test_a_pattern_repeats_over_the_tuples_as_they_come() -> None:
    given = workload({"q": "select, cost=1ms, pass=[true, false, false]"}, "constant, rate=3")
    assert counts(simulate(given, "fcfs")) == {"q": 10}


def test_arrivals_are_drawn_before_the_simulation() -> None:
    given = workload(BASE, STREAMS)
    fresh, used = Simulation(given, "fcfs"), Simulation(given, "lsf, level=operator")
    used.run()
    assert fresh.feeds.times == used.feeds.times
