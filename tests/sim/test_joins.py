"""Window joins against a brute-force join of the arrival lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest
from tests.sim.builders import workload

from headgate.metrics import Records, measure
from headgate.model import Choice, HeadgateError, Idle, Level, WorkerId
from headgate.plan.units import units
from headgate.policies.contract import Policy, View
from headgate.sim import Simulation, simulate
from headgate.sim.load import statistics
from headgate.sim.operators import WindowJoin
from headgate.sim.randomness import uniform
from headgate.stats import Stats
from headgate.workload import Workload

PLACES = [
    ("fcfs", 1),
    ("fcfs, train=all", 1),
    ("hr, level=operator", 1),
    ("hr, level=operator", 3),
    ("lsf, level=operator, train=3", 2),
    ("path-capacity", 1),
    ("path-capacity, train=all", 2),
    ("mtiq", 3),
    ("rr", 2),
    ("random, level=operator", 2),
    ("chain", 1),
]
Matches = Callable[[int, int], bool]


def pairs(left: Sequence[float], right: Sequence[float], window: float, matches: Matches) -> list[float]:
    """The arrivals of all pairs, sorted: a pair arrives with its later part."""
    found = product(enumerate(left), enumerate(right))
    return sorted(max(a, b) for (i, a), (j, b) in found if abs(b - a) <= window and matches(i, j))


def two_streams(join: str, cores: int = 1, seconds: int = 8, **head: Any) -> Workload:
    operators = [
        "select, from=l, as=left, cost=9ms",
        "project, from=r, as=right, cost=1ms",
        f"join, from=[left, right], as=both, cost=3ms, {join}",
        "project, from=both, cost=1ms",
    ]
    streams = {"l": "poisson, rate=30", "r": "onoff, rate=25, on=500ms, off=500ms"}
    return workload({"q": operators}, streams, cores=cores, duration=f"{seconds} s", **head)


def emitted(records: Records) -> list[float]:
    return sorted(records.queries[0].arrival)


def join_of(simulation: Simulation) -> WindowJoin:
    (found,) = [w.effect for w in simulation.machine._works.values() if isinstance(w.effect, WindowJoin)]
    return found


@pytest.mark.parametrize(("policy", "cores"), PLACES)
def test_every_pair_in_the_window_once(policy: str, cores: int) -> None:
    simulation = Simulation(two_streams("window=300ms", cores), policy)
    left, right = simulation.feeds.times["l"], simulation.feeds.times["r"]
    expected = pairs(left, right, 0.3, lambda i, j: True)
    assert emitted(simulation.run()) == expected
    assert len(expected) > 1000


@pytest.mark.parametrize("selectivity", [0.0, 0.05, 0.5, 0.97])
@pytest.mark.parametrize(("policy", "cores"), [("fcfs", 1), ("hr, level=operator", 2), ("path-capacity", 1)])
def test_pairs_match_by_their_numbers_alone(policy: str, cores: int, selectivity: float) -> None:
    simulation = Simulation(two_streams(f"window=1s, selectivity={selectivity}", cores, seconds=5), policy)
    key = join_of(simulation)._key
    left, right = simulation.feeds.times["l"], simulation.feeds.times["r"]
    expected = pairs(left, right, 1.0, lambda i, j: (uniform(key, 1, j) - uniform(key, 0, i)) % 1.0 < selectivity)
    assert emitted(simulation.run()) == expected


def test_the_share_of_pairs_is_the_selectivity() -> None:
    share = len(emitted(simulate(two_streams("window=1s, selectivity=0.2", seconds=20), "fcfs")))
    whole = len(emitted(simulate(two_streams("window=1s", seconds=20), "fcfs")))
    assert share / whole == pytest.approx(0.2, rel=0.1)


@pytest.mark.parametrize(("policy", "cores"), [("fcfs", 1), ("hr, level=operator", 2), ("random, level=operator", 3)])
def test_late_sources_lose_no_pair(policy: str, cores: int) -> None:
    streams = {
        "l": {"arrivals": "poisson, rate=40", "source_cost": "20 ms"},
        "r": {"arrivals": "poisson, rate=40", "source_cost": "1 ms"},
    }
    given = workload(
        {"q": ["join, from=[l, r], cost=1ms, window=50ms"]}, streams, source_cores=2, cores=cores, duration="15 s"
    )
    simulation = Simulation(given, policy)
    expected = pairs(simulation.feeds.times["l"], simulation.feeds.times["r"], 0.05, lambda i, j: True)
    assert emitted(simulation.run()) == expected


@pytest.mark.parametrize(("policy", "cores"), PLACES)
def test_a_join_of_a_join(policy: str, cores: int) -> None:
    operators = [
        "join, from=[a, b], as=ab, cost=1ms, window=100ms",
        "select, from=ab, as=slow, cost=2ms",
        "join, from=[slow, c], cost=1ms, window=150ms",
    ]
    streams = {"a": "poisson, rate=20", "b": "poisson, rate=20", "c": "poisson, rate=20"}
    simulation = Simulation(workload({"q": operators}, streams, cores=cores), policy)
    a, b, c = (simulation.feeds.times[name] for name in "abc")
    inner = pairs(a, b, 0.1, lambda i, j: True)
    assert emitted(simulation.run()) == pairs(inner, c, 0.15, lambda i, j: True)


def test_a_stream_joined_with_itself() -> None:
    given = workload({"q": "join, from=[s, s], cost=1ms, window=100ms"}, "poisson, rate=40")
    simulation = Simulation(given, "fcfs")
    times = simulation.feeds.times["s"]
    assert emitted(simulation.run()) == pairs(times, times, 0.1, lambda i, j: True)


def test_tuples_without_partners_to_come_are_forgotten() -> None:
    simulation = Simulation(two_streams("window=50ms", seconds=40), "fcfs")
    records = simulation.run()
    assert records.tuples_in["l"] > 1000
    assert all(len(side) < 300 for side in join_of(simulation)._sides)


def ideal_departure(a_left: float, a_right: float) -> float:
    """The document's reading with C_L = 2 s, C_R = 3 s, c_J = 1 s, C_C = 4 s."""
    c_left, c_right, c_join, c_common = 2.0, 3.0, 1.0, 4.0
    if a_left <= a_right:
        return max(a_left + c_left + c_join, a_right) + c_right + c_join + c_common
    return max(a_right + c_right + c_join, a_left) + c_left + c_join + c_common


@pytest.mark.parametrize(
    ("left", "right"), [(0.0, 0.0), (0.0, 1.0), (0.0, 3.0), (0.0, 20.0), (1.0, 0.0), (20.0, 0.0), (7.0, 2.5)]
)
@pytest.mark.parametrize("policy", ["fcfs", "hr, level=operator"])
def test_slowdown_of_a_composite_tuple(policy: str, left: float, right: float) -> None:
    operators = [
        "select, from=l, as=a, cost=2s",
        "select, from=r, as=b, cost=3s",
        "join, from=[a, b], cost=1s, window=30s",
        "project, cost=4s",
    ]
    streams = {"l": f"at, times=[{left}s]", "r": f"at, times=[{right}s]"}
    records = simulate(workload({"q": operators}, streams, duration="40 s"), policy)
    (query,) = records.queries
    ideal_time = 2 + 3 + 2 * 1 + 4
    assert query.ideal_time == ideal_time
    (slowdown,) = query.columns().slowdown.tolist()
    assert slowdown == pytest.approx(1 + (query.emission[0] - ideal_departure(left, right)) / ideal_time)
    assert query.arrival.tolist() == [max(left, right)]


def test_waiting_for_the_partner_is_not_charged() -> None:
    """The later part comes long after the first has been processed: the slowdown is that of an idle system."""
    streams = {"l": "at, times=[0]", "r": "at, times=[30s]"}
    given = workload({"q": "join, from=[l, r], cost=1s, window=1min"}, streams, duration="1 min")
    assert measure(simulate(given, "fcfs")).slowdown.mean == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["random, level=operator", "hr, level=operator", "mtiq", "rr"])
def test_a_join_of_tuples_that_come_out_of_order(policy: str) -> None:
    """One branch of the union is far behind, so old tuples stand behind young ones."""
    operators = [
        "select, from=a, as=slow, cost=30ms",
        "union, from=[slow, b], as=both, cost=1ms",
        "join, from=[both, c], cost=8ms, window=20ms",
    ]
    streams = {"a": "poisson, rate=40", "b": "poisson, rate=40", "c": "poisson, rate=40"}
    simulation = Simulation(workload({"q": operators}, streams, cores=2, duration="20 s"), policy)
    a, b, c = (simulation.feeds.times[name] for name in "abc")
    assert emitted(simulation.run()) == pairs([*a, *b], c, 0.02, lambda i, j: True)


class AllAtOnce(Policy):
    """Everything that is ready as one run, those nearest to the output first."""

    levels = (Level.OPERATOR, Level.PATH)

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        units = sorted(view.ready.values(), key=lambda unit: (-unit.depth, unit.id))
        return Choice(tuple(units), together=True) if units else Idle()


@pytest.mark.parametrize("level", ["operator", "path"])
@pytest.mark.parametrize("cores", [1, 2])
def test_units_that_run_together_lose_no_tuple(level: str, cores: int) -> None:
    simulation = Simulation(two_streams("window=300ms", cores), "fcfs")
    simulation.scheduler._use(AllAtOnce(level=level), 0.0)
    left, right = simulation.feeds.times["l"], simulation.feeds.times["r"]
    assert emitted(simulation.run()) == pairs(left, right, 0.3, lambda i, j: True)


# -- windows of so many tuples -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "cores"), PLACES)
def test_counted_windows_against_brute_force(policy: str, cores: int) -> None:
    """Tuples of one window meet, and no others, however late they come."""
    simulation = Simulation(two_streams("selectivity=1.0, tuples=20", cores), policy)
    records = simulation.run()
    left, right = (simulation.feeds.times[name] for name in ("l", "r"))
    found = product(enumerate(left), enumerate(right))
    assert emitted(records) == sorted(max(a, b) for (i, a), (j, b) in found if i // 20 == j // 20)
    assert len(records.queries[0].arrival) > 2000


def test_statistics_know_what_a_counted_window_gives() -> None:
    """A window of 20 has 10 tuples of the right stream and 20 of the left one, and 2 pairs of 100 match: 4 results."""
    operators = [
        "select, from=r, as=some, cost=1ms, selectivity=0.5",
        "join, from=[l, some], cost=1ms, selectivity=0.02, tuples=20",
    ]
    given = workload({"q": operators}, {"l": "poisson, rate=40", "r": "poisson, rate=40"}, duration="100 s")
    (unit,) = units(given.network(), Level.QUERY)
    expected = Stats(given.network(), statistics(given)).output_rate(unit)
    assert pytest.approx(measure(simulate(given, "fcfs")).throughput.mean, rel=0.1) == 40 / 20 * 4.0
    per_tuple = 4.0 / 40  # of 40 tuples that enter, with a cost of 1 ms for a left one and 1.5 ms for a right one
    assert expected == pytest.approx(per_tuple / 0.00125)


@pytest.mark.parametrize(
    ("join", "message"),
    [
        ("tuples=20, window=1s", "window and tuples both say how long a window is"),
        ("tuples=0", "tuples must be at least 1"),
    ],
)
def test_a_window_is_either_counted_or_timed(join: str, message: str) -> None:
    with pytest.raises(HeadgateError, match=message):
        two_streams(join)


def test_tuples_are_counted_before_anything_makes_new_ones() -> None:
    operators = [
        "union, from=[l, r], as=all, cost=1ms",
        "join, from=[all, l], cost=1ms, selectivity=0.02, tuples=20",
    ]
    with pytest.raises(HeadgateError, match="tuples are not counted behind a union"):
        workload({"q": operators}, {"l": "poisson, rate=40", "r": "poisson, rate=40"})
