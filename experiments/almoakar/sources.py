"""Figure 119: a second core for the sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from experiments.almoakar.schedulers import Times
from headgate.reproduction import Comparison, Experiment, Form, Key, Measurements, Order, Shape, Simulation, Size
from headgate.workload import Workload


class Cores:
    """The queries of 5S_8 on so many cores, with so many for the sources."""

    def __init__(self, cores: int, source_cores: int, order: str) -> None:
        self.cores = cores
        self.source_cores = source_cores
        self.order = order

    def __call__(self, workload: Workload) -> Workload:
        made = Times(4, self.cores)(workload)
        return replace(made, source_cores=self.source_cores, sources=self.order)


def compare(found: Measurements) -> Iterator[Comparison]:
    weighted = found.samples("response_time.weighted")
    yield Order("weighted response time", ("8+1", ("7+2 MORR", "7+2 MBD")), weighted)
    two = {0.0: weighted["7+2 MORR"], 1.0: weighted["7+2 MBD"]}
    yield Shape("7+2, by MORR and by MBD", Form.FLAT, two)


RUNS: dict[Key, Simulation] = {
    name: Simulation(workload="almoakar-5S_2", policy="mbd", change=change)
    for name, change in {
        "8+1": Cores(8, 1, "rr"),
        "7+2 MORR": Cores(7, 2, "rr"),
        "7+2 MBD": Cores(7, 2, "mbd"),
    }.items()
}

EXPERIMENT = Experiment(
    document="almoakar",
    id="Sources",
    source="figure 119, section 6.3.6",
    claim="8 cores and 1 for the sources beat 7 and 2, whether these go by MORR or by MBD",
    runs=RUNS,
    compare=compare,
    quick=Size(seconds=0.15, seeds=1),
    full=Size(seconds=2.0, seeds=1),
    sensitive="What reading a tuple costs, which the document does not print.",
)
