"""Figure 6.7: memory over time under bursts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from experiments.pajjuri.strategies import STRATEGIES
from headgate.metrics import Records
from headgate.reproduction import Comparison, Experiment, Measurements, Order, Picture, Sample, Simulation, Size

BURSTS = ((150.0, 200.0), (300.0, 350.0))
NAMES = ("path capacity", "simplified segment", "segment")
EVERY = 25  # seconds between the values of the picture


def over_time(records: Records) -> dict[str, float | None]:
    """Mean memory, by how much it rises in each burst, and its course."""
    moments, size = np.asarray(records.queue.time), np.asarray(records.queue.bytes)
    fed = moments <= 400.0
    found: dict[str, float | None] = {"memory": float(size[fed].mean())}
    for number, (begin, end) in enumerate(BURSTS, 1):
        before = size[(moments > begin - 10) & (moments <= begin)].mean()
        during = size[(moments > end - 10) & (moments <= end)].mean()
        found[f"jump {number}"] = float(during - before)
    for moment in range(EVERY, 401, EVERY):
        found[f"at {moment}"] = float(size[(moments > moment - EVERY) & (moments <= moment)].mean())
    return found


def compare(found: Measurements) -> Iterator[Comparison]:
    memory = {name: found.sample("memory", name) for name in NAMES}
    yield Order("mean memory while tuples are fed", ("segment", "simplified segment", "path capacity"), memory)
    for number in (1, 2):
        jumps = {name: found.sample(f"jump {number}", name) for name in NAMES}
        yield Order(f"rise in burst {number}", ("segment", "path capacity"), jumps)
        yield Order(
            f"path capacity rises in burst {number}", ("zero", "path capacity"), {**jumps, "zero": _zero(jumps)}
        )


def _zero(like: dict[str, Sample]) -> Sample:
    return next(iter(like.values())) * 0.0


def picture(found: Measurements) -> Picture:
    curves = {
        name: [(float(moment), found.sample(f"at {moment}", name).band) for moment in range(EVERY, 401, EVERY)]
        for name in NAMES
    }
    return Picture(curves, "seconds", "queue.bytes.mean")


EXPERIMENT = Experiment(
    document="pajjuri",
    id="6.7",
    source="figure 6.7, section 6.5",
    claim="bursts of twice the rate: the memory of path capacity jumps, that of segment stays lowest",
    runs={
        name: Simulation(workload="mavstream-bursts", policy=STRATEGIES[name], measure=over_time, bin=1.0)
        for name in NAMES
    },
    compare=compare,
    picture=picture,
    quick=Size(seeds=1),
    full=Size(seeds=3),
    paragraph="The memory of path capacity jumps in both bursts and is the largest, as published. Segment and "
    "simplified segment are within a few percent of each other: where segments are cut decides what piles "
    "up between operators, and the document does not print the query.",
    sensitive="By how much the bursts overload the query.",
)
