"""Checks of what a policy reads: what it declares, all of it, and without touching it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, cast

from headgate.policies.checks.play import Play
from headgate.policies.checks.scene import demand
from headgate.policies.registry import create
from headgate.stats import STATISTICS, Stats


class Witness:
    """Statistics that remember which of them were read."""

    def __init__(self, stats: Stats) -> None:
        self.stats = stats
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            self.read.add(name)
        return getattr(self.stats, name)


def reads_only_what_it_declares(text: str) -> None:
    """Every declared need is a statistic, and nothing else is read: the view answers nothing else."""
    policy = create(text)
    unknown = policy.needs - STATISTICS
    demand(not unknown, f"{text} declares {sorted(unknown)}, which is no statistic; there are {sorted(STATISTICS)}")
    Play(policy).on(100).drain()


def reads_all_that_it_declares(text: str) -> None:
    """Every declared need is read while deciding."""
    policy = create(text)
    play = Play(policy)
    witness = Witness(play.view.stats)
    play.view.stats = cast(Stats, witness)
    play.renew()
    play.drain()
    unread = policy.needs - witness.read
    demand(not unread, f"{text} declares {sorted(unread)} but never reads it; take it out of `needs`")


def leaves_statistics_alone(text: str) -> None:
    """Deciding changes no statistic and nothing of the network."""
    policy = create(text)
    play = Play(policy)
    before = deepcopy((play.view.measured, play.view.network))
    play.on(100).drain()
    demand((play.view.measured, play.view.network) == before, f"{text} changes the statistics that it reads")
