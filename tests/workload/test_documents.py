"""The documents' workloads: every file reads, says what its table says, and can be simulated."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from workloads.make.__main__ import FOLDER, files

from headgate.core import Scheduler
from headgate.metrics import measure
from headgate.model import Join, Kind, Level, Operator, Train, walk
from headgate.plan.units import units
from headgate.sim import simulate
from headgate.sim.effects import effects
from headgate.sim.feeds import Feeds
from headgate.sim.load import offered_load, scaled, statistics
from headgate.stats import Stats
from headgate.workload import LoadOf, Workload, read_workload

PATHS = sorted(FOLDER.glob("*.toml"))
LARGE = {"carney-4.4": 0.1}  # seconds to simulate
POLICIES = {"almoakar": "mbd, inversion=dsp", "carney": "slope-slack", "mavstream": "segment", "raindrop": "mtiq"}


def workload(name: str) -> Workload:
    return read_workload(FOLDER / f"{name}.toml")


def operators(which: Workload) -> list[Operator]:
    return [node.operator for node in which.network().nodes.values()]


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_file_reads_and_runs(path: Path) -> None:
    found = read_workload(path)
    family = path.stem.partition("-")[0]
    short = LARGE.get(path.stem, 0.02 if family == "almoakar" else 1.0)
    report = measure(simulate(replace(found, duration=short, changes=()), POLICIES.get(family, "hnr")))
    assert found.name == path.stem
    assert report.unfinished == 0
    assert sum(report.tuples_in.values()) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(files()))
def test_a_long_file_is_as_made(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == files()[name], "run python -m workloads.make"


@pytest.mark.parametrize(
    ("name", "queries", "priorities", "cores"),
    [
        ("A", (7, 7, 7), (6, 3, 1), 1),
        ("B", (2, 8, 11), (3, 2, 1), 1),
        ("C", (2, 8, 11), (6, 3, 1), 1),
        ("D", (7, 7, 7), (30, 20, 10), 1),
        ("E", (2, 8, 11), (60, 30, 10), 1),
        ("F", (11, 8, 2), (60, 30, 10), 1),
        ("5G", (3, 5, 7, 6, 4), (50, 40, 30, 20, 10), 1),
        ("5G_4", (12, 20, 28, 24, 16), (50, 40, 30, 20, 10), 4),
        ("5G_2", (12, 20, 28, 24, 16), (50, 40, 30, 20, 10), 2),
        ("5S_2", (6, 10, 14, 12, 8), (50, 40, 30, 20, 10), 2),
        ("5O_2", (6, 10, 14, 12, 8), (50, 40, 30, 20, 10), 2),
        ("3D_6", (21, 21, 21), (60, 30, 10), 6),
        ("3E_6", (14, 21, 28), (30, 20, 10), 6),
        ("3F_6", (28, 21, 14), (30, 20, 10), 6),
        ("5I", (12, 12, 15, 12, 12), (50, 40, 30, 20, 10), 6),
        ("5L", (22, 34, 40, 40, 34), (80, 30, 30, 10, 10), 6),  # 20 … 32, and the two that all classes share
    ],
)
def test_al_moakars_tables(name: str, queries: tuple[int, ...], priorities: tuple[int, ...], cores: int) -> None:
    found = workload(f"almoakar-{name}")
    assert tuple(Counter(query.query_class for query in found.queries).values()) == queries
    assert tuple(known.priority for known in found.classes) == priorities
    assert found.cores == cores


def test_the_queries_of_a_have_27_streams() -> None:
    kinds = Counter(operator.kind for operator in operators(workload("almoakar-A")))
    assert len(workload("almoakar-A").streams) == 27
    assert (kinds[Kind.AGGREGATE], kinds[Kind.JOIN], kinds[Kind.SELECT]) == (9, 6, 6)


def test_the_same_63_queries_in_three_and_in_five_classes() -> None:
    kinds = [
        Counter(o.kind for o in operators(workload(f"almoakar-{name}"))) for name in ("3D_6", "3E_6", "3F_6", "5I")
    ]
    assert all(each == kinds[0] for each in kinds)


def test_5l_shares_a_union_and_an_except() -> None:
    shared = [node for node in workload("almoakar-5L").network().nodes.values() if len(node.queries) > 1]
    assert [len(node.queries) for node in shared] == [5, 5]


def test_scaling_keeps_costs() -> None:
    plans = [workload(f"almoakar-{name}").queries[0].plan for name in ("5G", "5G_2", "5G_4", "5S_2", "5O_2")]
    assert len({plan.given.cost for plan in plans}) == 1


@pytest.mark.parametrize(("name", "busy"), [("A", 0.85), ("D", 0.85), ("5G_4", 0.75), ("3E_6", 0.85), ("5L", 0.75)])
def test_tuples_alone_keep_the_cores_busy(name: str, busy: float) -> None:
    """With trains so long that calls cost next to nothing."""
    found = replace(workload(f"almoakar-{name}"), train=Train(at_most=10**6))
    assert offered_load(found) == pytest.approx(busy, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "queries", "boxes", "load"),
    [
        ("carney-3.4", 5, 605, 0.6),
        ("carney-3.9", 1, 31, 0.5),
        ("carney-3.10", 4, 484, 0.6),
        ("carney-4.2", 20, 100, 0.6),
        ("carney-4.12", 200, 1000, 0.9),
        ("carney-4.4", 1000, 10_000, 0.2),
        ("carney-fanout", 10, 150, 0.8),
        ("carney-straight", 80, 320, 0.8),
    ],
)
def test_carneys_capacity(name: str, queries: int, boxes: int, load: float) -> None:
    """Section 3.4.1: the share of the time that tuples ask for, overheads aside."""
    found = scaled(workload(name))
    assert (len(found.queries), len(operators(found))) == (queries, boxes)
    assert offered_load(found, LoadOf.COSTS) == pytest.approx(load, abs=0.01)
    assert found.run_overhead > 0.0
    assert found.decision_cost > 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "queries", "boxes", "load"),
    [("mavstream", 1, 6, 9.62), ("raindrop-filters", 1, 4, 1.0), ("raindrop-join", 1, 4, 1.0)],
)
def test_boxes_and_loads(name: str, queries: int, boxes: int, load: float) -> None:
    found = workload(name)
    assert (len(found.queries), len(operators(found))) == (queries, boxes)
    assert offered_load(scaled(found)) == pytest.approx(load, abs=0.01)


def test_sharafs_predicates_are_on_one_attribute() -> None:
    """Section 8: what a query of a small share keeps, all queries of larger shares keep; joins go by another one."""
    found = replace(workload("sharaf"), duration=2.0)
    network, feeds = found.network(), Feeds.of(found)
    made = effects(network, found, feeds, ())
    for kind in (Kind.SELECT, Kind.TABLE_JOIN):
        nodes = [node for node in network.nodes.values() if node.operator.kind is kind]
        nodes.sort(key=lambda node: node.operator.given.selectivity or 0.0)
        kept = [[made[node.id].outcomes.copies(offset, 0.0) for offset in range(50)] for node in nodes]  # type: ignore[attr-defined]
        assert all(less <= more for fewer, larger in pairwise(kept) for less, more in zip(fewer, larger, strict=True))
        assert sum(kept[0]) < sum(kept[-1]) == 50
    first, second = (
        [made[number].outcomes.copies(offset, 0.0) for offset in range(50)]  # type: ignore[attr-defined]
        for number in network.operators[found.queries[0].name][:2]
    )
    assert first != second


def test_the_highest_priority_of_sharafs_queries_is_1_2e5_times_the_lowest() -> None:
    """Section 9.2 prints it; it says that a query keeps the product of its two shares, and not the one share."""
    found = workload("sharaf")
    network = found.network()
    stats = Stats(network, statistics(found))
    rates = [stats.balanced_rate(unit) for unit in units(network, Level.QUERY)]
    assert max(rates) / min(rates) == pytest.approx(1.2e5, rel=0.1)


def test_mavstreams_windows_are_counted() -> None:
    joins = [node for node in operators(workload("mavstream")) if isinstance(node, Join)]
    assert [join.given.tuples for join in joins] == [1000]


def test_mavstreams_segments_differ_from_simplified_ones() -> None:
    found = workload("mavstream")
    names = {
        policy: [str(unit) for unit in Scheduler(found.network(), policy, measured=statistics(found)).units]
        for policy in ("segment", "simplified-segment")
    }
    assert [len(each) for each in names.values()] == [5, 4]


@pytest.mark.parametrize("name", ["raindrop-filters", "raindrop-join"])
def test_raindrops_train(name: str) -> None:
    assert workload(name).train == Train(fraction=0.3, threshold=50)


@pytest.mark.parametrize("policy", ["rr", "rr, quantum=50ms"])
def test_round_robin_is_not_fifo(policy: str) -> None:
    """Taking one tuple at a time, a chain of filters has the same order under both."""
    found = replace(workload("raindrop-filters"), duration=10.0)
    reports = [measure(simulate(found, each)) for each in (policy, "fifo")]
    assert reports[0].response_time != reports[1].response_time
    assert reports[0].queue != reports[1].queue


@pytest.mark.parametrize(("name", "cores", "order"), [("A", 0, "last"), ("D", 1, "rr"), ("5G_4", 1, "rr")])
def test_al_moakars_sources_cost_time(name: str, cores: int, order: str) -> None:
    found = workload(f"almoakar-{name}")
    assert all(stream.source_cost > 0 for stream in found.streams)
    assert (found.source_cores, found.sources) == (cores, order)


def test_changing_selectivities_are_measured() -> None:
    assert workload("almoakar-5L").learn


def test_sharafs_sets_share_one_select() -> None:
    shared = [node for node in workload("sharaf-sharing").network().nodes.values() if len(node.queries) > 1]
    assert [len(node.queries) for node in shared] == [10] * 50


def test_every_query_of_sharafs_joins_has_a_window_of_its_own() -> None:
    joins = [node for query in workload("sharaf-joins").queries for node in walk(query.plan) if hasattr(node, "upper")]
    windows = [node.upper for node in joins]
    assert len(set(windows)) == 500
    assert 1.0 <= min(windows) <= max(windows) <= 10.0
