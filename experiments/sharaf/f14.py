"""Figure 14: what each technique of BSD's implementation gains."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.sharaf.deciding import HYPOTHETICAL, LOAD, charged, free
from experiments.sharaf.testbed import FULL, QUICK
from headgate.reproduction import Comparison, Experiment, Measurements, Order, Picture, Ratio

STEPS = {
    "naive": "bsd",
    "clusters": "bsd, clusters=12",
    "+ pruning": "bsd, clusters=12, pruning=fagin",
    "+ clustered processing": "bsd, clusters=12, pruning=fagin, batch=cluster",
}


def compare(found: Measurements) -> Iterator[Comparison]:
    norms = found.samples("slowdown.l2")
    ideal = norms[HYPOTHETICAL]
    yield Order("ℓ2", (HYPOTHETICAL, *reversed(STEPS)), norms)
    yield Ratio("naive over the ideal", 65.7, norms["naive"] / ideal)
    yield Ratio("all techniques over the ideal", 1.05, norms["+ clustered processing"] / ideal)


def picture(found: Measurements) -> Picture:
    norms = found.samples("slowdown.l2")
    return Picture({"ℓ2": [(name, sample.band) for name, sample in norms.items()]}, "implementation", "slowdown.l2")


EXPERIMENT = Experiment(
    document="sharaf",
    id="F14",
    source="figure 14, section 9.2",
    claim=f"""
        at load {LOAD}, deciding charged: naive BSD's ℓ2 norm is 6470 % above the ideal's; with clusters, pruning and
        clustered processing it comes down to 5 %
    """,
    runs={HYPOTHETICAL: free("bsd"), **{name: charged(policy) for name, policy in STEPS.items()}},
    compare=compare,
    picture=picture,
    quick=QUICK,
    full=FULL,
    paragraph="""
        A naive decision looks at every query that waits, up to 500, at the cost of an operator each, so the system is
        far over its capacity: how far ℓ2 then grows depends on how long the run is, which the document does not say.
    """,
    sensitive="how the work of a decision is counted, and the number of packets.",
)
