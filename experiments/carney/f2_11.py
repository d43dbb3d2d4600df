"""Figure 2.11: how the bandwidth of a partition is shared among elements of different sizes."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.freshness import plan
from headgate.freshness.heuristics import Allocation, approximate
from headgate.freshness.setups import Alignment, Setup
from headgate.reproduction import Calculation, Comparison, Experiment, Measurements, Order, Size, Values

PARTITIONS = (10, 25, 50, 100, 250)


def freshness(size: Size, seed: int) -> Values:
    setup = Setup(changes=Alignment.ALIGNED, sizes=Alignment.REVERSE, pareto=1.1, shuffled_access=True, seed=seed)
    elements = setup.elements()
    values: dict[str, float | None] = {"optimum": plan(elements, setup.syncs).perceived_freshness}
    for count in PARTITIONS:
        for kind in Allocation:
            cut = approximate(elements, setup.syncs, by="pfs", partitions=count, allocation=kind)
            values[f"{kind.value} {count}"] = cut.perceived_freshness
    return values


def compare(found: Measurements) -> Iterator[Comparison]:
    names = [kind.value for kind in Allocation]
    for count in PARTITIONS:
        at = {name: found.sample(f"{name} {count}", "plans") for name in names}
        yield Order(f"freshness with {count} partitions", tuple(names), at)


EXPERIMENT = Experiment(
    document="carney",
    id="2.11",
    source="figure 2.11, section 2.5.3",
    claim="equal bandwidth for the elements of a partition (FBA) always outperforms equal frequencies (FFA)",
    runs={"plans": Calculation(function=freshness)},
    compare=compare,
    quick=Size(seeds=2),
    full=Size(seeds=5),
    sensitive="The shape of the sizes, which is not printed: 1.1 here.",
)
