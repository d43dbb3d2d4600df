"""What keeps classes apart, by itself: room for the highest class, slices, and runs that give way."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from tests.core.builders import arrive, finish, must_run, network, query, scheduler

from headgate.core import PolicyChanged, Scheduler
from headgate.core.class_guard import (
    AT_LEAST,
    GROWTH,
    LARGEST,
    LONGEST,
    OVERHEADS,
    OVERHEADS_BESIDE_KEPT,
    PATIENT,
    QUIET,
    ClassGuard,
)
from headgate.model import Idle, Level, Outcome, Run, Unit
from headgate.model.isolation import Isolation
from headgate.policies.contract import View
from headgate.policies.linear import Linear
from headgate.policies.order import Line
from headgate.stats import Stats
from headgate.stats.cost import CostModel

CHEAP = CostModel(fixed=0.0, per_tuple=0.001)
_OF = ("gold", "silver", "tin")


def unit(number: int, of: str) -> Unit:
    return Unit(number, Level.QUERY, (number,), (number,), ((number,),), (f"q{number}",), of)


GOLD, SILVER, TIN, TIN2 = unit(0, "gold"), unit(1, "silver"), unit(2, "tin"), unit(3, "tin")  # priorities 6, 3, 1


def guard(isolation: Isolation, workers: int = 2) -> ClassGuard:
    made = ClassGuard(isolation, workers)
    made.follow(network(*(query(f"{name}-query", "select", name) for name in _OF)))
    return made


def cancelled(guard: ClassGuard, now: float, *came: Unit) -> Run | None:
    """What gives way to units whose tuples come now."""
    for unit in came:
        guard.came(unit, now)
    return guard.to_cancel(came, now)


def start(guard: ClassGuard, unit: Unit, worker: int, seconds: float = 1.0, began: float = 0.0) -> Run:
    run = Run(worker + 1, worker, (unit,), ((unit.id, 0, 1),), unit.calls, began)
    guard.started(run, seconds)
    return run


# -- room ----------------------------------------------------------------------------------------------------------


def test_lower_classes_leave_workers_free_for_the_highest() -> None:
    apart = guard(Isolation(keep=1), workers=3)
    start(apart, GOLD, 0)
    assert not apart.is_full(0.0)
    start(apart, SILVER, 1)
    assert not apart.is_full(0.0)
    run = start(apart, TIN, 2)
    assert apart.is_full(0.0)
    apart.ended(run, ())
    assert not apart.is_full(0.0)


def test_a_run_whose_worker_is_free_takes_no_room() -> None:
    apart = guard(Isolation(keep=1))
    run = start(apart, TIN, 0)
    assert apart.is_full(0.0)
    apart.freed(run)
    assert not apart.is_full(0.0)


def test_one_worker_is_always_left_for_the_others() -> None:
    apart = guard(Isolation(keep=5))
    assert not apart.is_full(0.0)
    start(apart, TIN, 0)
    assert apart.is_full(0.0)


def test_an_automatic_keep_is_lifted_when_nothing_comes_to_the_highest_class() -> None:
    apart = guard(Isolation(keep="auto"))
    start(apart, TIN, 0)
    assert not apart.is_full(0.0)  # nothing has come yet
    apart.came(GOLD, 1.0)
    assert apart.is_full(1.0)
    assert apart.lifted() == 1.0 + QUIET
    assert apart.is_full(0.9 + QUIET)
    assert not apart.is_full(1.0 + QUIET)


def test_what_comes_to_other_classes_keeps_nothing() -> None:
    apart = guard(Isolation(keep="auto"))
    start(apart, TIN, 0)
    apart.came(SILVER, 1.0)
    assert not apart.is_full(1.0)


# -- slices --------------------------------------------------------------------------------------------------------


def test_slices_are_for_lower_classes() -> None:
    apart = guard(Isolation(slice=0.2))
    assert apart.seconds(GOLD, CHEAP, 0.05, 0.0) == LONGEST
    assert apart.seconds(SILVER, CHEAP, 0.05, 0.0) == 0.2
    assert guard(Isolation(keep=1)).seconds(TIN, CHEAP, 0.05, 0.0) is None


def test_an_automatic_slice_is_some_run_overheads() -> None:
    assert guard(Isolation(slice="auto")).seconds(TIN, CHEAP, 0.05, 0.0) == pytest.approx(OVERHEADS * 0.05)


def test_it_is_longer_while_a_worker_is_kept_for_the_highest_class() -> None:
    apart = guard(Isolation(slice="auto", keep=1))
    assert apart.seconds(TIN, CHEAP, 0.05, 0.0) == pytest.approx(OVERHEADS_BESIDE_KEPT * 0.05)


def test_what_has_waited_for_long_may_take_longer() -> None:
    apart = guard(Isolation(slice=0.2))
    assert apart.seconds(TIN, CHEAP, 0.05, 20.0, waited=PATIENT / 2) == 0.2
    assert apart.seconds(TIN, CHEAP, 0.05, 20.0, waited=4 * PATIENT) == pytest.approx(0.8)


def test_no_slice_is_shorter_than_some_fixed_costs_of_the_run() -> None:
    assert guard(Isolation(slice=0.2)).seconds(TIN, CostModel(0.5, 0.001), 0.05, 0.0) == AT_LEAST * 0.5


def test_a_slice_grows_while_nothing_more_important_waits() -> None:
    apart = guard(Isolation(slice=0.2), workers=1)
    found = []
    for _ in range(6):
        apart.ended(start(apart, TIN, 0), [TIN2])
        found.append(apart.seconds(TIN, CHEAP, 0.0, 0.0))
    assert found[:2] == [pytest.approx(0.2 * GROWTH), pytest.approx(0.2 * GROWTH**2)]
    assert found[-1] == pytest.approx(0.2 * LARGEST)
    assert apart.seconds(SILVER, CHEAP, 0.0, 0.0) == 0.2  # each class for itself
    apart.ended(start(apart, TIN, 0), [SILVER])
    assert apart.seconds(TIN, CHEAP, 0.0, 0.0) == 0.2


def test_a_slice_is_short_again_if_something_more_important_came_meanwhile() -> None:
    apart = guard(Isolation(slice=0.2), workers=1)
    apart.ended(start(apart, TIN, 0), ())
    run = start(apart, TIN, 0)
    apart.came(GOLD, 0.5)
    apart.ended(run, ())
    assert apart.seconds(TIN, CHEAP, 0.0, 0.0) == 0.2


def test_what_finds_a_free_worker_did_not_wait() -> None:
    apart = guard(Isolation(slice=0.2), workers=2)
    run = start(apart, TIN, 0)
    apart.came(GOLD, 0.5)
    apart.ended(run, ())
    assert apart.seconds(TIN, CHEAP, 0.0, 0.0) == pytest.approx(0.2 * GROWTH)


def test_a_unit_that_was_cancelled_gets_half_the_slice_until_a_run_of_it_ends() -> None:
    apart = guard(Isolation(slice=0.2, preempt=True), workers=1)
    apart.was_cancelled(start(apart, TIN, 0))
    assert (apart.seconds(TIN, CHEAP, 0.0, 0.0), apart.seconds(TIN2, CHEAP, 0.0, 0.0)) == (0.1, 0.2)
    apart.ended(start(apart, TIN, 0), [GOLD])
    assert apart.seconds(TIN, CHEAP, 0.0, 0.0) == 0.2


# -- runs that give way --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spent", "gives_way"),
    [
        (0.0, True),  # 6 · (2 − 0 − 0.1) = 11.4 > 1 · (0 + 0.1) = 0.1
        (1.0, True),  # 6 · (2 − 1 − 0.1) = 5.4 > 1 · (1 + 0.1) = 1.1
        (1.6, True),  # 6 · (2 − 1.6 − 0.1) = 1.8 > 1.7
        (1.65, False),  # 6 · (2 − 1.65 − 0.1) = 1.5 < 1.75
        (3.0, True),  # it is late, and thought to take a quarter longer: 6 · (0.75 − 0.1) = 3.9 > 3.1
    ],
)
def test_a_run_gives_way_if_that_is_worth_what_it_has_had(spent: float, gives_way: bool) -> None:
    apart = guard(Isolation(preempt=True), workers=1)
    run = start(apart, TIN, 0, seconds=2.0)
    assert cancelled(apart, spent, GOLD) is (run if gives_way else None)


def test_units_that_are_gone_are_forgotten() -> None:
    apart = guard(Isolation(preempt=True), workers=1)
    apart.was_cancelled(start(apart, TIN, 0))
    for number in range(100):
        apart.came(unit(number, "tin"), float(number))
    apart.follow(network(query("gold-query", "select", "gold")))
    assert (len(apart._cancels), len(apart._arrived)) == (0, 1)


def test_what_came_after_a_run_began_still_counts_in_another_network() -> None:
    apart = guard(Isolation(preempt=True), workers=1)
    run = start(apart, TIN, 0, seconds=9.0, began=1.0)
    apart.came(GOLD, 2.0)
    apart.came(TIN2, 3.0)
    apart.follow(network(*(query(f"{name}-query", "select", name) for name in _OF)))
    assert apart.to_cancel([GOLD], 3.0) is run


def test_the_run_that_gains_most_gives_way() -> None:
    apart = guard(Isolation(preempt=True), workers=3)
    start(apart, SILVER, 0, seconds=9.0)
    longest = start(apart, TIN, 1, seconds=9.0)
    start(apart, TIN2, 2, seconds=4.0)
    assert cancelled(apart, 1.0, GOLD) is longest


def test_what_waited_when_a_run_began_does_not_cancel_it() -> None:
    """The policy chose the run nevertheless, as when its turn was overdue."""
    apart = guard(Isolation(preempt=True), workers=1)
    apart.came(GOLD, 0.5)
    start(apart, TIN, 0, seconds=9.0, began=1.0)
    assert apart.to_cancel([GOLD], 1.5) is None
    assert cancelled(apart, 1.5, SILVER) is not None


def test_nothing_gives_way_if_another_worker_will_be_free_soon() -> None:
    apart = guard(Isolation(preempt=True), workers=2)
    start(apart, GOLD, 0, seconds=1.05)
    start(apart, TIN, 1, seconds=9.0)
    assert cancelled(apart, 1.0, GOLD) is None


def test_only_what_is_less_important_gives_way() -> None:
    apart = guard(Isolation(preempt=True), workers=2)
    start(apart, GOLD, 0, seconds=9.0)
    start(apart, SILVER, 1, seconds=9.0)
    assert cancelled(apart, 0.0, SILVER, TIN) is None
    assert apart.to_cancel([], 0.0) is None


def test_nothing_gives_way_while_a_worker_is_free_or_about_to_be() -> None:
    apart = guard(Isolation(preempt=True), workers=2)
    start(apart, TIN, 0, seconds=9.0)
    assert cancelled(apart, 0.0, GOLD) is None
    start(apart, TIN2, 1, seconds=9.0)
    assert cancelled(apart, 0.0, GOLD) is not None
    assert cancelled(apart, 0.0, GOLD) is None


def test_a_unit_does_not_give_way_twice_in_a_row() -> None:
    apart = guard(Isolation(preempt=True), workers=1)
    run = start(apart, TIN, 0, seconds=9.0)
    assert cancelled(apart, 0.1, GOLD) is run
    apart.was_cancelled(run)
    run = start(apart, TIN, 0, seconds=9.0, began=1.0)
    assert cancelled(apart, 1.1, GOLD) is None
    apart.ended(run, ())
    run = start(apart, TIN, 0, seconds=9.0, began=2.0)
    assert cancelled(apart, 2.1, GOLD) is run


def test_what_a_run_gave_way_to_goes_first_whatever_the_policy_prefers() -> None:
    queries = query("g", "select, cost=1s"), query("t", "select, cost=9s", "tin")
    core = scheduler("fcfs, preempt=class, train=all", *queries)
    arrive(core, 1, at=0.0)
    core.next(0, 0.0)
    finish(core, core.running[0], 0.0)
    run = must_run(core, now=0.0)
    assert run.units[0].name == "t"
    arrive(core, 1, at=1.0)
    assert core.to_cancel(1.0) is run
    core.cancelled(Outcome(run, 1.0, "cancelled"), 1.0)
    run = must_run(core, now=1.0)
    assert run.units[0].name == "g"  # although the tuples of t are older
    finish(core, run, 2.0)
    assert must_run(core, now=2.0).takes == ((run_queue(core, "t"), 0, 2),)


def run_queue(core: Scheduler, name: str) -> int:
    units = core._view.units.values()
    return next(unit.queues[0] for unit in units if unit.name == name)


def test_a_run_that_began_under_a_policy_that_cancels_none_is_not_cancelled() -> None:
    core = scheduler("fcfs, keep=1, train=all", query("g", "select"), query("t", "select, cost=9s", "tin"), workers=1)
    arrive(core, 1)
    first = must_run(core)
    finish(core, first)
    run = must_run(core)
    assert run.units[0].name == "t"
    core.event(PolicyChanged("fcfs, preempt=class, train=all"), 0.0)
    arrive(core, 1, at=0.5)
    assert core.to_cancel(0.5) is None
    finish(core, run, 9.0)
    assert core.waiting == 2


def test_room_counts_runs_that_began_before_anything_was_kept_apart() -> None:
    queries = [query(name, "select, cost=1s", "tin") for name in ("t", "u")]
    core = scheduler("fcfs", *queries, query("g", "select, cost=1s"), workers=2)
    arrive(core, 2)
    assert must_run(core).units[0].name == "t"
    core.event(PolicyChanged("fcfs, keep=1"), 0.0)
    names = []
    while not isinstance(run := core.next(1, 0.0), Idle):
        names.append(run.units[0].name)
        finish(core, run)
    assert names == ["g", "g"]


class Told(Linear):
    """Notes which queues it is told to have grown."""

    rule = "oldest"

    def __init__(self) -> None:
        super().__init__()
        self.isolation = Isolation(preempt=True)
        self.told: list[int] = []

    def line(self, unit: Unit, stats: Stats) -> Line:
        return 0.0, 1.0

    def grown(self, view: View, queues: Iterable[int]) -> None:
        self.told += queues


def test_policies_are_told_what_waits_again() -> None:
    policy = Told()
    core = scheduler(policy, query("t", "select", "tin"))
    arrive(core, 1)
    run = must_run(core)
    policy.told.clear()
    core.cancelled(Outcome(run, 1.0, "cancelled"), 1.0)
    assert policy.told == [run.takes[0][0]]
    assert must_run(core, now=1.0).takes == run.takes


def test_queues_from_which_a_run_takes_nothing_are_not_pinned() -> None:
    """A log keeps what a pinned queue may get back: it would grow for as long as nothing of this input is taken."""
    join = query("j", "join, from=[l, r], window=1s, cost=1ms", "tin")
    core = scheduler("fcfs, preempt=class, train=1", join)
    arrive(core, 1, at=0.0, stream="l")
    arrive(core, 1, at=0.5, stream="r")
    run = must_run(core, now=1.0)
    assert [queue.pinned is not None for queue in core.queues()] == [
        queue.id == run.takes[0][0] for queue in core.queues()
    ]
    finish(core, run, 1.0)
    assert [queue.pinned for queue in core.queues()] == [None, None]


def test_what_a_run_gave_way_to_finds_only_workers_that_are_not_kept() -> None:
    apart = guard(Isolation(preempt=True, keep=1), workers=3)
    start(apart, SILVER, 0)
    start(apart, TIN2, 1)
    apart.was_cancelled(start(apart, TIN, 2))
    room = apart.room([SILVER, GOLD, TIN], 0.0)
    assert room is not None
    assert [room(each) for each in (GOLD, SILVER, TIN)] == [True, False, False]
    room = apart.room([SILVER, TIN], 0.0)  # nothing that it gave way to can run
    assert room is not None
    assert not any(map(room, [SILVER, TIN]))
