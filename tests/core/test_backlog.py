"""Queries that join while it runs: declared streams and classes, a backlog before the stream's end, nothing shared."""

from __future__ import annotations

import io
from collections.abc import Iterator

from headgate.core import (
    Arrived,
    Declared,
    QueriesAdded,
    QueryAdded,
    QueryRemoved,
    RecordingScheduler,
    Scheduler,
    replay_trace,
)
from headgate.model import WHOLE_QUEUE, Given, Outcome, Produced, Query, QueryClass, Run, Select, Source, Stream
from headgate.plan.network import Network


def query(name: str) -> Query:
    plan = Select(inputs=(Source("s"),), given=Given(cost=1.0), name="same")
    return Query(name=name, query_class="c", plan=plan)


def declared(scheduler: Scheduler) -> Scheduler:
    scheduler.event(Declared(stream=Stream(name="s")), 0.0)
    scheduler.event(Declared(query_class=QueryClass("c")), 0.0)
    return scheduler


def empty() -> Network:
    return Network.of([], [], [], share=False)


def runs(scheduler: Scheduler, now: float) -> Iterator[tuple[str, tuple[tuple[int, int, int], ...]]]:
    while isinstance(run := scheduler.next(0, now), Run):
        yield str(run.units[0]), run.takes
        scheduler.finished(Outcome(run, 0.0), now)


def test_queries_of_an_unshared_network_have_queues_of_their_own() -> None:
    network = Network.of([query("p"), query("q")], [Stream(name="s")], [QueryClass("c")], share=False)
    assert len(network.nodes) == 2
    assert network.leaves("p") == {(0,): 0}
    assert network.leaves("q") == {(0,): 1}


def test_a_backlog_waits_before_what_arrives_later() -> None:
    scheduler = declared(Scheduler(empty(), "fcfs", train=WHOLE_QUEUE))
    scheduler.event(QueryAdded(query("old")), 1.0)
    scheduler.event(Arrived("s", 2.0, 3), 2.0)
    queue = scheduler.network.add(query("new")).leaves("new")[(0,)]
    scheduler.event(QueryAdded(query("new"), (Produced(queue, ((0.5, 4), (2.0, 3))),)), 3.0)
    assert scheduler.queue(queue).head == 0.5
    scheduler.event(Arrived("s", 4.0, 2), 4.0)
    assert dict(runs(scheduler, 5.0)) == {"new": ((queue, 0, 9),), "old": ((0, 0, 5),)}


def test_queries_with_the_same_backlog_share_its_log_and_nothing_else() -> None:
    scheduler = declared(Scheduler(empty(), "fcfs", train=WHOLE_QUEUE))
    chunks = {0: ((0.5, 4), (1.0, 2)), 1: ((0.5, 4), (1.0, 2)), 2: ((0.25, 6),)}
    backlog = tuple(Produced(queue, own) for queue, own in chunks.items())
    scheduler.event(QueriesAdded(tuple(map(query, "pqr")), backlog), 1.0)
    logs = [scheduler.queue(queue).log for queue in range(3)]
    assert logs[0] is logs[1] is not logs[2]
    assert [scheduler.queue(queue).head for queue in range(3)] == [0.5, 0.5, 0.25]
    scheduler.event(QueryRemoved("p"), 2.0)
    scheduler.event(Arrived("s", 3.0, 1), 3.0)
    assert dict(runs(scheduler, 5.0)) == {"q": ((1, 0, 7),), "r": ((2, 0, 7),)}


def test_a_query_with_a_backlog_leaves_nothing_behind() -> None:
    scheduler = declared(Scheduler(empty(), "fcfs", train=WHOLE_QUEUE))
    scheduler.event(QueryAdded(query("q"), (Produced(0, ((0.5, 4),)),)), 1.0)
    scheduler.event(QueryRemoved("q"), 2.0)
    scheduler.event(Arrived("s", 3.0, 2), 3.0)
    scheduler.event(QueryAdded(query("q")), 4.0)
    assert list(runs(scheduler, 5.0)) == []
    assert scheduler.waiting == 0


def test_declarations_and_backlogs_replay() -> None:
    lines = io.StringIO()
    scheduler = declared(RecordingScheduler(empty(), "fcfs", write=lines.write, train=WHOLE_QUEUE))
    scheduler.event(QueryAdded(query("q"), (Produced(0, ((0.5, 4),)),)), 1.0)
    assert len(list(runs(scheduler, 2.0))) == 1
    assert replay_trace(lines.getvalue().splitlines()).same
