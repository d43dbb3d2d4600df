"""What figures 13 and 14 share: BSD's implementations, every computation and comparison charged or none."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from experiments.sharaf.testbed import UNIT, at_load, queries
from headgate.reproduction import Simulation
from headgate.workload import Workload

LOAD = 0.95
HYPOTHETICAL = "BSD-hypothetical"


def clustered(clusters: int, clustering: str = "log") -> str:
    """BSD with all techniques of section 6.2 and 7."""
    return f"bsd, clusters={clusters}, clustering={clustering}, pruning=fagin, batch=cluster"


def _charged(workload: Workload) -> Workload:
    return replace(workload, decision_cost=UNIT)  # as the cheapest operator


def free(policy: str) -> Simulation:
    """A simulation in which deciding takes no time."""
    return Simulation(workload=queries, policy=policy, per_seed=partial(at_load, load=LOAD))


def charged(policy: str, *, in_quick: bool = True) -> Simulation:
    """A simulation in which every priority that is computed or compared takes as long as the cheapest operator."""
    return replace(free(policy), change=_charged, in_quick=in_quick)
