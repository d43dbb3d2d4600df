"""How adaptive chooses the next candidate, how long it stays, and what a change of requirements keeps."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.builders import arrive, chains, finish, must_run

from headgate.core import PolicyChanged, Scheduler
from headgate.model import HeadgateError, OperatorOutcome, Outcome, Run
from headgate.policies.adaptive.adaptive import Adaptive
from headgate.policies.adaptive.choosers import CHOOSERS, Exp3, Thompson, UpperBound
from headgate.policies.adaptive.requirements import Requirement
from headgate.policies.adaptive.scoring import History, Selector, reward
from headgate.policies.adaptive.statistics import Interval
from headgate.policies.guarded import Guarded
from headgate.policies.registry import create

SMALL_QUEUES = [Requirement("queue", "minimize", 1.0)]
HIGH_OUTPUT = [Requirement("output", "maximize", 1.0)]
BY_REWARDS = ("ucb", "thompson", "exp3")


# -- rewards and choosers ------------------------------------------------------------------------------------------


def test_a_turn_is_worth_where_it_stands_in_the_range_of_all() -> None:
    overall = {"queue": History(10.0, 30.0), "output": History(5.0, 5.0)}
    both = [Requirement("queue", "minimize", 0.5), Requirement("output", "maximize", 0.5)]
    assert reward(SMALL_QUEUES, {"queue": 15.0}, overall) == 0.75
    assert reward(both, {"queue": 30.0, "output": 5.0}, overall) == 0.25  # the worst queue, and nothing known of output
    assert reward(both, {"queue": 10.0}, overall) == 1.0  # there were no results to count
    assert reward(SMALL_QUEUES, {}, overall) is None


@pytest.mark.parametrize("select", BY_REWARDS)
@pytest.mark.parametrize("better", [0, 1])
def test_the_better_of_two_is_chosen_more_and_more(select: str, better: int) -> None:
    random = Random(5)
    chooser = CHOOSERS[select](2, 1.0)
    chosen: list[int] = []
    for _ in range(1000):
        chosen.append(chooser.choose(random, {0: 0.5, 1: 0.5}))
        mean = 0.7 if chosen[-1] == better else 0.3
        chooser.rewarded(chosen[-1], float(random.random() < mean))
    assert chosen[:200].count(better) < chosen[-200:].count(better) > 170


@pytest.mark.parametrize("select", BY_REWARDS)
def test_when_the_other_becomes_better_it_is_noticed(select: str) -> None:
    random = Random(5)
    chooser = CHOOSERS[select](2, 0.99)
    chosen: list[int] = []
    for turn in range(2000):
        chosen.append(chooser.choose(random, {0: 0.5, 1: 0.5}))
        better = 0 if turn < 1000 else 1
        chooser.rewarded(chosen[-1], float(random.random() < (0.8 if chosen[-1] == better else 0.2)))
    assert chosen[800:1000].count(0) > 140
    assert chosen[-200:].count(1) > 140


def test_best_stays_with_the_highest_score() -> None:
    chooser = CHOOSERS["best"](3, 1.0)
    random = Random(1)
    assert {chooser.choose(random, {0: 0.2, 1: 0.9, 2: 0.8}) for _ in range(50)} == {1}
    assert chooser.choose(random, {0: 0.2, 2: 0.8}) == 2


def test_upper_bounds_by_hand() -> None:
    """Rewards 1, 0 and 0.5 of the first, 1 of the second: means 0.5 and 1, bonuses √(2 ln 4/3) and √(2 ln 4/1)."""
    chooser = UpperBound(1.0)
    for candidate, worth in ((0, 1.0), (0, 0.0), (1, 1.0), (0, 0.5)):
        chooser.rewarded(candidate, worth)
    assert chooser.value(0) == pytest.approx(0.5 + math.sqrt(2 * math.log(4) / 3))
    assert chooser.value(1) == pytest.approx(1.0 + math.sqrt(2 * math.log(4)))
    assert chooser.value(2) == math.inf  # it had no turn yet
    assert chooser.choose(Random(1), {0: 0.5, 1: 0.5, 2: 0.5}) == 2


def test_memory_halves_what_is_older_by_a_turn() -> None:
    chooser = Thompson(0.5)
    for candidate, worth in ((0, 1.0), (0, 1.0), (1, 0.0)):
        chooser.rewarded(candidate, worth)
    assert (chooser.turns, chooser.rewards) == ({0: 0.75, 1: 1.0}, {0: 0.75, 1: 0.0})
    assert (chooser.belief(0), chooser.belief(1)) == ((1.75, 1.0), (1.0, 2.0))


def test_exp3_by_hand() -> None:
    """A second reward of 0.5 for the first of two: its weight is e^0.1 · e^(0.1 · 0.5/(p · 2)), p its chance before."""
    chooser = Exp3(1.0, 2)
    chooser.rewarded(0, 1.0)
    before = 0.9 * math.exp(0.1) / (math.exp(0.1) + 1) + 0.05
    assert chooser.chances()[0] == pytest.approx(before)
    chooser.rewarded(0, 0.5)
    weight = math.exp(0.1 + 0.1 * 0.5 / (before * 2))
    assert chooser.chances()[0] == pytest.approx(0.9 * weight / (weight + 1) + 0.05)


@given(
    st.sampled_from(BY_REWARDS),
    st.floats(0.01, 1.0),
    st.lists(st.tuples(st.integers(0, 2), st.floats(0.0, 1.0)), max_size=300),
    st.integers(0),
)
def test_whatever_the_rewards_one_of_those_asked_for_is_chosen(
    select: str, memory: float, rewards: list[tuple[int, float]], seed: int
) -> None:
    chooser = CHOOSERS[select](3, memory)
    for candidate, worth in rewards:
        chooser.rewarded(candidate, worth)
    assert chooser.choose(Random(seed), {0: 0.5, 2: 0.5}) in (0, 2)
    if isinstance(chooser, Exp3):
        assert sum(chooser.chances()) == pytest.approx(1.0)
        assert min(chooser.chances()) >= 0.1 / 3 - 1e-12


@pytest.mark.parametrize("select", CHOOSERS)
def test_the_candidate_with_the_short_queues_has_most_turns(select: str) -> None:
    selector = Selector(2, SMALL_QUEUES, 0.95, by_choices=False, chooser=CHOOSERS[select](2, 0.99))
    selector.random = Random(3)
    counted, ran = Counter[int](), 0
    for turn in range(1, 300):
        selector.chosen(ran)
        selector.sample(ran, Interval(2.0, waiting=(100, 5)[ran]), 2.0 * turn)
        selector.end_turn(ran)
        counted[ran] += 1
        selector.rate(ran, 2.0 * turn)
        ran = 1 if turn == 1 else selector.draw()
    assert counted[1] > 180


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("select=greedy", "select must be roulette or best or ucb or thompson or exp3, found greedy"),
        ("dwell=-1", "dwell must be a number of at least 0, found -1"),
        ("memory=2", "memory must be a number from 0.01 to 1, found 2"),
    ],
)
def test_what_is_wrong_is_named(settings: str, message: str) -> None:
    with pytest.raises(HeadgateError, match=message):
        create(f"adaptive, {settings}")


# -- turns ---------------------------------------------------------------------------------------------------------


def adaptive_of(scheduler: Scheduler) -> Adaptive:
    policy = scheduler.policy.inner if isinstance(scheduler.policy, Guarded) else scheduler.policy
    assert isinstance(policy, Adaptive)
    return policy


def work(scheduler: Scheduler, first: float, last: float, step: float = 0.25) -> list[tuple[float, int]]:
    """When which candidate took over, with work at all times."""
    found: list[tuple[float, int]] = []
    for tick in range(int(first / step), int(last / step)):
        now = tick * step
        arrive(scheduler, 5, at=now)
        run = must_run(scheduler, now=now)
        active = adaptive_of(scheduler)._active
        if not found or found[-1][1] != active:
            found.append((now, active))
        finish(scheduler, run, now)
    return found


def two() -> Scheduler:
    return Scheduler(chains(p="select, name=p", q="select, name=q"), BASE)


BASE = "adaptive, candidates=[rr, fifo], warmup=0s"


@pytest.mark.parametrize("select", CHOOSERS)
def test_who_has_the_turn_stays_for_the_dwell(select: str) -> None:
    scheduler = Scheduler(
        chains(p="select, name=p", q="select, name=q"), f"{BASE}, dwell=5s, every=1s, select={select}"
    )
    found = work(scheduler, 0.0, 120.0)
    changes = [at for at, _ in found]
    assert len(changes) > 2
    assert min(later - sooner for sooner, later in pairwise(changes)) >= 5.0


# -- requirements that change --------------------------------------------------------------------------------------


def test_other_requirements_keep_the_samples_and_the_turn() -> None:
    scheduler = two()
    work(scheduler, 0.0, 20.0)
    before = adaptive_of(scheduler)
    state = before._active, before._until, before._selector._choices
    queues = [histories["queue"].mean for histories in before._selector.by_candidate]
    scheduler.event(PolicyChanged(f"{BASE}, requirements=[[output, maximize, 1.0]], select=ucb"), 20.0)
    after = adaptive_of(scheduler)
    assert after is not before
    assert (after._active, after._until, after._selector._choices) == state
    assert [histories["queue"].mean for histories in after._selector.by_candidate] == queues
    assert after._selector.overall["output"].mean is not None  # sampled although nobody had asked for it
    assert list(after._selector.turns) == list(before._selector.turns)
    assert sum(after._selector.chooser.turns.values()) > 0  # type: ignore[attr-defined]
    work(scheduler, 20.0, 30.0)


def test_other_candidates_start_anew() -> None:
    scheduler = two()
    work(scheduler, 0.0, 20.0)
    scheduler.event(PolicyChanged("adaptive, candidates=[rr, mtiq], warmup=0s"), 20.0)
    assert adaptive_of(scheduler)._selector.overall["queue"].mean is None
    scheduler.event(PolicyChanged("fcfs"), 21.0)
    scheduler.event(PolicyChanged(BASE), 22.0)
    assert adaptive_of(scheduler)._selector.overall["queue"].mean is None


def test_history_passes_through_the_guard_of_the_engine() -> None:
    network = chains(p="select, name=p", q="select, name=q")
    scheduler = Scheduler(network, BASE, guard=Guarded)
    work(scheduler, 0.0, 10.0)
    scheduler.event(PolicyChanged(f"{BASE}, template=small-queues"), 10.0)
    assert adaptive_of(scheduler)._selector.overall["queue"].mean is not None
    assert isinstance(scheduler.policy, Guarded)
    assert scheduler.policy.error is None


def test_earlier_turns_are_judged_by_what_is_wanted_now() -> None:
    """The first candidate had short queues, the second high output."""
    former = Selector(2, SMALL_QUEUES, 0.95, by_choices=False, chooser=UpperBound(1.0))
    for turn, (waiting, results) in enumerate([(0, 0), (10, 50), (0, 0), (10, 50)]):
        former.chosen(turn % 2)
        former.sample(turn % 2, Interval(1.0, waiting=waiting, results=results), float(turn))
        former.end_turn(turn % 2)
    following = UpperBound(1.0)
    Selector(2, HIGH_OUTPUT, 0.95, by_choices=False, chooser=following).succeed(former)
    assert following.rewards == {0: 0.0, 1: 2.0}
    assert former.chooser.choose(Random(1), {0: 0.5, 1: 0.5}) == 0
    assert following.choose(Random(1), {0: 0.5, 1: 0.5}) == 1


# -- per candidate and operator ------------------------------------------------------------------------------------


def test_operators_are_counted_for_the_candidate_that_decided() -> None:
    scheduler = two()
    for tick in range(8):  # the first has a second, then the other
        now = tick * 0.25
        arrive(scheduler, 1, at=now)
        run: Run = must_run(scheduler, now=now)
        (call,) = run.calls
        scheduler.finished(Outcome(run, 0.1, operators=(OperatorOutcome(call, 4, 1, 0.1),)), now + 0.1)
    first, second = adaptive_of(scheduler).histories()
    assert (first.policy, second.policy) == ("rr", "fifo")
    tallies = [*first.operators.values(), *second.operators.values()]
    assert sum(tally.runs for tally in tallies) == 8
    assert min(len(first.operators), len(second.operators)) > 0
    assert all(tally.selectivity == 0.25 and tally.cost == pytest.approx(0.025) for tally in tallies)
