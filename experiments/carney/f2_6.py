"""Figure 2.6: partitions over skew."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.carney.partitions import KEYS, shares
from headgate.freshness.setups import Setup
from headgate.reproduction import Calculation, Comparison, Experiment, Form, Holds, Measurements, Shape, Size, Values

THETAS = (0.0, 0.4, 0.8, 1.2, 1.6)


def freshness(size: Size, seed: int) -> Values:
    return {
        f"{by} {theta}": share for theta in THETAS for by, share in shares(Setup(theta=theta, seed=seed), 50).items()
    }


def compare(found: Measurements) -> Iterator[Comparison]:
    for by in KEYS:
        curve = {theta: found.sample(f"{by} {theta}", "plans") for theta in THETAS}
        yield Shape(f"{by}: freshness over skew", Form.RISING, curve)
    optimum = found.sample("optimum 1.6", "plans")
    behind = {by: (optimum - found.sample(f"{by} 1.6", "plans")).mean for by in KEYS}
    text = ", ".join(f"{by} {each:.3f}" for by, each in behind.items())
    yield Holds(
        "λ falls behind as skew grows", max(behind, key=lambda by: behind[by]) == "lambda", f"at θ = 1.6: {text}"
    )


EXPERIMENT = Experiment(
    document="carney",
    id="2.6",
    source="figure 2.6, section 2.4.1.1",
    claim="shuffled: perceived freshness rises with skew for all partitions, and λ-partitions fall behind",
    runs={"plans": Calculation(function=freshness)},
    compare=compare,
    quick=Size(seeds=2),
    full=Size(seeds=5),
    sensitive="The number of partitions, which is not printed for this figure: 50 here.",
)
