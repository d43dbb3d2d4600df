"""Figures 2.8 and 2.9: a few iterations of k-means after partitioning."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.carney.partitions import large, largest
from headgate.freshness import plan
from headgate.freshness.heuristics import approximate
from headgate.reproduction import (
    Calculation,
    Comparison,
    Experiment,
    Form,
    Holds,
    Measurements,
    Order,
    Shape,
    Size,
    Values,
)

ITERATIONS = (0, 1, 3, 10)


def of_all(size: Size, seed: int) -> Values:
    return _freshness(500_000, seed)


def of_a_tenth(size: Size, seed: int) -> Values:
    return _freshness(50_000, seed)


def _freshness(objects: int, seed: int) -> Values:
    setup = large(objects, seed)
    elements = setup.elements()

    def share(partitions: int, iterations: int) -> float:
        return approximate(elements, setup.syncs, partitions=partitions, iterations=iterations).perceived_freshness

    return {
        **{f"50 after {count}": share(50, count) for count in ITERATIONS},
        "100 after 0": share(100, 0),
        "optimum": plan(elements, setup.syncs).perceived_freshness,
    }


def compare(found: Measurements) -> Iterator[Comparison]:
    curve = {float(count): largest(found, f"50 after {count}") for count in ITERATIONS}
    yield Shape("freshness of 50 partitions over iterations", Form.RISING, curve)
    gains = {
        "twice the partitions": largest(found, "100 after 0") - curve[0.0],
        "3 iterations": curve[3.0] - curve[0.0],
    }
    yield Order("gain over 50 partitions", ("twice the partitions", "3 iterations"), gains)
    share = curve[10.0] / largest(found, "optimum")
    yield Holds("50 partitions and 10 iterations are a good solution", share.mean > 0.97, f"{share} of the optimum")


EXPERIMENT = Experiment(
    document="carney",
    id="2.8",
    source="figures 2.8 and 2.9, section 2.4.1.3",
    claim="very few iterations of k-means gain much; a good one is found with 50 partitions and 10 iterations",
    runs={"part": Calculation(function=of_a_tenth), "large": Calculation(function=of_all, in_quick=False)},
    compare=compare,
    quick=Size(),
    full=Size(),
)
