"""Figure 4.14: paths pushed through to the output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from experiments.carney.curves import holds_until, in_all
from headgate.model import Given, Operator, Source
from headgate.reproduction import (
    Comparison,
    Experiment,
    Holds,
    Measurements,
    Order,
    Picture,
    Sample,
    Size,
    grid,
)
from headgate.workload import Workload

POLICIES = {
    "SlopeSlack": "slope-slack, order=sorted, schedule=10",
    "Fixed": "fixed-priority, order=sorted, schedule=10",
    "SlopeSlackPush": "slope-slack, order=sorted, schedule=10, push=true",
    "FixedPush": "fixed-priority, order=sorted, schedule=10, push=true",
}
RATES = tuple(rate / 20 for rate in range(600, 2001, 100))  # of each of the 20 streams
HIGH = 0.9


def deep(workload: Workload) -> Workload:
    """Four boxes of a quarter of the cost for each."""
    queries = tuple(replace(query, plan=_deep(query.plan)) for query in workload.queries)
    return replace(workload, queries=queries)


def _deep(plan: Operator) -> Operator:
    below = plan.inputs[0]
    made = below if isinstance(below, Source) else _deep(below)
    given: Given = replace(plan.given, cost=plan.given.cost / 4)
    for _ in range(4):
        made = replace(plan, inputs=(made,), given=given)
    assert isinstance(made, Operator)
    return made


def compare(found: Measurements) -> Iterator[Comparison]:
    holds: dict[str, float] = {}
    for depth in ("", "deep "):
        for name in POLICIES:
            curve = in_all(found.curve("qos.mean", f"{depth}{name}"), 20)
            holds[f"{depth}{name}"] = holds_until(curve, HIGH)
    for depth, what in (("", "5 boxes"), ("deep ", "20 boxes")):
        gains = {
            name: Sample.of(holds[f"{depth}{name}Push"] / holds[f"{depth}{name}"]) for name in ("SlopeSlack", "Fixed")
        }
        yield Order(f"gain by pushing, {what}", ("Fixed", "SlopeSlack"), gains)
        least = min(each.mean for each in gains.values())
        yield Holds(f"pushing gains, {what}", least >= 1.0, f"at least {least:.2f} times the rate")
    for name in ("SlopeSlack", "Fixed"):
        lost = {
            "pushed": Sample.of(holds[f"{name}Push"] / holds[f"deep {name}Push"]),
            "a box at a time": Sample.of(holds[name] / holds[f"deep {name}"]),
        }
        yield Order(f"{name}: loss by depth", ("pushed", "a box at a time"), lost)


def picture(found: Measurements) -> Picture:
    return Picture(found.curves("qos.mean"), "rate of each of 20 streams (tuples/s)", "qos.mean")


EXPERIMENT = Experiment(
    document="carney",
    id="4.14",
    source="figure 4.14, section 4.5",
    claim="pushing paths through to the output lifts slope-slack most; with 20 boxes of a quarter of the cost a "
    "box at a time is much worse, while pushed paths are as before",
    runs={
        **grid("carney-4.2", POLICIES, "rate", RATES, quick=RATES[4::5]),
        **grid(
            "carney-4.2",
            {f"deep {name}": policy for name, policy in POLICIES.items()},
            "rate",
            RATES,
            quick=RATES[4::5],
            change=deep,
        ),
    },
    compare=compare,
    picture=picture,
    quick=Size(seconds=5.0, seeds=1),
    full=Size(seconds=5.0, seeds=2),
    paragraph="With five boxes pushing gains about as little for slope-slack as for fixed priorities, where the "
    "document has much for slope-slack: a path takes its whole queue through all five boxes before "
    "anything more urgent can run, and what a box at a time costs more, a run for each box, is small at "
    "the calibrated overheads. With 20 boxes pushing gains a quarter, and a box at a time loses more by "
    "depth than pushed paths, as published; pushed ones lose too, since each of four times as many calls "
    "has its overhead.",
    sensitive="The overheads of calls and runs: the deep paths call four times as many boxes, so that pushed ones "
    "lose by depth too.",
)
