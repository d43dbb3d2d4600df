"""Figure 3.10: where the time goes."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.metrics import Records
from headgate.reproduction import Comparison, Experiment, Measurements, Order, Ratio, Simulation, Size, Values

NAMES = {"TAAT": "taat", "BAAT": "baat", "MC": "aaat"}
POLICIES = {name: f"{policy}, order=sorted, schedule=1000" for name, policy in NAMES.items()}


def spent(records: Records) -> Values:
    """Core seconds of all, and the scheduler's share of what was not spent on tuples."""
    overhead = records.call_overhead + records.run_overhead + records.scheduling
    return {"total": records.busy + records.scheduling, "scheduler": records.scheduling / overhead}


def compare(found: Measurements) -> Iterator[Comparison]:
    total, scheduler = found.samples("total"), found.samples("scheduler")
    yield Order("time for the same tuples", ("MC", "BAAT", "TAAT"), total)
    yield Ratio("MC over BAAT", 0.5, total["MC"] / total["BAAT"])
    yield Order("the scheduler's share of overhead", ("TAAT", "BAAT", "MC"), scheduler)


EXPERIMENT = Experiment(
    document="carney",
    id="3.10",
    source="figure 3.10, section 3.4.5",
    claim="time for 100 000 tuples: a tuple at a time is far worse than trains, and superboxes need almost 50 % "
    "less than trains; the more is batched, the larger the share of the scheduler in overheads",
    runs={name: Simulation(workload="carney-3.10", policy=policy, measure=spent) for name, policy in POLICIES.items()},
    compare=compare,
    quick=Size(seconds=1.0, seeds=1),
    full=Size(seconds=10.0, seeds=3),
    sensitive="The costs of boxes beside the overheads of calls, runs and decisions; the capacity, 0.6 here.",
)
