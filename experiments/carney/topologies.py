"""What figures 4.25 and 4.26 share: trees, and as many straight paths."""

from __future__ import annotations

from experiments.carney.curves import holds_until, in_all
from headgate.reproduction import Calculation, Key, Measurements, Simulation, grid

POLICIES = {
    "bucketing": "bucketing, push=true, partitions=20, schedule=10",
    "fixed": "fixed-priority, order=sorted, push=true, schedule=10",
    "slope-slack": "slope-slack, order=sorted, push=true, schedule=10",
}
RATES = (20.0, 24.0, 26.0, 28.0, 30.0, 34.0)  # of each of the 80 streams
SHAPES = {"fanout": "carney-fanout", "straight": "carney-straight"}
HIGH = 0.9


def runs() -> dict[Key, Simulation | Calculation]:
    found: dict[Key, Simulation | Calculation] = {}
    for shape, workload in SHAPES.items():
        named = {f"{shape} {name}": policy for name, policy in POLICIES.items()}
        found.update(grid(workload, named, "rate", RATES, quick=(20.0, 26.0, 34.0)))
    return found


def held(found: Measurements, shape: str, name: str) -> float:
    """Up to which rate of all streams together QoS is high."""
    return holds_until(in_all(found.curve("qos.mean", f"{shape} {name}"), 80), HIGH)
