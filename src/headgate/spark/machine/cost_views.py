"""What runs cost by what was measured, for people to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.core import Scheduler
from headgate.stats.run_costs import FittedCost


@dataclass(frozen=True, slots=True)
class FittedUnit:
    """The fitted costs of a unit, which is a query, a group of queries, or a part of a query."""

    name: str
    query_class: str
    fitted: FittedCost


@dataclass(frozen=True, slots=True)
class CostView:
    """The numbers by which the policy decides."""

    policy: str
    queries: Mapping[str, tuple[float, float]]  # seconds per tuple, and per run beyond what every run costs
    units: tuple[FittedUnit, ...]
    run_overhead: float  # seconds of a job, whatever it does
    crowding: float  # how much slower a run is beside another one
    error: float | None  # the median error of predicted run times, relative to what was measured
    train: float
    rates: Mapping[str, float]


def cost_view(scheduler: Scheduler) -> CostView:
    """The costs as a scheduler knows them now."""
    network, measured = scheduler.network, scheduler.measured
    costs = measured.run_costs
    return CostView(
        policy=str(scheduler.policy),
        queries={
            name: (
                sum(measured.operators[number].cost for number in numbers),
                sum(measured.operators[number].overhead for number in numbers),
            )
            for name, numbers in network.operators.items()
        },
        units=tuple(
            FittedUnit(str(unit), unit.payer, fitted)
            for unit in scheduler.units
            if (fitted := costs.fitted(unit.calls)) is not None
        ),
        run_overhead=measured.run_overhead,
        crowding=costs.crowding,
        error=costs.error(),
        train=measured.train,
        rates=dict(measured.rates),
    )
