"""Figures 4.25 and 4.26: who holds the highest load."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.carney.topologies import POLICIES, SHAPES, held, runs
from headgate.reproduction import Comparison, Experiment, Measurements, Order, Sample, Size


def compare(found: Measurements) -> Iterator[Comparison]:
    for shape in SHAPES:
        at = {name: Sample.of(held(found, shape, name)) for name in POLICIES}
        yield Order(f"rate held, {shape}", (("fixed", "slope-slack"), "bucketing"), at)


EXPERIMENT = Experiment(
    document="carney",
    id="4.25 order",
    source="figures 4.25 and 4.26, section 4.7",
    claim="bucketing holds a higher load than fixed priorities and slope-slack, with trees and with straight paths",
    runs=runs(),
    compare=compare,
    quick=Size(seconds=3.0, seeds=1),
    full=Size(seconds=20.0, seeds=2),
    paragraph="With 80 paths a decision of fixed priorities or slope-slack costs little at the calibrated cost, so "
    "that bucketing saves next to nothing and only decides less exactly. Fixed priorities keep the tight "
    "half of the applications in time under overload, and so hold a mean QoS of 0.9 longest.",
    sensitive="What decisions cost: with 80 paths that is little at the calibrated cost.",
)
