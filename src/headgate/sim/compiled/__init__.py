"""The simulator as compiled code, for what it knows; the same records as from the general one.

Nothing here is imported before a simulation fits and is long enough: numba takes a while to load.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Protocol

from headgate.core import Scheduler
from headgate.metrics import Records
from headgate.metrics.records.aggregates import Aggregates
from headgate.model import Source, walk
from headgate.policies.registry import create
from headgate.sim.compiled.code_cache import is_cached
from headgate.sim.compiled.fitting import misfit, misfit_of_units
from headgate.sim.feeds import check_arrivals, expected_tuples
from headgate.sim.load import scaled
from headgate.sim.policy_fit import check_isolated
from headgate.sim.setting_up import new_scheduler
from headgate.workload import Workload

LOADED = 100_000  # executions that the general simulator does while compiled code is loaded
COMPILED = 5_000_000  # and while it is compiled


class Runnable(Protocol):
    """A simulation that can begin."""

    def run(self) -> Records: ...


def new_simulation(
    workload: Workload,
    policy: str,
    *,
    bin: float,
    progress: Callable[[float], None] | None = None,
    whatever: bool = False,
) -> Runnable | str:
    """A simulation by compiled code, or why there is none; short ones only if `whatever` it costs."""
    prepared = _prepared(workload, policy, whatever)
    if isinstance(prepared, str):
        return prepared
    from headgate.sim.compiled.simulation import CompiledSimulation

    check_arrivals(prepared[0])
    return CompiledSimulation(*prepared, bin=bin, progress=progress)


def aggregated(
    workload: Workload,
    policy: str,
    *,
    bin: float,
    progress: Callable[[float], None] | None = None,
    whatever: bool = False,
) -> tuple[Records, Aggregates] | str:
    """The records of a simulation by compiled code, and its results counted as they came; or why there are none."""
    prepared = _prepared(workload, policy, whatever)
    if isinstance(prepared, str):
        return prepared
    from headgate.sim.compiled.simulation import AggregatedSimulation

    return AggregatedSimulation(*prepared, bin=bin, progress=progress).run()


def _prepared(workload: Workload, policy: str, whatever: bool) -> tuple[Workload, Scheduler] | str:
    """The workload as it is simulated and its scheduler, if compiled code can take them and they are worth it."""
    if (reason := misfit(workload, create(policy))) is not None:
        return reason
    simulated = scaled(workload)
    check_isolated(policy, simulated)
    if not whatever and expected_executions(simulated) < worth_it():
        return "it is short"
    scheduler = new_scheduler(simulated, policy)
    return misfit_of_units(scheduler) or (simulated, scheduler)


def worth_it() -> float:
    """How many executions make it worth to load compiled code, or even to compile it first."""
    return LOADED if "headgate.sim.compiled.loop" in sys.modules or is_cached() else COMPILED


def expected_executions(workload: Workload) -> float:
    """How many times a query works on a tuple, about; exact where every query reads each of its streams once."""
    tuples = {stream.name: expected_tuples(stream, workload) for stream in workload.streams}
    leaves = (leaf for query in workload.queries for leaf in walk(query.plan) if isinstance(leaf, Source))
    return sum(tuples.get(leaf.stream, 0.0) for leaf in leaves)
