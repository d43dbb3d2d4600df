"""What the experiments of Pielech 2004 have in common: four policies, the adaptive one, and what is measured."""

from __future__ import annotations

import numpy as np

from headgate.metrics import Records
from headgate.reproduction import Measurements, Sample, Simulation

CANDIDATES = {"RR": "rr", "FIFO": "fifo", "MTIQ": "mtiq", "Chain": "chain"}
EXPLORED = 10.0  # seconds: five of warm-up, one for each candidate and one more; charts begin after that
MEASURES = {"memory": "tuples in memory", "delay": "mean delay", "output": "mean output rate"}


def adaptive(**weights: float) -> str:
    """The adaptive policy for requirements by weight: delay and memory are to be small, the output large."""
    words = {"memory": "queue, minimize", "delay": "delay, minimize", "output": "output, maximize"}
    wanted = ", ".join(f"[{words[name]}, {weight!r}]" for name, weight in weights.items())
    return f"adaptive, candidates=[rr, fifo, mtiq, chain], requirements=[{wanted}]"


def after_exploring(records: Records) -> dict[str, float | None]:
    """Tuples in memory, delay and results a second from the end of the exploration on, as long as tuples arrive."""
    query = records.queries[0]
    arrival, emission = np.asarray(query.arrival), np.asarray(query.emission)
    moments, tuples = np.asarray(records.queue.time), np.asarray(records.queue.tuples)
    end = float(arrival.max())  # what is left by then is worked off later
    counted = (emission > EXPLORED) & (emission <= end)
    during = (moments > EXPLORED) & (moments <= end)
    return {
        "memory": float(tuples[during].mean()),
        "delay": float((emission - arrival)[counted].mean()),
        "output": float(counted.sum() / (end - EXPLORED)),
    }


def run(plan: str, policy: str) -> Simulation:
    """One policy on a plan."""
    return Simulation(workload=f"raindrop-{plan}", policy=policy, measure=after_exploring, bin=0.5)


def best(found: Measurements, measure: str, plan: str) -> Sample:
    """What the best single policy has of a measure, seed by seed."""
    singles = [found.sample(measure, name, plan) for name in CANDIDATES]
    choose = max if measure == "output" else min
    return Sample(tuple(choose(values) for values in zip(*(single.values for single in singles), strict=True)))


def worst(found: Measurements, measure: str, plan: str) -> Sample:
    """What the worst single policy has."""
    singles = [found.sample(measure, name, plan) for name in CANDIDATES]
    choose = min if measure == "output" else max
    return Sample(tuple(choose(values) for values in zip(*(single.values for single in singles), strict=True)))
