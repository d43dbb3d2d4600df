"""Figure 6.2: each policy by itself on query plan 2."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.pielech.candidates import CANDIDATES, run
from headgate.reproduction import Comparison, Experiment, Key, Measurements, Order, Simulation, Size


def compare(found: Measurements) -> Iterator[Comparison]:
    memory, delay = found.samples("memory", "join"), found.samples("delay", "join")
    yield Order("tuples in memory", (("Chain", "MTIQ"), ("FIFO", "RR")), memory)
    yield Order("mean delay", ("FIFO", ("MTIQ", "Chain")), delay)


RUNS: dict[Key, Simulation] = {(name, "join"): run("join", policy) for name, policy in CANDIDATES.items()}

EXPERIMENT = Experiment(
    document="pielech",
    id="6.2",
    source="figure 6.2, section 6.2",
    claim="memory: Chain and MTIQ best; delay: FIFO among the best, MTIQ and Chain worst",
    runs=RUNS,
    compare=compare,
    quick=Size(seconds=30.0, seeds=2),
    full=Size(seconds=30.0, seeds=10),
    sensitive="Costs and selectivities of the plan, and how far bursts overload it.",
)
