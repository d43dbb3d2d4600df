"""The schedulers of Al Moakar 2013, section 6.2.1, and what is measured of priority inversion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headgate.metrics import Records, measure
from headgate.reproduction import Measurements, Simulation
from headgate.workload import Workload

MODULES = ("dvp", "ivp", "dsp", "isp")
SCHEDULERS: Mapping[str, str] = {
    "MBD": "mbd",
    "MPRR": "mprr",
    "ML": "lottery",
    "MOL": "operator-lottery",
    "MRR": "mrr",
    "MORR": "morr",
    "PCT": "per-class-thread",
    "PCT_S": "per-class-thread, split=true",
}
LEVELS = ("mean", "p50", "p75", "p90", "p95")


def inversions(records: Records) -> dict[str, float | None]:
    """The largest PrIR of neighbouring classes, at the mean and at percentiles."""
    levels = measure(records, 1.0).inversion.levels
    return {f"PrIR {level}": max((pair.ratio or 0.0 for pair in levels[level]), default=0.0) for level in LEVELS}


def run(workload: str, policy: str) -> Simulation:
    """A scheduler on one of the document's workloads."""
    return Simulation(workload=f"almoakar-{workload}", policy=policy, measure=inversions)


def inverted(found: Measurements, *key: str | float) -> list[str]:
    """The levels at which a run inverts."""
    return [level for level in LEVELS if found.sample(f"PrIR {level}", *key).mean > 0]


class Slower:
    """One class gets fewer tuples a second than the others."""

    def __init__(self, number: int, rate: int = 500) -> None:
        self.number = number
        self.rate = rate

    def __call__(self, workload: Workload) -> Workload:
        def of(name: str) -> bool:
            return name.startswith(f"c{self.number}-")

        arrivals = f"poisson, rate={self.rate}"
        streams = (replace(each, arrivals=arrivals) if of(each.name) else each for each in workload.streams)
        return replace(workload, streams=tuple(streams))


class Times:
    """The queries of a workload several times, on the same streams and on so many cores, for so many seconds."""

    def __init__(self, times: int, cores: int, seconds: float | None = None) -> None:
        self.times = times
        self.cores = cores
        self.seconds = seconds

    def __call__(self, workload: Workload) -> Workload:
        queries = (
            replace(query, name=f"{query.name}-{copy}") for copy in range(self.times) for query in workload.queries
        )
        seconds = self.seconds or workload.duration
        return replace(workload, queries=tuple(queries), cores=self.cores, duration=seconds)
