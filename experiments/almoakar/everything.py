"""Figures 120 to 135: rates, selectivities and priorities all change (PIAT)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from experiments.almoakar.schedulers import SCHEDULERS
from headgate.metrics import Records
from headgate.reproduction import Comparison, Experiment, Key, Measurements, Order, Simulation, Size

POLICIES = {
    **{name: "mbd, update=off" if name == "MBD" else policy for name, policy in SCHEDULERS.items()},
    "DVP": "mbd, inversion=dvp, adapt=sa",
    "DSP": "mbd, inversion=dsp, adapt=sa",
}
BIN = 0.1
PRIORITIES: dict[str, list[tuple[float, int]]] = {  # from when on
    "c1": [(0.0, 80), (7.5, 50)],
    "c2": [(0.0, 30), (4.5, 50)],
    "c3": [(0.0, 30)],
    "c4": [(0.0, 10), (4.5, 20), (7.5, 15)],
    "c5": [(0.0, 10)],
}


def cumulated(records: Records) -> dict[str, float | None]:
    """PrIR of neighbours, by the priorities of the time, summed over bins of a tenth of a second."""
    bins = int(records.seconds // BIN) + 1
    means = {}
    for name in PRIORITIES:
        own = [query for query in records.queries if query.classes[0][1] == name]
        emission = np.concatenate([np.asarray(query.emission) for query in own])
        response = emission - np.concatenate([np.asarray(query.arrival) for query in own])
        place = (emission // BIN).astype(int)
        total, count = np.bincount(place, response, bins), np.bincount(place, minlength=bins)
        means[name] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return {"cumulated PrIR": sum(_inversion(means, number) for number in range(bins))}


def _inversion(means: dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]], number: int) -> float:
    now = {name: max(step for step in steps if step[0] <= number * BIN)[1] for name, steps in PRIORITIES.items()}
    ranks = sorted(set(now.values()), reverse=True)
    pairs = [
        (now[above] / now[below], means[above][number] / means[below][number])
        for higher, lower in pairwise(ranks)
        for above in now
        for below in now
        if now[above] == higher and now[below] == lower
    ]
    return float(sum(weight * (ratio - 1.0) for weight, ratio in pairs if ratio > 1.0))


def compare(found: Measurements) -> Iterator[Comparison]:
    samples = found.samples("cumulated PrIR")
    others = tuple(name for name in samples if name not in ("DSP", "DVP"))
    yield Order("cumulated inversion", (("DSP", "DVP"), others), samples)


QUICK = ("DVP", "DSP", "MRR")  # before anything changes, MBD is as good
RUNS: dict[Key, Simulation] = {
    name: Simulation(workload="almoakar-5L", policy=policy, measure=cumulated, in_quick=name in QUICK)
    for name, policy in POLICIES.items()
}

EXPERIMENT = Experiment(
    document="almoakar",
    id="PIAT",
    source="figures 120 to 135, section 6.3.7",
    claim="rates, selectivities and priorities move: DSP and DVP have the least cumulated inversion of all schedulers",
    runs=RUNS,
    compare=compare,
    quick=Size(seconds=0.5, seeds=1),
    full=Size(seconds=10.0, seeds=1),
    paragraph="When and how far rates and selectivities move is shown only in figures; the workload has changes of "
    "the same kind.",
    sensitive="When and how far rates and selectivities move, which the document shows only in figures.",
)
