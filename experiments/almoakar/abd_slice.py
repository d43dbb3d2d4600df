"""Table 6: ABD's first slice."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.reproduction import (
    Bound,
    Comparison,
    Experiment,
    Form,
    Key,
    Measurements,
    Picture,
    Shape,
    Simulation,
    Size,
)

PUBLISHED = {20: 1749, 50: 1788, 100: 1776, 500: 1775, 1000: 1768}  # microseconds


def compare(found: Measurements) -> Iterator[Comparison]:
    curve = found.curve("response_time.weighted", "ABD")
    yield Shape("weighted mean over the first slice", Form.FLAT, curve)
    means = sorted(curve.values(), key=lambda sample: sample.mean)
    yield Bound("largest over smallest", means[-1] / means[0], most=1788 / 1749)


def picture(found: Measurements) -> Picture:
    return Picture(found.curves("response_time.weighted"), "first slice (µs)", "response_time.weighted")


RUNS: dict[Key, Simulation] = {
    ("ABD", slice): Simulation(workload="almoakar-E", policy=f"abd, slice={slice}us") for slice in PUBLISHED
}

EXPERIMENT = Experiment(
    document="almoakar",
    id="ABD-slice",
    source="table 6, section 5.3.2",
    claim="a first slice of 20 to 1000 µs changes the weighted mean on E by about 2 %",
    runs=RUNS,
    compare=compare,
    picture=picture,
    quick=Size(seconds=0.5, seeds=1),
    full=Size(seeds=2),
)
