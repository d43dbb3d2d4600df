"""Figure 2.1: the frequency that an element gets over how often it changes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from headgate.freshness.curve import ratio_at_gain
from headgate.reproduction import Calculation, Comparison, Experiment, Form, Holds, Measurements, Shape, Size, Values

SHARES, RATES = (0.5, 1.0, 2.0), (0.1, 0.3, 0.5, 0.8, 1.2, 1.6, 2.0)


def frequencies(size: Size, seed: int) -> Values:
    rates, shares = np.array(RATES), np.array(SHARES)
    often = rates[:, None] / ratio_at_gain(rates[:, None] / shares)
    return {
        f"{share} at {rate}": float(often[row, column])
        for row, rate in enumerate(RATES)
        for column, share in enumerate(SHARES)
    }


def compare(found: Measurements) -> Iterator[Comparison]:
    same, twice = (found.sample(f"{share} at 1.2", "plan") for share in (1.0, 2.0))
    yield Holds("λ = 1.2 gets nothing at p = μ", same.mean == 0.0, str(same))
    yield Holds("and much at p = 2μ", twice.mean > 0.5, str(twice))
    for rate in RATES:
        curve = {share: found.sample(f"{share} at {rate}", "plan") for share in SHARES}
        if any(sample.mean for sample in curve.values()):
            yield Shape(f"frequency over access at λ = {rate}", Form.RISING, curve)


EXPERIMENT = Experiment(
    document="carney",
    id="2.1",
    source="figure 2.1, section 2.2.2",
    claim="what changes too often for its accesses gets no bandwidth; more accesses, more bandwidth, at any rate",
    runs={"plan": Calculation(function=frequencies)},
    compare=compare,
    quick=Size(),
    full=Size(),
)
