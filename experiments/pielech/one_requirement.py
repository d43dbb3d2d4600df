"""Figure 6.3: adaptive with one requirement."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.pielech.candidates import CANDIDATES, MEASURES, adaptive, best, run, worst
from headgate.reproduction import Bound, Comparison, Experiment, Key, Measurements, Order, Simulation, Size


def compare(found: Measurements) -> Iterator[Comparison]:
    for measure in ("memory", "delay"):
        own = found.sample(measure, f"for {measure}", "join")
        near_best = own / best(found, measure, "join")
        yield Bound(f"{MEASURES[measure]}: adaptive over the best single one", near_best, most=1.0)
        ends = {"adaptive": own, "worst single one": worst(found, measure, "join")}
        yield Order(MEASURES[measure], ("adaptive", "worst single one"), ends)


RUNS: dict[Key, Simulation] = {
    **{(name, "join"): run("join", policy) for name, policy in CANDIDATES.items()},
    **{(f"for {name}", "join"): run("join", adaptive(**{name: 1.0})) for name in ("memory", "delay")},
}

EXPERIMENT = Experiment(
    document="pielech",
    id="6.3",
    source="figure 6.3, section 6.3",
    claim="one requirement: adaptive is at or near the best single policy",
    runs=RUNS,
    compare=compare,
    quick=Size(seconds=30.0, seeds=2),
    full=Size(seconds=30.0, seeds=10),
    paragraph="Adaptive is near the best single policy, not at it: it goes on trying the others, and a turn of a "
    "bad one leaves queues behind that the next one inherits. The document says of its own summary that "
    "adaptive never outperforms the single policy that is best. How strongly scores decay, which decides "
    "how often others are tried, is not printed.",
    sensitive="How far the policies differ at all, which follows from the chosen costs.",
)
