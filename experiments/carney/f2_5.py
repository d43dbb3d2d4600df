"""Figure 2.5: partitions of 500 elements."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.carney.partitions import KEYS, shares
from headgate.freshness.setups import Alignment, Setup
from headgate.reproduction import Calculation, Comparison, Experiment, Holds, Measurements, Size, Values

PARTITIONS = (50, 500)


def freshness(size: Size, seed: int) -> Values:
    return {
        f"{by} {alignment} {partitions}": share
        for alignment in Alignment
        for partitions in PARTITIONS
        for by, share in shares(Setup(changes=alignment, seed=seed), partitions).items()
    }


def compare(found: Measurements) -> Iterator[Comparison]:
    for alignment in Alignment:
        at = {by: found.sample(f"{by} {alignment} 50", "plans") for by in (*KEYS, "optimum")}
        most = {by: found.sample(f"{by} {alignment} 500", "plans") for by in (*KEYS, "optimum")}
        away = max(abs((most["optimum"] - most[by]).mean) for by in KEYS)
        yield Holds(f"{alignment}: with 500 partitions all are at the optimum", away < 1e-6, f"{away:.1e} away")
        if alignment is Alignment.SHUFFLED:
            slowest = min(KEYS, key=lambda by: at[by].mean)
            yield Holds("shuffled: λ is slowest", slowest == "lambda", f"{slowest} at 50 partitions")
        else:
            width = max(at[by].mean for by in KEYS) - min(at[by].mean for by in KEYS)
            yield Holds(f"{alignment}: little difference", width < 0.05, f"{width:.3f} at 50 partitions")


EXPERIMENT = Experiment(
    document="carney",
    id="2.5",
    source="figure 2.5, section 2.4.1.1",
    claim="more partitions come closer to the ideal; shuffled, λ-partitions do so most slowly; else all are much alike",
    runs={"plans": Calculation(function=freshness)},
    compare=compare,
    quick=Size(seeds=2),
    full=Size(seeds=5),
    sensitive="The skew, which is not printed for this figure: θ = 1 here.",
)
