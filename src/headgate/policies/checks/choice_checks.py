"""Checks of the units that a policy chooses, and of when it is idle."""

from __future__ import annotations

from dataclasses import replace

from headgate.model import Idle, Spec
from headgate.policies.checks.demand import demand
from headgate.policies.checks.mixed_situation import MIXED
from headgate.policies.checks.random_run import RandomRun
from headgate.policies.registry import create

SEEDS = range(3)
STEPS = 150


def chooses_only_what_can_run(text: str) -> None:
    """A unit is chosen only if something waits for it and nothing that runs shares an operator with it."""
    for seed in SEEDS:
        RandomRun(create(text), seed=seed).step(STEPS)  # checks this at every decision


def is_idle_without_work(text: str) -> None:
    """With nothing to run the answer is Idle: at the start, and after all has been run."""
    policy = create(text)
    nothing = replace(MIXED, waiting=dict.fromkeys(MIXED.queries, 0))
    view = RandomRun(policy, nothing).view
    demand(isinstance(policy.choose(view, 0), Idle), f"{text} found something to run where nothing waits")
    view = RandomRun(policy).drain().view
    demand(isinstance(policy.choose(view, 0), Idle), f"{text} found something to run after all had been run")


def loses_nothing(text: str) -> None:
    """However units are blocked, woken and announced again: everything that waits is run in the end."""
    for seed in SEEDS:
        random_run = RandomRun(create(text), seed=seed)
        for _ in range(3):
            random_run.step(STEPS // 3).drain()


def ignores_the_order_of_candidates(text: str) -> None:
    """The same units are chosen in whatever order they stand in the view or have become ready."""
    for seed in SEEDS:
        runs = (RandomRun(create(text), seed=seed, shuffle=shuffle) for shuffle in range(4))
        first, *others = (run.step(STEPS).decisions for run in runs)
        demand(all(other == first for other in others), f"{text} decides by the order in which units became ready")


def repeats_itself(text: str) -> None:
    """The same seed gives the same schedule."""
    schedules = []
    for _ in range(2):
        policy = create(text)
        policy.seed(7)
        schedules.append(RandomRun(policy, seed=1).step(STEPS).decisions)
    demand(schedules[0] == schedules[1], f"{text} decides differently with the same seed")


def lists_no_more_than_asked(text: str) -> None:
    """With schedule=n a decision lists at most n units, all different, all able to run."""
    spec = Spec.parse(text)
    for count in (1, 3):
        listing = str(Spec(spec.name, {**spec.settings, "schedule": count}))
        random_run = RandomRun(create(listing))
        random_run.watch = lambda view, choice, most=count: demand(  # type: ignore[misc]
            choice.together or len(choice.units) <= most, f"{text} lists {len(choice.units)} units instead of {most}"
        )
        random_run.step(STEPS).drain()
