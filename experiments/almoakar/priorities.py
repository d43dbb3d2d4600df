"""Figures 112 to 118: priorities change while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from headgate.metrics import Records
from headgate.reproduction import Comparison, Experiment, Holds, Key, Measurements, Order, Simulation, Size
from headgate.workload import Change, Workload

POLICIES = {"MBD_UP": "mbd", "MBD": "mbd, update=off"}
NAMES = ("c1", "c2", "c3", "c4", "c5")
SECONDS, BIN = 0.6, 0.05
PAIRS = (("c1", "c2", SECONDS / 3), ("c4", "c5", 2 * SECONDS / 3))  # from when on the first is the more important


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


def over_time(records: Records) -> dict[str, float | None]:
    """In how many bins classes are inverted after they have got different priorities, and class 5 in the last third."""
    means = {name: _by_bin(records, name) for name in NAMES}
    inverted = sum(
        float(np.sum(means[above][number:] > means[below][number:]))
        for above, below, since in PAIRS
        for number in [round(since / BIN) + 1]  # the round that is under way has to end
    )
    return {"inverted bins": inverted, "class 5": float(np.nanmean(means["c5"][round(PAIRS[1][2] / BIN) :]))}


def _by_bin(records: Records, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Mean response times of a class, by bin; nan where it has no results."""
    own = [query for query in records.queries if query.classes[0][1] == name]
    emission = np.concatenate([np.asarray(query.emission) for query in own])
    response = emission - np.concatenate([np.asarray(query.arrival) for query in own])
    place = np.minimum(emission // BIN, round(SECONDS / BIN)).astype(int)  # what is worked off later is one more bin
    count = np.bincount(place, minlength=round(SECONDS / BIN) + 1)
    total = np.bincount(place, response, len(count))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)[: round(SECONDS / BIN)]


def compare(found: Measurements) -> Iterator[Comparison]:
    """Apart: 1 and 2, 4 and 5 begin with equal priorities; then 1 has more, and 5 less. Together: the other way."""
    bins = {name: found.sample("inverted bins", name, "apart") for name in POLICIES}
    yield Order("bins with an inversion after the changes", ("MBD_UP", "MBD"), bins)
    yield Holds("MBD_UP does not invert", bins["MBD_UP"].mean == 0, f"bins: {bins['MBD_UP']}")
    last = {name: found.sample("class 5", name, "together") for name in POLICIES}
    yield Order("class 5 after it has become as important as class 4", ("MBD_UP", "MBD"), last)


CHANGES = {
    "apart": Priorities((40, 40, 30, 20, 20), {"c1": 50, "c5": 15}),
    "together": Priorities((50, 40, 30, 20, 15), {"c1": 40, "c5": 20}),
}
RUNS: dict[Key, Simulation] = {
    (name, change): Simulation(workload="almoakar-5I", policy=policy, change=made, measure=over_time)
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
    paragraph="MBD_UP follows changed priorities, and class 5 gains when it is made equal. MBD, which does not "
    "notice them, treats classes 1 and 2 alike, but does not invert them: class 1 happens to have the "
    "lighter queries here, and class 4 the slots before those of class 5. Which queries are in which "
    "class is not printed.",
)
