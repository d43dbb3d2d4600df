"""An order that is kept is the order that looking at every unit gives, at every decision."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.core import Arrived, Scheduler
from headgate.model import Choice, Idle, Outcome, Produced, QoS, Query, QueryClass, Run, Stream
from headgate.plan.network import Network
from headgate.policies.checks.short_plans import ShortPlan, build_plan
from headgate.policies.contract import View
from headgate.policies.kept import Kept
from headgate.policies.registry import create
from headgate.policies.scored import Scored

GRAPHS: tuple[list[list[float]], ...] = (
    [[0, 1], [4, 1], [4, 0]],
    [[0, 1], [2, 1], [8, 0]],
    [[0, 1], [16, 0]],
    [[0, 1], [1, 0.5], [32, 0]],
)


def watched(policy: Kept) -> list[int]:
    """Let a policy be asked twice, and count the answers that a look at all ready units would not have given."""
    wrong: list[int] = []
    choose = policy.choose

    def both(view: View, worker: int) -> Choice | Idle:
        wanted = Scored.choose(policy, view, worker)
        found = choose(view, worker)
        if getattr(found, "units", ()) != getattr(wanted, "units", ()):
            wrong.append(worker)
        return found

    policy.choose = both  # type: ignore[method-assign]
    return wrong


@pytest.mark.parametrize(
    "text",
    [
        "mtiq",
        "mtiq, level=query",
        "mtiq, schedule=3",
        "slope-slack",
        "slope-slack, push=true",
        "slope-slack, schedule=2",
        "cameo",
        "cameo, level=operator, schedule=2",
        "cameo, level=operator",
        "klink",
        "edf-target",
        "edf-target, by=deadline, train=1",
    ],
)
@given(seed=st.integers(0, 10**6), workers=st.integers(1, 3))
@settings(max_examples=25)
def test_the_kept_order_is_that_of_a_search(text: str, seed: int, workers: int) -> None:
    chance = Random(seed)
    streams = [Stream(name="s"), Stream(name="t")]
    queries = [
        Query(name=f"q{number}", query_class="c", plan=build_plan(shape(chance)), qos=QoS.of(chance.choice(GRAPHS)))
        for number in range(chance.randint(1, 6))
    ]
    policy = create(text)
    assert isinstance(policy, Kept)
    wrong = watched(policy)
    scheduler = Scheduler(Network.of(queries, streams, [QueryClass("c")]), policy)
    now, running = 0.0, dict[int, Run]()
    for _ in range(60):
        now += chance.choice((0.0, 0.25, 0.5, 2.0))
        act = chance.random()
        if act < 0.4:
            scheduler.event(Arrived(chance.choice("st"), now, chance.randint(1, 3)), now)
        elif act < 0.7 and len(running) < workers:
            worker = next(number for number in range(workers) if number not in running)
            if isinstance(run := scheduler.next(worker, now), Run):
                running[worker] = run
        elif running:
            run = running.pop(chance.choice(list(running)))
            scheduler.finished(Outcome(run, 0.25, produced=produced(scheduler, run, now, chance)), now)
    assert not wrong


def shape(chance: Random) -> ShortPlan:
    """A chain over one stream, perhaps with a window in it, or a join of two."""
    if chance.random() < 0.2:
        return ["join, from=[s, t], window=1s, cost=0.25s", "select, cost=0.5s"]
    first = f"select, cost=0.25s, from={chance.choice('st')}"
    if chance.random() < 0.2:
        return [first, f"aggregate, cost=0.25s, window={chance.choice((2, 8))}s", "project, cost=0.25s"]
    return [first, *("select, cost=0.5s, selectivity=0.5" for _ in range(chance.randint(0, 2)))]


def produced(scheduler: Scheduler, run: Run, now: float, chance: Random) -> tuple[Produced, ...]:
    """Some of what was taken goes on to the operators behind the run."""
    nodes = [scheduler.network.nodes[call] for call in run.calls]
    behind = [queue for node in nodes for queue in node.consumers]
    outside = [queue for queue in behind if scheduler.network.edges[queue].operator not in run.calls]
    return tuple(Produced(queue, ((now, chance.randint(1, 2)),)) for queue in outside if chance.random() < 0.7)
