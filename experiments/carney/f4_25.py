"""Figures 4.25 and 4.26: trees behave as straight paths."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.carney.topologies import POLICIES, held, runs
from headgate.reproduction import Comparison, Experiment, Measurements, Picture, Ratio, Sample, Size


def compare(found: Measurements) -> Iterator[Comparison]:
    for name in POLICIES:
        alike = Sample.of(held(found, "fanout", name) / held(found, "straight", name))
        yield Ratio(f"{name}: rate held, trees over straight paths", 1.0, alike)


def picture(found: Measurements) -> Picture:
    return Picture(found.curves("qos.mean"), "rate of each of 80 streams (tuples/s)", "qos.mean")


EXPERIMENT = Experiment(
    document="carney",
    id="4.25",
    source="figures 4.25 and 4.26, section 4.7",
    claim="pushed through, ten applications of fan-out 2 and depth 4 behave as 80 straight paths of 4 boxes",
    runs=runs(),
    compare=compare,
    picture=picture,
    quick=Size(seconds=3.0, seeds=1),
    full=Size(seconds=20.0, seeds=2),
    sensitive="Costs and rates, which are not printed: boxes of 0.1 ms as in table 4.2; and that a mean QoS of 0.9 "
    "counts as held.",
)
