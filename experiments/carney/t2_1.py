"""Table 2.1: the optimal refresh frequencies of five elements."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.freshness import Elements, plan
from headgate.reproduction import Calculation, Comparison, Experiment, Holds, Measurements, Size, Value, Values

ACCESS = {"P1": (1, 1, 1, 1, 1), "P2": (1, 2, 3, 4, 5), "P3": (5, 4, 3, 2, 1)}
PUBLISHED = {
    "P1": (1.15, 1.36, 1.35, 1.14, 0.00),
    "P2": (0.33, 0.67, 1.00, 1.33, 1.67),
    "P3": (1.68, 1.83, 1.49, 0.00, 0.00),
}


def frequencies(size: Size, seed: int) -> Values:
    return {
        f"{profile} e{number}": float(often)
        for profile, access in ACCESS.items()
        for number, often in enumerate(plan(Elements.of([1, 2, 3, 4, 5], access), 5).frequency, 1)
    }


def compare(found: Measurements) -> Iterator[Comparison]:
    for profile, published in PUBLISHED.items():
        for number, figure in enumerate(published, 1):
            measured = found.sample(f"{profile} e{number}", "plan")
            if figure:
                yield Value(f"{profile}, element {number}", figure, measured)
            else:
                yield Holds(f"{profile}, element {number}: no refresh", abs(measured.mean) < 0.005, str(measured))


EXPERIMENT = Experiment(
    document="carney",
    id="T2.1",
    source="table 2.1, section 2.2.2.1",
    claim="optimal refresh frequencies of five elements that change 1 to 5 times a day, bandwidth 5, three profiles",
    runs={"plan": Calculation(function=frequencies)},
    compare=compare,
    quick=Size(),
    full=Size(),
)
