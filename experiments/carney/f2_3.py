"""Figure 2.3: perceived freshness over skew, with and without regard to accesses."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.freshness import general_plan, plan
from headgate.freshness.setups import Alignment, Setup
from headgate.reproduction import (
    Calculation,
    Comparison,
    Experiment,
    Form,
    Holds,
    Measurements,
    Order,
    Sample,
    Shape,
    Size,
    Values,
)

THETAS = (0.0, 0.4, 0.8, 1.2, 1.6)


def freshness(size: Size, seed: int) -> Values:
    values: dict[str, float | None] = {}
    for theta in THETAS:
        for alignment in Alignment:
            setup = Setup(theta=theta, changes=alignment, seed=seed)
            elements = setup.elements()
            values[f"PF {alignment} {theta}"] = plan(elements, setup.syncs).perceived_freshness
            values[f"GF {alignment} {theta}"] = general_plan(elements, setup.syncs).perceived_freshness
    return values


def compare(found: Measurements) -> Iterator[Comparison]:
    def leads(alignment: Alignment) -> dict[float, Sample]:
        return {
            theta: found.sample(f"PF {alignment} {theta}", "plans") - found.sample(f"GF {alignment} {theta}", "plans")
            for theta in THETAS
        }

    for alignment in Alignment:
        lead = leads(alignment)
        yield Holds(f"{alignment}: PF and GF are equal without skew", abs(lead[0.0].mean) < 1e-9, str(lead[0.0]))
        yield Shape(f"{alignment}: lead of PF over skew", Form.RISING, lead)
    last = {str(alignment): leads(alignment)[THETAS[-1]] for alignment in Alignment}
    yield Order("lead of PF at θ = 1.6", (("reverse", "shuffled"), "aligned"), last)
    ignored = found.sample(f"GF aligned {THETAS[-1]}", "plans")
    yield Holds("aligned: GF approaches 0", ignored.mean < 0.02, str(ignored))


EXPERIMENT = Experiment(
    document="carney",
    id="2.3",
    source="figure 2.3, section 2.2.2.2",
    claim="perceived freshness: PF equals GF without skew, and leads the more, the more skew; most when aligned",
    runs={"plans": Calculation(function=freshness)},
    compare=compare,
    quick=Size(seeds=2),
    full=Size(seeds=5),
)
