"""Networks with some of everything, and schedulers over them without a driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate.core import Arrived, Scheduler
from headgate.model import Idle, Level, Outcome, QoS, Query, QueryClass, Run, Source, Split, Stream, Unit, streams
from headgate.model import Union as Merge
from headgate.plan.network import Network
from headgate.policies.checks.short_plans import ShortPlan, build_plan
from headgate.policies.contract import Policy
from headgate.policies.linear import Linear
from headgate.policies.order import Line
from headgate.stats import Stats

CLASSES = (QueryClass("gold", 6.0), QueryClass("silver", 3.0), QueryClass("tin", 1.0))
STREAMS = (Stream(name="s", bytes=2), Stream(name="l", bytes=3), Stream(name="r", bytes=5))

GRAPHS = (
    QoS.of([[0.0, 1.0], [0.25, 1.0], [0.25, 0.0]]),
    QoS.of([[0.0, 1.0], [0.5, 1.0], [2.0, 0.0]]),
    QoS.of([[0.0, 1.0]]),
)
SHORTS: Mapping[str, tuple[str, ShortPlan]] = {
    "one": ("gold", "select, cost=5ms"),
    "two": ("silver", ["select, cost=2ms, selectivity=0.5", "project, cost=1ms, bytes=7"]),
    "three": ("tin", ["select, cost=1ms", "table-join, cost=3ms, selectivity=0.5", "select, cost=2ms"]),
    "left": ("silver", ["select, cost=1ms, selectivity=0.5, name=both", "project, cost=2ms"]),
    "right": ("tin", ["select, cost=1ms, selectivity=0.5, name=both", "select, cost=4ms"]),
    "tree": ("gold", [["select, from=l"], ["project, from=r"], "join, window=1s, cost=1ms", "project"]),
    "bare": ("tin", "join, from=[l, r], window=1s, cost=1ms"),
}


def query(name: str, short: ShortPlan, query_class: str = "gold") -> Query:
    return Query(name=name, query_class=query_class, plan=build_plan(short), qos=GRAPHS[len(name) % len(GRAPHS)])


def _forked() -> Query:
    """One operator that feeds two others of the same query."""
    fork = Split(inputs=(Source("s"),), name="fork")
    a, b = build_plan("select, cost=1ms, name=fork-a"), build_plan("select, cost=2ms, name=fork-b")
    branches = tuple(type(each)(inputs=(fork,), name=each.name, given=each.given) for each in (a, b))
    return Query(name="forked", query_class="silver", plan=Merge(inputs=branches), qos=GRAPHS[0])


QUERIES: tuple[Query, ...] = (*(query(name, short, of) for name, (of, short) in SHORTS.items()), _forked())


def network(*queries: Query) -> Network:
    return Network.of(queries or QUERIES, STREAMS, CLASSES)


def chains(**shorts: ShortPlan) -> Network:
    """Queries of one class, given in the short form."""
    made = [query(name, short) for name, short in shorts.items()]
    names = dict.fromkeys(name for each in made for name in streams(each.plan))
    return Network.of(made, [Stream(name=name) for name in names], CLASSES)


def scheduler(policy: str | Policy = "fcfs", *queries: Query, **settings: Any) -> Scheduler:
    return Scheduler(network(*queries), policy, **settings)


def arrive(scheduler: Scheduler, tuples: int = 1, at: float = 0.0, stream: str = "s") -> None:
    scheduler.event(Arrived(stream, at, tuples), at)


def must_run(scheduler: Scheduler, worker: int = 0, now: float = 0.0) -> Run:
    run = scheduler.next(worker, now)
    assert isinstance(run, Run)
    return run


def finish(scheduler: Scheduler, run: Run, now: float = 0.0) -> None:
    scheduler.finished(Outcome(run, 0.0), now)


def order_of_runs(scheduler: Scheduler, now: float = 0.0) -> list[str]:
    """What one worker runs until there is nothing, as if every run took no time and gave nothing."""
    names = []
    while not isinstance(run := scheduler.next(0, now), Idle):
        names.append("+".join(map(str, run.units)))
        finish(scheduler, run, now)
    return names


class BySegment(Linear):
    """The oldest tuple first, whole segments."""

    rule = "oldest"
    levels = (Level.SEGMENT,)

    def line(self, unit: Unit, stats: Stats) -> Line:
        return 0.0, 1.0
