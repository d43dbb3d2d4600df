"""Whatever the policy, the trains and the workers: results equal the same SQL as one batch.

Late rows count where no window is above them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import pytest
from tests.conftest import ALL
from tests.spark.compile.test_fused import GROUPS
from tests.spark.conftest import Open
from tests.spark.engine.internals import life
from tests.spark.engine.workload import CASES, PATIENCE, STREAMS, Case, batches, declare, expected, results_of, start

from headgate.plan.places import below_window
from headgate.spark.compile.read_sets import sources
from headgate.spark.session import Session

KINDS = {
    "filter",
    "expressions",
    "table join",
    "union",
    "split",
    "tumbling",
    "sliding",
    "union of aggregates",
    "aggregate over a union",
    "except",
    "except of sliding windows",
    "join",
    "join of windows",
    "self-join",
    "self-join of windows",
    "three streams",
    "aggregate over a join",
    "join of aggregates",
    "stream joined with its aggregate",
    "rows and counts",
    "rows and pairs",
}
CUT = {  # into fragments of every shape
    "split",
    "sliding",
    "union of aggregates",
    "except",
    "self-join",
    "join of windows",
    "three streams",
    "aggregate over a join",
    "stream joined with its aggregate",
    "rows and pairs",
}
SETTINGS = [
    (1, "random, train=7", 1),
    (2, "random, train=0.5", 2),
    (3, "random", 3),
    (4, "random, level=operator, train=9", 2),
    (5, "random, level=operator", 2),
    (6, "path-capacity, train=9", 2),
]
WHOLE = [setting for setting in SETTINGS if "train" not in setting[1]]  # whole queues: all kinds of queries
FUSED = [(7, "random", "class", True), (8, "random, train=9", "all", True), (9, "mbd, inversion=dsp", "all", False)]


@pytest.mark.parametrize(("seed", "policy", "workers"), SETTINGS if ALL else WHOLE)
def test_results_equal_the_batch(opened: Open, seed: int, policy: str, workers: int) -> None:
    kinds = sorted(CUT if "operator" in policy and not ALL else KINDS)
    chosen = Random(seed).sample(kinds, 3) if "train" in policy else kinds
    check(opened(policy=policy, workers=workers, seed=seed, fuse="off"), [CASES[name] for name in chosen], seed)


@pytest.mark.parametrize(("seed", "policy", "fuse", "panes"), FUSED if ALL else FUSED[::2])
def test_groups_equal_the_batch(
    opened: Open, seed: int, policy: str, fuse: str, panes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each form in a few variants, so that there are groups, and some kinds that stay alone.

    With panes, tuples are folded in while their windows are open.
    """
    monkeypatch.setattr("headgate.spark.machine.window_clocks.FOLDED_AT", 5)
    forms = [Case(f"{name} {number}", sql, sql) for name, texts in GROUPS.items() for number, sql in enumerate(texts)]
    cases = [*forms, *(CASES[name] for name in ("union", "aggregate over a join", "split", "rows and counts"))]
    session = opened(policy=policy, workers=2, seed=seed, fuse=fuse, panes=panes)
    check(session, cases, seed)
    runs = sum(line.runs for line in session.status().queries)
    assert session.status().runs < runs  # some did for several


def check(session: Session, cases: Sequence[Case], seed: int) -> None:
    random = Random(seed)
    declare(session)
    handles = start(session, cases)
    for stream, rows in batches(random, STREAMS):
        assert session.append(stream, rows) == rows.num_rows
        if random.random() < 0.3:
            session.drain(random.random() * 0.3)
    for stream in STREAMS:
        session.finish(stream)
    assert session.drain(PATIENCE)
    late = {stream: log.late(0, log.end) for stream, log in session.engine.logs.items()}
    assert all(late.values())
    assert session.status().dead_letters == late
    produced = 0
    for case in cases:
        wanted = expected(session, case)
        assert results_of(handles[case.name]) == wanted, case.name
        produced += wanted.total()
    assert produced
    for line in session.status().queries:
        assert line.state == "running"
        assert line.waiting == 0
        assert line.late == passed_over(session, line.name, late), line.name


def passed_over(session: Session, query: str, late: Mapping[str, int]) -> int:
    """How many late tuples a query's windows have not seen: each counts where it is taken, once in each queue."""
    running = life(session, query)
    plan = running.query.plan
    results_of = {running.queues[place]: source.stream for place, source in sources(plan) if below_window(plan, place)}
    return sum(late[stream] for stream in results_of.values())


def test_every_run_with_results_is_spark_work(opened: Open) -> None:
    session = opened(policy="random", workers=2, fuse="off")
    declare(session)
    cases = [CASES[name] for name in ("filter", "tumbling", "join", "except")]
    handles = start(session, cases)
    random = Random(11)
    tracker = session.spark.sparkContext.statusTracker()
    for stream, rows in batches(random, ("a", "b")):
        before = {name: session.engine.query(name).tuples_out for name in handles}
        jobs = {name: session.engine.query(name).jobs for name in handles}
        session.append(stream, rows)
        assert session.drain(PATIENCE)
        for name in handles:
            tally = session.engine.query(name)
            assert tally.tuples_out == before[name] or tally.jobs > jobs[name], name
    for stream in STREAMS:
        session.finish(stream)
    assert session.drain(PATIENCE)
    runs = [session.engine.query(name) for name in handles]
    assert all(tally.jobs for tally in runs)
    assert session.status().spark_jobs == sum(tally.jobs for tally in runs)
    newest = f"headgate-{session.engine.overview().decided}-"
    groups = [tracker.getJobIdsForGroup(session.engine.runner.own_group(newest + name)) for name in handles]
    infos = [tracker.getJobInfo(job) for group in groups for job in group]
    assert all(info is None or info.status == "SUCCEEDED" for info in infos)
