"""Seconds lost by a class that answers too late add up to the difference, and go to what made it late."""

from __future__ import annotations

import json
from math import fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.insight.histories import history, run
from tests.sim.builders import traced, workload

from headgate.history.from_trace import history_of_trace
from headgate.history.records import Delivery
from headgate.insight.attribution import InvertedPair, inverted_pairs, starving
from headgate.insight.causes import Cause
from headgate.insight.inversions import find_inversions, inversions_of
from headgate.insight.parts import by_class
from headgate.insight.why import Explainer
from headgate.model import WaitingUnit, Why

OF = {"fire": "critical", "report": "background", "pairs": "background"}


def pairs_of(*records: object, equal: bool = False, **settings: object) -> list[InvertedPair]:
    explainer = Explainer(history(OF, records, **settings))  # type: ignore[arg-type]
    return inverted_pairs(explainer, explainer.history.began, explainer.history.ended, equal=equal, when="in 9 s")


def test_a_long_run_of_a_lower_class() -> None:
    (pair,) = pairs_of(
        run(1, "report", 0.0, 1.0, answers={"report": (0.0,)}, tuples=4),
        run(2, "report", 2.0, 5.0, answers={"report": (2.0,)}, tuples=4),
        run(3, "fire", 5.0, 5.5, answers={"fire": (2.25,)}, query_class="critical", tuples=4),
    )
    assert (pair.above, pair.below, pair.response_above, pair.response_below) == ("critical", "background", 3.25, 2.0)
    assert [(loss.cause, loss.seconds, loss.run and loss.run.id) for loss in pair.losses] == [(Cause.LONG_RUN, 1.25, 2)]
    assert pair.summary == (
        "against background, critical lost 1.25 s in 9 s (1.25 s a result, 1 result), "
        "1.25 s of it to background's filters (report: long run)"
    )


def test_the_policy_chose_lower_runs_first() -> None:
    runs = [run(number, "report", number, number + 1.0, answers={"report": (number,)}, tuples=2) for number in (1, 2)]
    fire = run(9, "fire", 3.0, 3.5, answers={"fire": (1.0,)}, query_class="critical", tuples=20)
    (pair,) = pairs_of(*runs, fire)
    assert pair.by_cause == {Cause.ORDER: pytest.approx(1.5)}
    few = run(9, "fire", 3.0, 3.5, answers={"fire": (1.0,)}, query_class="critical", tuples=1)
    (pair,) = pairs_of(*runs, few)
    assert pair.by_cause == {Cause.LOW_RATE: pytest.approx(1.5)}


def test_fused_too_much_and_a_slow_sink() -> None:
    quick = run(1, "report", 0.0, 0.5, answers={"report": (0.0,)})
    (pair,) = pairs_of(
        quick, run(2, "fire pairs", 1.0, 4.0, answers={"fire": (1.0,)}, query_class="critical"), fuse="all"
    )
    assert pair.difference == 2.5
    assert pair.by_cause == {Cause.FUSED: pytest.approx(1.5), Cause.OWN_RUN: pytest.approx(1.0)}
    assert pair.summary.endswith("1.5 s of it to background's filters in its own runs (fused too much)")
    late = run(2, "fire", 1.0, 1.5, answers={"fire": (1.0,)}, query_class="critical", commit=4)
    (pair,) = pairs_of(quick, late, Delivery(6.0, "fire", 4))
    assert pair.by_cause == {Cause.SINK: pytest.approx(4.5)}
    assert (
        pair.summary
        == "against background, critical lost 4.5 s in 9 s (4.5 s a result, 1 result), 4.5 s of it to its sinks"
    )


def test_window_joins_are_named() -> None:
    recorded = history(
        OF,
        [
            run(1, "pairs", 0.0, 2.0, answers={"pairs": (0.0,)}),
            run(2, "fire", 2.0, 4.0, answers={"fire": (0.5,)}, query_class="critical"),
        ],
    )
    queries = recorded.settings[0].header["queries"]
    next(query for query in queries if query["name"] == "pairs")["plan"] = {"is": "Project", "inputs": [{"is": "Join"}]}
    (pair,) = inverted_pairs(Explainer(recorded), 0.0, 9.0, when="in the last minute")
    assert pair.summary.startswith("against background, critical lost 1.5 s in the last minute (")
    assert pair.summary.endswith("1.5 s of it to background's window joins (pairs: long run)")


def test_equal_response_times_count_if_asked() -> None:
    records = [
        run(1, "report", 0.0, 1.0, answers={"report": (0.0,)}),
        run(2, "fire", 1.0, 2.0, answers={"fire": (1.0,)}, query_class="critical"),
    ]
    assert pairs_of(*records) == []
    (pair,) = pairs_of(*records, equal=True)
    assert (pair.difference, pair.losses) == (0.0, ())
    assert pair.summary == "against background, critical lost 0 s in 9 s (0 s a result, 1 result)"


def test_a_starving_query_and_what_it_waits_behind() -> None:
    waiting = WaitingUnit("report", "background", ("report",), 3, 2.0, {})
    why = Why("fcfs", "oldest", "fire", waiting=(waiting,))
    records = [run(0, "report", 0.0, 1.0, answers={"report": (0.0,)})]
    records += [run(number, "fire", number, number + 1.0, query_class="critical", why=why) for number in range(2, 9)]
    (told,) = starving(Explainer(history(OF, records)))
    assert told.query == "report"
    assert told.sentence == "still waits, for 7 s: 7 s behind critical's fire (7 runs, 70 tuples)"


@given(st.sampled_from(["fcfs", "hnr", "srpt", "mbd", "rr, level=operator"]), st.integers(1, 2), st.integers(0, 3))
def test_losses_add_up_to_the_measured_difference(policy: str, cores: int, seed: int) -> None:
    queries = {
        "fire": {"operators": ["select, cost=90ms", "select, cost=5ms"], "class": "critical"},
        "report": {"operators": ["select, cost=20ms"], "class": "background"},
        "map": {"operators": ["select, cost=30ms"], "class": "normal"},
    }
    classes = {"critical": 60, "normal": 30, "background": 10}
    given_workload = workload(queries, "poisson, rate=8", classes=classes, cores=cores, seed=seed, duration="2 s")
    records, lines = traced(given_workload, policy)
    explainer = Explainer(history_of_trace(lines))
    recorded = explainer.history
    means = by_class(recorded, explainer.classes.of)
    for query in records.queries:  # each class has one
        response = np.array(query.emission) - np.array(query.arrival)
        assert means[explainer.classes.of[query.query]].total == pytest.approx(response.mean())
    found = inverted_pairs(explainer, recorded.began, recorded.ended)
    assert {(pair.above, pair.below) for pair in found} == {
        (above, below)
        for above in classes
        for below in classes
        if classes[above] > classes[below] and means[above].total > means[below].total
    }
    for pair in found:
        assert fsum(loss.seconds for loss in pair.losses) == pytest.approx(pair.difference)
        assert pair.difference == pytest.approx(means[pair.above].total - means[pair.below].total)
        assert all(loss.seconds >= 0 for loss in pair.losses)
        late = [query for query in records.queries if explainer.classes.of[query.query] == pair.above]
        responses = np.concatenate([np.array(query.emission) - np.array(query.arrival) for query in late])
        measured = fsum(responses.tolist()) - len(responses) * means[pair.below].total
        assert pair.results == len(responses)
        assert pair.lost == pytest.approx(measured)
        assert fsum(share.seconds for share in pair.shares) == pytest.approx(measured)
        assert [share.seconds for share in pair.shares] == sorted(
            (share.seconds for share in pair.shares), reverse=True
        )


@given(st.sampled_from(["fcfs", "mbd"]), st.floats(0.05, 3.0), st.integers(0, 3))
def test_the_sum_over_a_stretch_is_of_the_results_in_it(policy: str, over: float, seed: int) -> None:
    queries = {
        "fire": {"operators": ["select, cost=90ms"], "class": "critical"},
        "report": {"operators": ["select, cost=20ms"], "class": "background"},
    }
    made = workload(queries, "poisson, rate=8", classes={"critical": 60, "background": 10}, seed=seed, duration="2 s")
    records, lines = traced(made, policy)
    recorded = history_of_trace(lines)
    found = find_inversions(Explainer(recorded), over)
    assert found.since == max(recorded.began, recorded.ended - over)
    responses = {
        query.query: [
            emission - arrival
            for emission, arrival in zip(query.emission, query.arrival, strict=True)
            if emission >= found.since
        ]
        for query in records.queries
    }
    for pair in found.pairs:
        measured = fsum(responses["fire"]) - len(responses["fire"]) * np.mean(responses["report"])
        assert pair.lost == pytest.approx(measured)
        assert fsum(share.seconds for share in pair.shares) == pytest.approx(measured)
    told = inversions_of(recorded, over)
    assert json.loads(json.dumps(told)) == told
    assert [pair["sum"]["seconds"] for pair in told["inversions"]] == [pair.lost for pair in found.pairs]
