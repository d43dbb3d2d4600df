"""Figures 112 to 118: priorities change while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from headgate.metrics import Records
from headgate.reproduction import Comparison, Experiment, Holds, Key, Measurements, Order, Simulation, Size
from headgate.workload import Change, Workload

POLICIES = {"MBD_UP": "mbd", "MBD": "mbd, update=off"}
SECONDS = 0.6
NAMES = ("c1", "c2", "c3", "c4", "c5")


class Priorities:
    """Priorities at first, and those of classes 1 and 5 from a third and from two thirds of the run on."""

    def __init__(self, first: tuple[int, ...], later: dict[str, int]) -> None:
        self.first = dict(zip(NAMES, first, strict=True))
        self.later = later

    def __call__(self, workload: Workload) -> Workload:
        classes = tuple(replace(each, priority=float(self.first[each.name])) for each in workload.classes)
        changes = tuple(
            Change(at=SECONDS * place / 3, query_class=name, priority=float(priority))
            for place, (name, priority) in enumerate(self.later.items(), 1)
        )
        return replace(workload, classes=classes, changes=changes, duration=SECONDS)


def by_thirds(records: Records) -> dict[str, float | None]:
    """Mean response time of each class in each third of the run."""
    found: dict[str, float | None] = {}
    third = SECONDS / 3
    for name in NAMES:
        own = [query for query in records.queries if query.classes[0][1] == name]
        emission = np.concatenate([np.asarray(query.emission) for query in own])
        response = emission - np.concatenate([np.asarray(query.arrival) for query in own])
        for place in range(3):
            within = (emission > place * third) & (emission <= (place + 1) * third)
            found[f"{name} {place + 1}"] = float(response[within].mean()) if within.any() else None
    return found


def compare(found: Measurements) -> Iterator[Comparison]:
    """Apart: 1 and 2, 4 and 5 begin with equal priorities; then 1 has more, and 5 less. Together: the other way."""
    for above, below, third in (("c1", "c2", 2), ("c1", "c2", 3), ("c4", "c5", 3)):
        means = {name: found.sample(f"{name} {third}", "MBD_UP", "apart") for name in (above, below)}
        yield Order(f"MBD_UP, third {third}", (above, below), means)
    inverted = [
        f"{above} after {below} in third {third}"
        for above, below, third in (("c1", "c2", 2), ("c1", "c2", 3), ("c4", "c5", 3))
        if found.sample(f"{above} {third}", "MBD", "apart").mean > found.sample(f"{below} {third}", "MBD", "apart").mean
    ]
    yield Holds("MBD, which does not notice, inverts", bool(inverted), ", ".join(inverted) or "no")
    last = {name: found.sample("c5 3", name, "together") for name in POLICIES}
    yield Order("class 5 after it has become as important as class 4", ("MBD_UP", "MBD"), last)


CHANGES = {
    "apart": Priorities((40, 40, 30, 20, 20), {"c1": 50, "c5": 15}),
    "together": Priorities((50, 40, 30, 20, 15), {"c1": 40, "c5": 20}),
}
RUNS: dict[Key, Simulation] = {
    (name, change): Simulation(workload="almoakar-5I", policy=policy, change=made, measure=by_thirds)
    for name, policy in POLICIES.items()
    for change, made in CHANGES.items()
}

EXPERIMENT = Experiment(
    document="almoakar",
    id="Priorities",
    source="figures 112 to 118, section 6.3.5",
    claim="changed priorities are followed: no inversion with MBD_UP, one with MBD; class 5 gains when made equal",
    runs=RUNS,
    compare=compare,
    quick=Size(seeds=1),
    full=Size(seeds=5),
)
