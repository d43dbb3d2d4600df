"""Class policies in whole simulations: who answers first, and that it can be replayed."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from random import Random
from typing import Any

import pytest
from tests.sim.builders import judged, workload

from headgate.core.trace import replay_trace
from headgate.policies.registry import create
from headgate.sim import Simulation, simulate
from headgate.workload import Workload

CLASS_POLICIES = (
    "cqc, period=30ms",
    "abd",
    "abd, level=query",
    "mbd, inversion=dvp",
    "mbd, inversion=ivp, at=p75",
    "mbd, inversion=dsp, adapt=sa",
    "mbd, inversion=isp, at=p90, adapt=s",
    "mbd, affinity=10",
    "mrr",
    "morr",
    "lottery",
    "operator-lottery",
    "mprr",
    "per-class-thread",
    "per-class-thread, split=true",
)


def three_classes(sizes: Sequence[int], priorities: Sequence[float], **head: Any) -> Workload:
    """Chains of filters of three classes; the costs are scaled to the load."""
    random = Random(3)
    queries, classes = {}, {}
    for number, (size, priority) in enumerate(zip(sizes, priorities, strict=True), 1):
        classes[f"c{number}"] = priority
        for place in range(size):
            chain = [
                f"select, cost={random.randint(5, 20)}us, overhead=3us, selectivity={random.uniform(0.3, 1):.2f}"
                for _ in range(random.randint(1, 4))
            ]
            queries[f"c{number}q{place}"] = {"class": f"c{number}", "operators": chain}
    about: dict[str, Any] = {"load": 0.9, "train": "all", "duration": "2 s", **head}
    return workload(queries, "poisson, rate=300", classes=classes, **about)


def means(given: Workload, policy: str) -> list[float]:
    report = judged(given, policy)
    found = [report.value(f"classes.{name}.response_time.mean") for name in ("c1", "c2", "c3")]
    assert None not in found
    return [mean for mean in found if mean is not None]


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["abd", "mbd", "mbd, inversion=dsp", "mprr", "lottery"])
@pytest.mark.parametrize("cores", [1, 3])
def test_important_classes_answer_first(policy: str, cores: int) -> None:
    found = means(three_classes((7, 7, 7), (60, 30, 10), cores=cores), policy)
    assert found == sorted(found)


@pytest.mark.slow
def test_cqc_inverts_a_small_important_class_and_abd_does_not() -> None:
    """One turn a round is long to wait for, however much time it is (Al Moakar 2013, section 5.3.2, workload E)."""
    given = three_classes((14, 21, 28), (30, 20, 10))
    assert means(given, "cqc, period=30ms")[0] > means(given, "cqc, period=30ms")[1]
    found = means(given, "abd")
    assert found == sorted(found)


@pytest.mark.slow
def test_the_first_slice_does_not_matter() -> None:
    """It adapts (Al Moakar 2013: about 2 % between 20 and 1000 µs)."""
    given = three_classes((7, 7, 7), (30, 20, 10), duration="5 s")
    reports = [judged(given, f"abd, slice={slice}") for slice in ("20us", "50us", "1ms")]
    weighted = [report.value("response_time.weighted") for report in reports]
    assert weighted == pytest.approx([weighted[0]] * 3, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("module", ["dvp", "ivp", "dsp", "isp"])
def test_modules_remove_an_inversion(module: str) -> None:
    """The second class has many tuples for few queries; the third few tuples, and answers too soon."""
    queries = {
        "a": {"class": "c1", "from": ["fast"], "operators": ["select, cost=1ms"]},
        "b": {"class": "c2", "from": ["fast"], "operators": ["select, cost=1ms"]},
        "c": {"class": "c3", "from": ["slow"], "operators": ["select, cost=1ms"]},
    }
    streams = {"fast": "poisson, rate=420", "slow": "poisson, rate=40"}
    given = workload(queries, streams, classes={"c1": 5, "c2": 4, "c3": 3}, load=0.95, duration="20 s")
    without, repaired = means(given, "mbd"), means(given, f"mbd, inversion={module}")
    assert without[1] > without[2]
    assert repaired[1] - repaired[2] < without[1] - without[2]


@pytest.mark.slow
@pytest.mark.parametrize("policy", CLASS_POLICIES)
@pytest.mark.parametrize("cores", [1, 3])
def test_everything_is_answered_and_can_be_replayed(policy: str, cores: int) -> None:
    trace = StringIO()
    given = three_classes((3, 2, 4), (6, 3, 1), cores=cores, duration="500 ms")
    assert simulate(given, policy, trace=trace).unfinished == 0
    trace.seek(0)
    assert replay_trace(trace).same


def test_response_times_are_told_only_where_they_are_wanted() -> None:
    given = three_classes((3, 2, 4), (6, 3, 1), duration="200 ms")
    for policy in ("mbd", "mbd, inversion=dsp", "cqc"):
        assert Simulation(given, policy).machine.tells_answers == create(policy).wants_answers
        trace = StringIO()
        simulate(given, policy, trace=trace)
        assert '"answered"' in trace.getvalue()  # a trace always tells
    changes = [{"at": "100 ms", "policy": "mbd, inversion=dsp"}]
    queries = {"q": {"class": "c", "operators": ["select, cost=1ms"]}}
    simulation = Simulation(workload(queries, changes=changes, classes={"c": 1}, duration="1 s"), "mbd")
    assert not simulation.machine.tells_answers
    simulation.run()
    assert simulation.machine.tells_answers


def test_told_response_times_are_the_recorded_ones() -> None:
    """By the quick way of one tuple through a chain, and by the general one."""
    for train in ("all", 1):
        simulation = Simulation(
            three_classes((3, 2, 4), (6, 3, 1), train=train, duration="300 ms"), "mbd, inversion=dsp"
        )
        told: dict[str, list[float]] = {}
        finished = simulation.scheduler.finished

        def listen(outcome, now, finished=finished, told=told):  # type: ignore[no-untyped-def]
            for answered in outcome.answered:
                told.setdefault(answered.query, []).extend(answered.response_times)
            finished(outcome, now)

        simulation.scheduler.finished = listen  # type: ignore[method-assign]
        records = simulation.run()
        assert told
        for query in records.queries:
            expected = [emission - arrival for arrival, emission in zip(query.arrival, query.emission, strict=True)]
            assert sorted(told.get(query.query, [])) == pytest.approx(sorted(expected))
