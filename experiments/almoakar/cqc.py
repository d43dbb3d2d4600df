"""Figures 4 to 7: CQC beside HR on one core."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.reproduction import Comparison, Experiment, Key, Measurements, Order, Ratio, Simulation, Size

PUBLISHED = {"A": 9.4, "B": 19.8, "C": 19.3}
POLICIES = {"CQC": "cqc, period=1ms", "HR": "hr, level=operator"}
FIRST = "classes.c1.response_time.mean"


def compare(found: Measurements) -> Iterator[Comparison]:
    for workload, factor in PUBLISHED.items():
        cqc, hr = (found.sample(FIRST, name, workload) for name in ("CQC", "HR"))
        yield Ratio(f"class 1 of {workload}, HR over CQC", factor, hr / cqc)
        last = {name: found.sample("classes.c3.response_time.mean", name, workload) for name in POLICIES}
        yield Order(f"class 3 of {workload} pays for it", ("HR", "CQC"), last)


RUNS: dict[Key, Simulation] = {
    (name, workload): Simulation(workload=f"almoakar-{workload}", policy=policy)
    for name, policy in POLICIES.items()
    for workload in PUBLISHED
}

EXPERIMENT = Experiment(
    document="almoakar",
    id="CQC",
    source="figures 4 to 7, section 4.2.2",
    claim="class 1 is answered 9.4, 19.8, 19.3 times sooner under CQC than under HR on workloads A, B, C",
    runs=RUNS,
    compare=compare,
    quick=Size(seconds=0.4, seeds=1),
    full=Size(seeds=2),
    paragraph="On A, CQC is far better for class 1 than HR, and on all three workloads class 3 pays for it, as "
    "published. On B and C, where class 1 has few queries, HR serves it sooner here: it reads sources "
    "only when all is done, so that few tuples are in the way of the cheap ones. The document prints "
    "neither costs nor the load, and both decide it.",
    sensitive="The load: HR makes class 1 wait the longer the nearer the system is to overload.",
)
