"""Queries that are added together: the network and the decisions are those of queries added one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from headgate.core import Arrived, Event, QueriesAdded, QueryAdded, RecordingScheduler, Scheduler, replay_trace
from headgate.model import (
    ConflictError,
    Given,
    HeadgateError,
    Idle,
    Outcome,
    Produced,
    Query,
    QueryClass,
    Select,
    Source,
    Stream,
)
from headgate.plan.network import Network
from headgate.policies.registry import policies

QUERIES = [
    Query(
        name=f"q{number}",
        query_class="x" if number % 2 else "y",
        plan=Select(
            inputs=(Select(inputs=(Source("s"),), given=Given(cost=0.002), name=f"below-{number % 3}"),),
            given=Given(cost=0.001 * (number + 1), selectivity=0.5),
            name=f"above-{number}",
        ),
    )
    for number in range(6)
]
TOGETHER: Sequence[Event] = [QueriesAdded(tuple(QUERIES))]
ONE_BY_ONE: Sequence[Event] = [QueryAdded(query) for query in QUERIES]


def empty(share: bool = True) -> Network:
    return Network.of([], [Stream(name="s")], [QueryClass("x", 5.0), QueryClass("y", 2.0)], share=share)


def decisions(scheduler: Scheduler, added: Sequence[Event]) -> list[Any]:
    """What a scheduler decides about some tuples, on one worker."""
    for event in added:
        scheduler.event(event, 0.0)
    for number in range(5):
        scheduler.event(Arrived("s", number / 10), number / 10)
    found, now = [], 1.0
    while not isinstance(run := scheduler.next(0, now), Idle):
        found.append((run.units[0].queries, run.takes))
        now += 0.01
        produced = [queue for call in run.calls for queue in scheduler.network.nodes[call].consumers]
        chunks = ((0.0, run.tuples),)
        outputs = tuple(Produced(queue, chunks) for queue in produced if scheduler.network.edges[queue].producer)
        entered = {queue for queue, _, _ in run.takes}
        inside = {number for call in run.calls for number in scheduler.network.nodes[call].queues} - entered
        told = tuple(output for output in outputs if output.queue not in inside)
        scheduler.finished(Outcome(run, 0.01, produced=told), now)
    return found


@pytest.mark.parametrize("share", [True, False])
def test_the_network_is_the_same(share: bool) -> None:
    one_by_one = empty(share)
    for query in QUERIES:
        one_by_one = one_by_one.add(query)
    together = empty(share).add_all(QUERIES)
    assert together.nodes == one_by_one.nodes
    assert together.edges == one_by_one.edges
    assert together.numbers == one_by_one.numbers


@pytest.mark.parametrize(
    "policy", [name for name in sorted(policies()) if name in ("fcfs", "hnr", "bsd", "fifo", "mbd")]
)
def test_decisions_are_the_same(policy: str) -> None:
    together = decisions(Scheduler(empty(), policy), TOGETHER)
    assert together == decisions(Scheduler(empty(), policy), ONE_BY_ONE)
    assert together


def test_a_trace_of_it_is_replayed() -> None:
    lines: list[str] = []
    backlog = (Produced(0, ((0.0, 3),)),)
    scheduler = RecordingScheduler(empty(share=False), "hnr", write=lines.append)
    decisions(scheduler, [QueriesAdded(tuple(QUERIES[:4]), backlog), QueryAdded(QUERIES[4])])
    done = replay_trace(lines)
    assert done.differences == []
    assert done.runs == scheduler.runs > 0


def test_what_does_not_fit_changes_nothing() -> None:
    scheduler = Scheduler(empty(), "fcfs")
    scheduler.event(QueryAdded(QUERIES[0]), 0.0)
    before = scheduler.network
    with pytest.raises(ConflictError, match="'q0' exists already"):
        scheduler.event(QueriesAdded((QUERIES[1], QUERIES[0])), 0.0)
    with pytest.raises(HeadgateError, match="'q1' is given twice"):
        scheduler.event(QueriesAdded((QUERIES[1], QUERIES[1])), 0.0)
    assert scheduler.network is before
