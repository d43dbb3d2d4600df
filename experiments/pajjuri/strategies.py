"""What the experiments of Pajjuri 2004 have in common: four strategies, and the query at any rate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headgate.reproduction import Key, Simulation
from headgate.workload import Workload

QUANTUM = "quantum=100ms"
STRATEGIES = {
    "path capacity": f"path-capacity, {QUANTUM}",
    "simplified segment": f"simplified-segment, {QUANTUM}",
    "segment": f"segment, {QUANTUM}",
    "round robin": f"rr, {QUANTUM}",
}
RATES = (100, 300, 500, 700, 900)
TUPLES = 5000  # five windows of 1000


class At:
    """The query fed at a rate: the same tuples at each, in as much time as that takes."""

    def __init__(self, rate: float, tuples: int = TUPLES) -> None:
        self.rate = rate
        self.tuples = tuples

    def __call__(self, workload: Workload) -> Workload:
        streams = tuple(replace(stream, arrivals=f"poisson, rate={self.rate:g}") for stream in workload.streams)
        return replace(workload, streams=streams, duration=self.tuples / self.rate)


def over_rates(rates: Iterable[float], quick: Iterable[float]) -> dict[Key, Simulation]:
    """Every strategy at every rate, by (strategy, rate)."""
    among_quick = set(quick)
    return {
        (name, rate): Simulation(
            workload="mavstream", policy=policy, change=At(rate), bin=1.0, in_quick=rate in among_quick
        )
        for name, policy in STRATEGIES.items()
        for rate in rates
    }
