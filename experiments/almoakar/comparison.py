"""Figures 21 to 69: MBD beside seven other schedulers on five workloads."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.almoakar.schedulers import SCHEDULERS, inverted, run
from headgate.reproduction import (
    Bound,
    Comparison,
    Experiment,
    Holds,
    Key,
    Measurements,
    Ratio,
    Sample,
    Simulation,
    Size,
)

UNINVERTED = {  # figures 28, 38, 48, 58 and 68: who has no inversion at any level
    "5G_4": ("MBD", "MPRR"),
    "3D_6": ("MBD", "MPRR", "ML"),
    "3E_6": ("MBD", "MPRR", "MOL", "PCT", "PCT_S"),
    "3F_6": ("MBD", "MPRR"),
    "5I": ("MBD", "MPRR"),
}
STARVATION = {  # response time of one class over that of another
    ("3D_6", "MPRR"): ("c3", "c1", 10.0),
    ("3E_6", "MBD"): ("c3", "c1", 3.6),
    ("3E_6", "PCT_S"): ("c3", "c1", 123.0),
    ("3F_6", "MPRR"): ("c3", "c1", 4.3),
    ("5I", "MBD"): ("c5", "c1", 6.2),
    ("5I", "PCT_S"): ("c3", "c1", 48.0),
}


def compare(found: Measurements) -> Iterator[Comparison]:
    for workload in UNINVERTED:
        levels = inverted(found, "MBD", workload)
        yield Holds(f"MBD does not invert on {workload}", not levels, ", ".join(levels) or "at no level")
    for (workload, name), (above, below, ratio) in STARVATION.items():
        yield Ratio(f"{name} on {workload}, {above} over {below}", ratio, _over(found, name, workload, above, below))
    yield Bound("MBD on 3F_6, c3 over c1", _over(found, "MBD", "3F_6", "c3", "c1"), least=1.0, most=1.5)


def _over(found: Measurements, name: str, workload: str, above: str, below: str) -> Sample:
    upper, lower = (found.sample(f"classes.{each}.response_time.mean", name, workload) for each in (above, below))
    return upper / lower


RUNS: dict[Key, Simulation] = {
    (name, workload): run(workload, SCHEDULERS[name])
    for name, workload in [*(("MBD", each) for each in UNINVERTED), *((name, each) for each, name in STARVATION)]
}

EXPERIMENT = Experiment(
    document="almoakar",
    id="Compare",
    source="figures 21 to 69, section 6.3.1",
    claim="MBD inverts on none of 5G_4, 3D_6, 3E_6, 3F_6, 5I; the least class over the first: MPRR 10 on 3D_6, MBD 3.6 "
    "and PCT_S 123 on 3E_6, MPRR 4.3 and MBD below 1.5 on 3F_6, MBD 6.2 and PCT_S 48 on 5I",
    runs=RUNS,
    compare=compare,
    quick=Size(seconds=0.15, seeds=1),
    full=Size(seconds=2.0, seeds=2),
    paragraph="Nobody is inverted under MBD, as published. Ratios of classes that PCT overloads grow with the "
    "length of a run and depend on how far they are overloaded, which the document does not say; MPRR's "
    "depend on the length of queues.",
    sensitive="The load: classes that PCT overloads answer later the longer a run is.",
)
