"""Figure 6.7: adaptive with three equal requirements."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.pielech.candidates import CANDIDATES, MEASURES, adaptive, run
from headgate.reproduction import Comparison, Experiment, Holds, Key, Measurements, Simulation, Size


def compare(found: Measurements) -> Iterator[Comparison]:
    for measure in ("delay", "memory"):
        own = found.sample(measure, "adaptive", "join").mean
        singles = {name: found.sample(measure, name, "join").mean for name in CANDIDATES}
        better = [name for name, value in singles.items() if value < own]
        shown = f"below it: {', '.join(better) or 'none'}"
        yield Holds(f"{MEASURES[measure]}: adaptive below all but the best", len(better) <= 1, shown)


RUNS: dict[Key, Simulation] = {
    **{(name, "join"): run("join", policy) for name, policy in CANDIDATES.items()},
    ("adaptive", "join"): run("join", adaptive(delay=0.33, output=0.33, memory=0.34)),
}

EXPERIMENT = Experiment(
    document="pielech",
    id="6.7",
    source="figure 6.7, section 6.5",
    claim="three equal requirements: adaptive beats all but the best single policy on delay and memory",
    runs=RUNS,
    compare=compare,
    quick=Size(seconds=60.0, seeds=1),
    full=Size(seconds=300.0, seeds=10),
    paragraph="Adaptive is between the two better and the two worse policies in both measures: what is good for "
    "memory (Chain, MTIQ) is bad for delay (FIFO, RR), and it spends time with all four. The decay of "
    "scores, which decides how soon it settles, is not printed.",
    sensitive="How far the policies differ at all, which follows from the chosen costs.",
)
