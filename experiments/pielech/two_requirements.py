"""Figures 6.4 to 6.6: adaptive with two requirements, delay and output."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.pielech.candidates import CANDIDATES, adaptive, best, run, worst
from headgate.reproduction import Bound, Comparison, Experiment, Key, Measurements, Order, Simulation, Size

WEIGHTS = {"70/30": 0.7, "30/70": 0.3, "50/50": 0.5}


def compare(found: Measurements) -> Iterator[Comparison]:
    for name, plan in (("70/30", "filters"), ("30/70", "filters"), ("50/50", "join")):
        delay = found.sample("delay", name, plan)
        near_best = delay / best(found, "delay", plan)
        yield Bound(f"delay with {name}: adaptive over the best single one", near_best, most=1.0)
        ends = {"adaptive": delay, "worst single one": worst(found, "delay", plan)}
        yield Order(f"delay with {name}", ("adaptive", "worst single one"), ends)
    output = {name: found.sample("output", name, "filters") for name in ("70/30", "30/70")}
    yield Order("output with 30 % and with 70 % of the weight on it", ("70/30", "30/70"), output)


RUNS: dict[Key, Simulation] = {
    **{(name, plan): run(plan, policy) for name, policy in CANDIDATES.items() for plan in ("filters", "join")},
    **{
        (name, "join" if name == "50/50" else "filters"): run(
            "join" if name == "50/50" else "filters", adaptive(delay=weight, output=1 - weight)
        )
        for name, weight in WEIGHTS.items()
    },
}

EXPERIMENT = Experiment(
    document="pielech",
    id="6.4-6.6",
    source="figures 6.4 to 6.6, section 6.4",
    claim="delay and output 70/30, 30/70, 50/50: adaptive has the shortest delay and follows the weights",
    runs=RUNS,
    compare=compare,
    quick=Size(seconds=60.0, seeds=1),
    full=Size(seconds=300.0, seeds=10),
    paragraph="Adaptive lies between the best and the worst single policy in delay, where the document has it below "
    "all. The output rate is what arrives less what is filtered, whoever schedules: over minutes it is "
    "the same for all within 1 %, so the weights can only move it by chance. The document's numbers come "
    "from a system that adapts its own measurements of cost, and are not printed.",
    sensitive="How far the policies differ at all, which follows from the chosen costs.",
)
