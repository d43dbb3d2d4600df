"""Checks that a policy reads exactly the statistics that it declares, and changes none."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, cast

from headgate.policies.checks.demand import demand
from headgate.policies.checks.random_run import RandomRun
from headgate.policies.registry import create
from headgate.stats import STATISTICS, Stats


class ReadRecorder:
    """Stands for statistics and records which of them were read."""

    def __init__(self, stats: Stats, read: set[str]) -> None:
        self.stats = stats
        self.read = read

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            self.read.add(name)
        return getattr(self.stats, name)


def reads_only_what_it_declares(text: str) -> None:
    """Every declared need is a statistic, and nothing else is read: the view answers nothing else."""
    policy = create(text)
    unknown = policy.needs - STATISTICS
    demand(not unknown, f"{text} declares {sorted(unknown)}, which is no statistic; there are {sorted(STATISTICS)}")
    RandomRun(policy).step(100).drain()


def reads_all_that_it_declares(text: str) -> None:
    """Every declared need is read while deciding."""
    policy = create(text)
    read: set[str] = set()
    random_run = RandomRun(policy, stats=lambda stats: cast(Stats, ReadRecorder(stats, read)))
    random_run.notify_all()
    random_run.drain()
    unread = policy.needs - read
    demand(not unread, f"{text} declares {sorted(unread)} but never reads it; take it out of `needs`")


def leaves_statistics_alone(text: str) -> None:
    """Deciding changes no statistic and nothing of the network."""
    policy = create(text)
    random_run = RandomRun(policy)
    before = deepcopy((random_run.view.measured, random_run.view.network))
    random_run.step(100).drain()
    demand(
        (random_run.view.measured, random_run.view.network) == before, f"{text} changes the statistics that it reads"
    )
