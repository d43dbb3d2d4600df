"""The work of deciding is counted by one rule: what an algorithm computes and compares."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import ClassVar

import pytest
from tests.sim.builders import intervals, running, traced, workload

from headgate.model import Choice, Unit
from headgate.policies.checks import Situation
from headgate.policies.checks.simple_view import SimpleView
from headgate.policies.contract import Tally, View, sorting
from headgate.policies.kept import Kept
from headgate.policies.order import Ages, Heap, Line, Order, Ranks, Scan
from headgate.policies.registry import create
from headgate.policies.scored import Score
from headgate.sim import Simulation
from headgate.workload import Workload

UNITS = 200


class Counted(float):
    """A priority that counts how often it is compared."""

    compared: ClassVar[int] = 0

    def __lt__(self, other: object) -> bool:
        Counted.compared += 1
        return float(self) < float(other)  # type: ignore[arg-type]

    def __neg__(self) -> Counted:
        return Counted(-float(self))

    def __add__(self, other: float) -> Counted:
        return Counted(float(self) + other)


@pytest.fixture(autouse=True)
def from_zero() -> None:
    Counted.compared = 0


def many() -> SimpleView:
    view = Situation({f"q{number}": "select" for number in range(UNITS)}).view(MostValuable())
    for queue in view.queues.values():
        queue.clear()
    return view


def drive(order: Order, view: SimpleView, steps: int = 2000, most: int = UNITS) -> int:
    """Let units come and go at random; how many were chosen."""
    chance, popped = Random(1), 0
    for step in range(steps):
        if chance.random() < 0.5 and len(view.ready) < most:
            unit = view.units[chance.randrange(UNITS)]
            view.taken.discard(unit.id)
            view.queues[unit.queues[0]] = [float(step)]
            order.add(view, unit)
        elif (best := order.pop(view)) is not None:
            view.taken.add(best.id)
            view.queues[best.queues[0]] = []
            popped += 1
    return popped


def lines(slope: float) -> dict[int, Line]:
    chance = Random(2)
    return {number: (Counted(chance.random()), slope) for number in range(UNITS)}


@pytest.mark.parametrize("slope", [0.0, 1e-4])
def test_a_heap_counts_what_it_compares(slope: float) -> None:
    view, tally = many(), Tally()
    popped = drive(Heap(lines(slope), view, tally), view)
    assert popped > 800
    assert Counted.compared <= tally.compared <= 2.5 * Counted.compared


def test_ranks_compare_priorities_only_when_they_are_made() -> None:
    view, tally = many(), Tally()
    order = Ranks(lines(0.0), view, tally)
    assert 0.5 * tally.compared <= Counted.compared <= tally.compared == sorting(UNITS)
    made = Counted.compared, tally.compared
    popped = drive(order, view)
    assert Counted.compared == made[0]
    assert tally.compared - made[1] == popped  # a look each


def test_a_scan_counts_every_unit_that_waits() -> None:
    view, tally = many(), Tally()
    order = Scan({number: (0.0, float(number)) for number in range(UNITS)}, view, tally)
    for unit in view.units.values():
        view.queues[unit.queues[0]] = [0.0]
        order.add(view, unit)
    order.pop(view)
    assert (tally.computed, tally.compared) == (UNITS, UNITS)


def test_ages_compare_heads_and_not_the_units_that_share_one() -> None:
    tally, ages = Tally(), Ages(Tally())
    ages._tally = tally
    heads = [Counted(second) for second in range(30)]
    Random(3).shuffle(heads)
    for head in heads:
        for place in range(UNITS):
            ages.put(30 * place + int(head), head)
    put = tally.compared
    assert Counted.compared <= put <= 30 * 5
    taken = [ages.take() for _ in range(30 * UNITS)]
    assert ages.take() is None
    assert taken == [(head, 30 * place + head) for head in range(30) for place in range(UNITS)]
    assert tally.compared - put <= 30 * UNITS + 30 * 5


class MostValuable(Kept):
    """A kept order of scores that count comparisons."""

    name = "most-valuable"

    def score(self, unit: Unit, view: View) -> Score:
        return (Counted(hash((unit.id, view.oldest(unit))) % 10_007),)


def test_a_kept_order_counts_what_it_compares() -> None:
    policy, view, chance = MostValuable(), many(), Random(4)
    policy.changed(view)
    computed = 0
    for step in range(2000):
        if chance.random() < 0.5:
            unit = view.units[chance.randrange(UNITS)]
            view.taken.discard(unit.id)
            view.queues[unit.queues[0]] = [float(step)]
            policy.ready(view, unit)
        elif isinstance(choice := policy.choose(view, 0), Choice):
            computed += 1
            view.taken.add(choice.units[0].id)
            view.queues[choice.units[0].queues[0]] = []
    assert computed > 800
    assert computed <= policy.tally.computed <= 2000
    assert Counted.compared <= policy.tally.compared <= 2.5 * Counted.compared


def chains() -> Workload:
    """Twenty chains of five boxes with two deadlines, as in Carney 2005, table 4.2, at a fifth of the load."""
    graphs = {name: [[0.0, 1.0], [at, 1.0], [at + 0.0001, 0.0]] for name, at in (("tight", 0.01), ("loose", 2.0))}
    boxes = ["select, cost=100us"] * 5
    queries = {
        f"{name}{number}": {"from": [f"{name}{number}"], "operators": boxes, "qos": graph}
        for name, graph in graphs.items()
        for number in range(10)
    }
    return workload(queries, dict.fromkeys(queries, "poisson, rate=60"), duration="1 s")


def counted(simulation: Simulation) -> int:
    tally = simulation.scheduler.policy.tally
    return tally.computed + tally.compared


@pytest.mark.parametrize("settings", ["", ", order=sorted", ", push=true", ", schedule=10, order=sorted"])
def test_a_fixed_order_costs_less_than_one_that_follows_what_waits(settings: str) -> None:
    """Carney 2005, section 4.3.2: a decision of the dynamic scheduler costs more than one of the static scheduler."""
    fixed, dynamic = (running(chains(), f"{name}{settings}") for name in ("fixed-priority", "slope-slack"))
    each = [counted(one) / one.scheduler.decisions for one in (fixed, dynamic)]
    assert each[0] < each[1]


@pytest.mark.parametrize(
    ("name", "settings"),
    [*product(("fixed-priority", "slope-slack"), ("", ", push=true", ", schedule=3")), ("taat", ""), ("baat", "")],
)
def test_sorting_chooses_the_same_units_and_counts_all_that_are_ready(name: str, settings: str) -> None:
    kept, again = (traced(chains(), f"{name}{settings}, order={order}")[1] for order in ("kept", "sorted"))
    assert intervals(kept) == intervals(again)
    situation = Situation(
        {f"q{number}": ["select", "select"] for number in range(8)},
        waiting={f"q{number}": [1, 0] for number in range(8)},
        qos={f"q{number}": [[0, 1], [9, 0]] for number in range(8)},
    )
    policy = create(f"{name}, order=sorted")
    view = situation.view(policy)
    policy.changed(view)
    for unit in view.ready.values():
        policy.ready(view, unit)
    before = policy.tally.computed, policy.tally.compared
    policy.choose(view, 0)
    assert policy.tally.compared - before[1] == len(view.units) + sorting(len(view.ready))
    # Each of the eight is computed from its own queue and the one behind it; a fixed order from none.
    assert policy.tally.computed - before[0] == (16 if name == "slope-slack" else 0)


def test_decisions_by_rank_cost_one_look_each() -> None:
    """Sharaf et al. 2006, section 9.2: a static priority costs nothing to decide by, beside one that is computed."""
    queries = {f"q{number}": f"select, cost={number + 1}ms" for number in range(50)}
    given = workload(queries, "poisson, rate=0.5", duration="20 s")
    hnr, bsd = running(given, "hnr"), running(given, "bsd")
    assert hnr.scheduler.decisions == bsd.scheduler.decisions > 200
    start = 50 + sorting(50)
    assert counted(hnr) - start <= hnr.scheduler.decisions
    assert counted(bsd) > 20 * counted(hnr)
