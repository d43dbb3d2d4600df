"""Hand-made histories have hand-made explanations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.insight.histories import history, run, start
from tests.sim.builders import traced, workload

from headgate.history.from_trace import history_of_trace
from headgate.history.records import Arrivals, Delivery, Record, Setting
from headgate.insight.causes import Cause
from headgate.insight.why import Explainer, Explanation
from headgate.model import HeadgateError, WaitingUnit, Why

GROUP = " ".join(f"b{number}" for number in range(12))
OF = {"fire": "critical", "smoke": "critical", "report": "background", **dict.fromkeys(GROUP.split(), "background")}


def worst(*records: object, query: str = "fire", **settings: object) -> Explanation:
    return Explainer(history(OF, records, **settings)).pick(query, "worst")  # type: ignore[arg-type]


def test_behind_a_long_run_of_a_group() -> None:
    told = worst(
        run(1, GROUP, 0.0, 0.9, tuples=41_000),
        run(2, "fire", 0.9, 1.03, answers={"fire": (0.29,)}, query_class="critical"),
    )
    assert told.sentence == (
        "waited 740 ms: 610 ms behind the background group of 12 (one run, 41,000 tuples), 130 ms own run"
    )
    assert told.cause is Cause.LONG_RUN
    (delay,) = told.delays
    assert delay.run.id == 1
    assert delay.seconds == pytest.approx(0.61)


def test_passed_over_by_the_policy_with_both_numbers() -> None:
    waiting = WaitingUnit("fire", "critical", ("fire",), 3, 0.5, {"priority": 2.0})
    why = Why("hnr", "highest", "report", {"priority": 5.0}, "fire", {"priority": 2.0}, waiting=(waiting,))
    told = worst(
        run(1, "report", 0.5, 2.5, why=why),
        run(2, "fire", 2.5, 3.0, answers={"fire": (0.5,)}, query_class="critical"),
    )
    assert told.cause is Cause.ORDER
    (delay,) = told.delays
    assert delay.passed_over == waiting
    assert told.sentence == "waited 2.5 s: 2 s behind background's report (one run, 10 tuples), 500 ms own run"


def test_fused_with_a_lower_class() -> None:
    told = worst(
        run(1, f"fire {GROUP}", 1.0, 3.0, answers={"fire": (1.0,)}, query_class="critical"),
        fuse="all",
    )
    assert told.cause is Cause.FUSED
    assert told.mixed == pytest.approx(2.0 * 12 / 13)
    assert told.sentence == "waited 2 s: 2 s own run, fused with 12 less important queries"
    shared = worst(run(1, f"fire {GROUP}", 1.0, 3.0, answers={"fire": (1.0,)}, query_class="critical"), fuse="class")
    assert shared.cause is Cause.SHARED


def test_its_class_has_more_to_do_than_fits() -> None:
    runs = [
        run(number, "smoke" if number % 2 else "fire", number, number + 1.0, query_class="critical")
        for number in range(4)
    ]
    told = worst(*runs, run(9, "fire", 4.0, 5.0, answers={"fire": (0.5,)}, query_class="critical"))
    assert told.cause is Cause.OWN_CLASS
    assert told.sentence == (
        "waited 4.5 s: 2 s behind critical's smoke (2 runs, 20 tuples), "
        "1.5 s behind its own earlier runs (2 runs, 20 tuples), 1 s own run"
    )


def test_a_slow_sink_and_a_slow_commit() -> None:
    sink = worst(
        run(1, "fire", 1.0, 1.25, answers={"fire": (1.0,)}, query_class="critical", commit=3), Delivery(9.0, "fire", 3)
    )
    assert sink.cause is Cause.SINK
    assert sink.sentence == "waited 8 s: 7.75 s until its sink had it, 250 ms own run"
    commit = worst(run(1, "fire", 1.0, 1.25, 3.0, answers={"fire": (1.0,)}, query_class="critical"))
    assert (commit.cause, commit.sentence) == (Cause.COMMIT, "waited 2 s: 1.75 s committing, 250 ms own run")


def test_a_window_that_waits() -> None:
    told = worst(run(1, "fire", 6.5, 7.0, answers={"fire": (1.0, 6.0)}, query_class="critical"))
    assert told.cause is Cause.WINDOW
    assert told.sentence == (
        "waited 6 s: 5 s until its window closed, 500 ms although a worker was free of runs, 500 ms own run"
    )


def test_its_own_commit_is_in_the_way() -> None:
    told = worst(
        run(1, "fire", 0.0, 0.5, 4.0, query_class="critical"),
        run(2, "fire", 4.0, 4.5, answers={"fire": (0.5,)}, query_class="critical"),
    )
    assert told.cause is Cause.COMMIT
    assert told.sentence == "waited 4 s: 3.5 s behind the commit of its own earlier runs (one run, 10 tuples), " + (
        "500 ms own run"
    )


def test_worst_last_and_at() -> None:
    lives = [(1.0, 1.5, 0.25), (3.0, 3.5, 1.75), (6.0, 6.5, 5.75)]
    runs = [
        run(number, "fire", began, evaluated, answers={"fire": (arrival,)}, query_class="critical")
        for number, (began, evaluated, arrival) in enumerate(lives, 1)
    ]
    explainer = Explainer(history(OF, runs))
    asked = [explainer.pick("fire", "worst"), explainer.pick("fire", "last"), explainer.at("fire", 1.0)]
    assert [told.run.id for told in asked if told.run] == [2, 3, 1]
    after = explainer.at("fire", 4.0)  # nothing is on its way then: the next
    assert after.run is not None
    assert after.run.id == 3


def test_a_query_that_starves_waits_still() -> None:
    waiting = WaitingUnit("fire", "critical", ("fire",), 3, 0.5, {})
    why = Why("fcfs", "oldest", "report", waiting=(waiting,))
    records = [run(number, "report", float(number), number + 1.0, why=why) for number in range(5)]
    explainer = Explainer(history(OF, records))
    for told in (explainer.pick("fire", "worst"), explainer.pick("fire", "last"), explainer.at("fire", 2.0)):
        assert told.run is None
        assert told.sentence == "still waits, for 4.5 s: 4.5 s behind background's report (5 runs, 50 tuples)"


def test_what_cannot_be_answered_is_one_line() -> None:
    explainer = Explainer(history(OF, [run(1, "report", 1.0, 2.0, answers={"report": (0.5,)})]))
    with pytest.raises(HeadgateError, match="unknown query 'fyre'; did you mean 'fire'"):
        explainer.pick("fyre", "last")
    with pytest.raises(HeadgateError, match="has no results in this record"):
        explainer.pick("fire", "worst")
    with pytest.raises(HeadgateError, match=r"--at 12.5 s lies outside the record; it is from 1 s to 2 s"):
        explainer.at("report", 12.5)


@given(st.sampled_from(["fcfs", "hnr", "mbd", "express", "rr"]), st.integers(1, 2), st.integers(0, 3))
def test_causes_of_simulated_results_add_up(policy: str, cores: int, seed: int) -> None:
    queries = {
        "fire": {"operators": ["select, cost=40ms"], "class": "critical"},
        "report": {"operators": ["select, cost=70ms"], "class": "background"},
    }
    given_workload = workload(
        queries, "poisson, rate=12", classes={"critical": 60, "background": 10}, cores=cores, seed=seed, duration="2 s"
    )
    explainer = Explainer(history_of_trace(traced(given_workload, policy)[1]))
    for query in queries:
        told = explainer.pick(query, "worst")
        assert sum(told.causes.values()) == pytest.approx(told.moments.total)
        assert all(seconds >= 0 for seconds in told.causes.values())


def reading(*records: Record, until: float | None = None) -> Explainer:
    """An explainer of queries that all read one stream."""
    recorded = history(OF, records)
    for query in recorded.settings[0].header["queries"]:
        query["plan"] = {"is": "Select", "inputs": [{"is": "Source", "stream": "readings"}]}
    recorded.until = until
    return Explainer(recorded)


def test_behind_a_run_that_is_still_going_on() -> None:
    records: list[Record] = [
        run(1, "fire", 0.0, 0.5, answers={"fire": (0.0,)}, query_class="critical"),
        start(2, "report", 1.0, tuples=41_000),
        Arrivals(3.0, "readings", ((0.5, 3), (2.0, 7), (3.0, 1))),
    ]
    live = reading(*records, until=14.0).pick("fire", "worst")
    assert live.waits_still
    assert live.moments.total == 13.5
    assert live.sentence == (
        "still waits, for 13.5 s: 13 s behind background's report (one run, 41,000 tuples, still running), "
        "500 ms although a worker was free of runs"
    )
    died = reading(*records).pick("fire", "worst")
    assert died.moments.total == 2.5
    assert "2 s behind background's report (one run, 41,000 tuples, which did not end)" in died.sentence


def test_in_a_run_of_its_own_that_is_still_going_on() -> None:
    explainer = reading(
        run(1, "report", 0.0, 1.0), start(2, "fire", 1.0, query_class="critical", oldest=0.25), until=9.0
    )
    told = explainer.pick("fire", "worst")
    assert told.run is not None
    assert (told.waits_still, told.run.id, told.moments.parts["queue"]) == (True, 2, 0.75)
    assert told.sentence == (
        "still waits, for 8.75 s: 8 s own run, still running, 750 ms behind background's report (one run, 10 tuples)"
    )
    assert sum(told.causes.values()) == pytest.approx(told.moments.total)


def test_tuples_wait_that_came_since_the_last_run() -> None:
    done = run(1, "fire", 0.0, 0.5, answers={"fire": (0.0,)}, query_class="critical")
    assert reading(done, Arrivals(1.0, "readings", ((0.0, 5),))).waiting("fire") is None
    told = reading(done, Arrivals(4.0, "readings", ((0.0, 5), (1.0, 1), (4.0, 1)))).waiting("fire")
    assert told is not None
    assert (told.moments.arrival, told.moments.total) == (1.0, 3.0)


def test_a_query_that_was_stopped_waits_no_more() -> None:
    waiting = WaitingUnit("fire", "critical", ("fire",), 3, 0.5, {})
    passed = run(1, "report", 0.5, 2.5, why=Why("fcfs", "oldest", "report", waiting=(waiting,)))
    explainer = Explainer(history(OF, [passed]))
    assert explainer.waiting("fire") is not None
    without = [query for query in explainer.history.header["queries"] if query["name"] != "fire"]
    stopped = Setting(3.0, 0.0, {**explainer.history.header, "queries": without})
    assert Explainer(history(OF, [passed, stopped])).waiting("fire") is None


def test_the_run_of_a_trace_that_ends_in_the_middle() -> None:
    queries = {"fire": {"operators": ["select, cost=90ms"]}, "report": {"operators": ["select, cost=50ms"]}}
    _, lines = traced(workload(queries, "poisson, rate=8", duration="1 s"), "fcfs")
    last = max(place for place, line in enumerate(lines) if '"finished"' in line)
    recorded = history_of_trace(lines[:last])
    (under_way,) = recorded.under_way
    (unfinished,) = [one for one in recorded.runs_so_far() if one.unfinished]
    assert (unfinished.id, unfinished.ended) == (under_way.id, recorded.ended)
    told = Explainer(recorded).waiting(under_way.queries[0])
    assert told is not None
    assert (told.waits_still, told.run) == (True, unfinished)
