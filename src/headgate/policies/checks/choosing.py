"""Checks of what is chosen, and when."""

from __future__ import annotations

from dataclasses import replace

from headgate.model import Idle, Spec
from headgate.policies.checks.play import Play
from headgate.policies.checks.scene import MIXED, demand
from headgate.policies.registry import create

SEEDS = range(3)
STEPS = 150


def chooses_only_what_can_run(text: str) -> None:
    """A unit is chosen only if something waits for it and nothing that runs shares an operator with it."""
    for seed in SEEDS:
        Play(create(text), seed=seed).on(STEPS)  # it demands so at every decision


def is_idle_without_work(text: str) -> None:
    """With nothing to run the answer is Idle: at the start, and after all has been run."""
    policy = create(text)
    nothing = replace(MIXED, waiting=dict.fromkeys(MIXED.queries, 0))
    view = Play(policy, nothing).view
    demand(isinstance(policy.choose(view, 0), Idle), f"{text} found something to run where nothing waits")
    view = Play(policy).drain().view
    demand(isinstance(policy.choose(view, 0), Idle), f"{text} found something to run after all had been run")


def loses_nothing(text: str) -> None:
    """Whatever is blocked, woken, told again or told anew: all that waits is run in the end."""
    for seed in SEEDS:
        play = Play(create(text), seed=seed)
        for _ in range(3):
            play.on(STEPS // 3).drain()


def ignores_the_order_of_candidates(text: str) -> None:
    """The same units are chosen in whatever order they stand in the view or have become ready."""
    for seed in SEEDS:
        first, *others = (Play(create(text), seed=seed, shuffle=shuffle).on(STEPS).decisions for shuffle in range(4))
        demand(all(other == first for other in others), f"{text} decides by the order in which units became ready")


def repeats_itself(text: str) -> None:
    """The same seed gives the same schedule."""
    schedules = []
    for _ in range(2):
        policy = create(text)
        policy.seed(7)
        schedules.append(Play(policy, seed=1).on(STEPS).decisions)
    demand(schedules[0] == schedules[1], f"{text} decides differently with the same seed")


def lists_no_more_than_asked(text: str) -> None:
    """With schedule=n a decision lists at most n units, all different, all able to run."""
    spec = Spec.parse(text)
    for count in (1, 3):
        listing = str(Spec(spec.name, {**spec.settings, "schedule": count}))
        play = Play(create(listing))
        play.watch = lambda view, choice, most=count: demand(  # type: ignore[misc]
            choice.together or len(choice.units) <= most, f"{text} lists {len(choice.units)} units instead of {most}"
        )
        play.on(STEPS).drain()
