import json
from array import array

import numpy as np
import pytest
from hypothesis import given
from tests.metrics.builders import query, random_records
from tests.metrics.strategies import any_records

from headgate.metrics import MEASURES, QueueSeries, Records, measure, measure_at, smaller_is_better
from headgate.metrics.report.json_tree import flatten
from headgate.model import HeadgateError, QoS, Target


def sample() -> Records:
    graph = QoS.of([[0.0, 1.0], [1.0, 1.0], [3.0, 0.0]])
    first = query("q1", [(0.0, 1.0), (0.0, 2.0)], "critical", qos=graph)
    first.target = Target(1.0)
    return Records(
        [first, query("q2", [(0.0, 4.0)], "low", ideal=2.0)],
        {"low": 1.0, "critical": 3.0},
        QueueSeries(array("d", [0.0]), array("d", [3.0]), array("d", [24.0]), 1.5, 3.0, 12.0, 24.0),
        seconds=4.0,
        busy=6.0,
        scheduling=2.0,
        call_overhead=0.25,
        run_overhead=0.5,
        workers=2,
        decisions=7,
        runs=5,
        tuples_in={"s": 3},
        unfinished=1,
        updates=[0.5],
        cancelled=2,
        cancelled_seconds=0.5,
    )


def with_targets() -> Records:
    """Of two queries of a class, one meets its target until a late result comes; a third has none."""
    records = Records(
        [
            query("q1", [(0.0, 1.0), (0.0, 4.0)], "critical"),
            query("q2", [(1.0, 2.0)], "critical"),
            query("q3", [(0.0, 4.0)], "low"),
        ],
        {"low": 1.0, "critical": 3.0},
        seconds=6.0,
    )
    records.queries[0].target = Target(2.0)
    records.queries[1].target = Target(2.0)
    return records


def test_targets_are_judged_by_the_time_in_which_they_are_met() -> None:
    report = measure(with_targets())
    tree = report.to_json()
    assert tree["queries"]["q1"]["targets"] == {"met": 0, "missed": 1, "share": 0.6, "missed_seconds": 2.0}
    assert tree["queries"]["q2"]["targets"] == {"met": 1, "missed": 0, "share": 1.0, "missed_seconds": 0.0}
    assert tree["queries"]["q3"]["targets"] is tree["classes"]["low"]["targets"] is None
    assert tree["classes"]["critical"]["targets"] == tree["targets"]
    assert report.value("targets.share") == pytest.approx(7 / 9)
    assert not smaller_is_better("classes.critical.targets.share")


def test_json_has_the_promised_shape() -> None:
    tree = measure(sample()).to_json()
    assert tree["response_time"]["mean"] == pytest.approx(7 / 3)
    assert tree["response_time"]["weighted"] == pytest.approx((3 * 1.5 + 4) / 4)
    assert tree["response_time"]["weighted_max"] == pytest.approx((3 * 2 + 4) / 4)
    assert tree["slowdown"] == {"mean": pytest.approx(5 / 3), "max": 2.0, "l2": 3.0}
    assert tree["qos"] == {"mean": pytest.approx(0.75), "per_tuple": pytest.approx(0.75), "missed": 1}
    assert tree["queue"] == {
        "tuples": {"mean": 1.5, "max": 3.0},
        "bytes": {"mean": 12.0, "max": 24.0},
        "over_time": {"time": [0.0], "tuples": [3.0], "bytes": [24.0]},
    }
    assert tree["throughput"] == {"mean": 0.75, "deviation": pytest.approx(0.1875**0.5)}  # 0, 1, 1, 1
    assert tree["inversion"]["p95"] == [{"above": "critical", "below": "low", "ratio": 0.0, "equal": False}]
    assert tree["inversion"]["cumulated"] == 0.0
    assert tree["starvation"] == {"ratio": pytest.approx(4 / 1.5), "rising": []}
    assert tree["convergence"] == {"time": 0.0, "updates": 1, "last_update": 0.5}
    assert tree["scheduling"] == {
        "decisions": 7,
        "runs": 5,
        "seconds": 2.0,
        "share": 0.25,
        "cancelled": 2,
        "cancelled_seconds": 0.5,
    }
    assert tree["overhead"] == {"worker": 0.25, "storage": 0.5, "scheduler": 2.0}
    assert (tree["utilisation"], tree["results"], tree["seconds"], tree["unfinished"]) == (0.75, 3, 4.0, 1)
    assert list(tree["classes"]) == ["critical", "low"]
    assert tree["classes"]["critical"]["priority"] == 3.0
    assert tree["classes"]["low"]["qos"] is None
    assert tree["queries"]["q2"]["class"] == "low"
    assert tree["queries"]["q1"]["qos"]["missed"] == 1


def test_every_measure_has_a_value() -> None:
    report = measure(sample())
    assert all(isinstance(report.value(name), float) for name in MEASURES)
    assert report.value("classes.critical.response_time.p95") == pytest.approx(1.95)
    assert report.value("queries.q2.slowdown.mean") == 2.0
    assert report.value("classes.low.qos.mean") is None


def test_every_number_of_the_whole_run_can_be_ranked() -> None:
    numbers = flatten(measure(sample()).to_json())
    own = {name for name in numbers if not name.startswith(("classes.", "queries.", "tuples_in."))}
    assert own == set(MEASURES)


def test_a_class_may_have_dots_in_its_name() -> None:
    report = measure(Records([query("q", [(0.0, 1.0)], "eu.west")], {"eu.west": 1.0}))
    assert report.value("classes.eu.west.response_time.mean") == 1.0
    assert smaller_is_better("classes.eu.west.response_time.mean")


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("slowdwn.mean", "unknown measure 'slowdwn.mean'; did you mean 'slowdown.mean'"),
        ("classes.critcal.slowdown.l2", "did you mean 'classes.critical.slowdown.l2'"),
        ("classes.critical", "unknown measure 'classes.critical'"),
        ("zzz", "known: convergence.last_update, "),
    ],
)
def test_an_unknown_measure_is_answered_with_the_nearest(path: str, told: str) -> None:
    with pytest.raises(HeadgateError, match=told.replace(".", r"\.")):
        measure(sample()).value(path)


def test_every_measure_has_words_of_its_own() -> None:
    words = [measure.words for measure in MEASURES.values()]
    assert len(set(words)) == len(words)
    assert not any("_" in each or each[0].isupper() for each in words)
    assert MEASURES["response_time.p95"].words == "95th percentile of response time"
    assert MEASURES["response_time.weighted"].words == "mean response time, weighted by class priority"


def test_a_measure_of_a_class_or_query_names_it() -> None:
    assert measure_at("queries.q.1.results").words == "results, query q.1"
    assert measure_at("classes.eu.west.response_time.p50").label("ms") == "median response time, class eu.west (ms)"
    assert measure_at("queue.bytes.mean").label("bytes", logarithmic=True) == (
        "mean size of all queues (bytes, logarithmic)"
    )


def test_better_is_smaller_or_larger() -> None:
    assert smaller_is_better("response_time.p99")
    assert not smaller_is_better("throughput.mean")
    assert not smaller_is_better("classes.a.results")
    for path in ("nothing", "classes.a.priority", "nowhere.a.results"):
        with pytest.raises(HeadgateError, match="unknown measure"):
            smaller_is_better(path)


def nothing() -> list[Records]:
    return [
        Records([], {}),
        Records([], {"a": 1.0, "b": 2.0}),
        Records([query("q", [])], {"only": 0.0}, seconds=1.0),
        Records([query("q", [(0.0, 0.0)], ideal=0.0), query("p", [(0.0, 0.0)], "low")], {"only": 2.0, "low": 0.0}),
    ]


@pytest.mark.parametrize("records", nothing())
def test_next_to_nothing_is_still_json(records: Records) -> None:
    json.dumps(measure(records).to_json(), allow_nan=False)


@given(any_records)
def test_json_has_no_nan(records: Records) -> None:
    json.dumps(measure(records).to_json(), allow_nan=False)


def test_a_million_results() -> None:
    records = random_records(1, results=1_000_000, classes=4)
    report = measure(records)
    assert report.results == 1_000_000
    assert report.value("response_time.mean") == pytest.approx(0.0025)
    assert report.value("slowdown.max") == pytest.approx(4.0)
    assert report.value("response_time.weighted") == pytest.approx((40 + 60 + 60 + 40) / 100 / 1000)
    assert report.inversion.cumulated == 0.0


def served(load: float) -> Records:
    """A class that always waits 1 ms beside one whose queue is served first come first served at this load."""
    rng = np.random.default_rng(3)
    arrivals = np.cumsum(rng.exponential(1 / 500, 10_000)).tolist()
    free, results = 0.0, []
    for arrival, cost in zip(arrivals, rng.exponential(load / 500, 10_000).tolist(), strict=True):
        free = max(free, arrival) + cost
        results.append((arrival, free))
    steady = [(arrival, arrival + 0.001) for arrival in arrivals]
    return Records([query("a", steady, "top"), query("b", results, "low")], {"top": 2.0, "low": 1.0})


@pytest.mark.parametrize(("load", "starving"), [(0.5, ()), (0.9, ()), (1.1, ("low",)), (2.0, ("low",))])
def test_a_class_that_gets_less_than_it_needs_starves(load: float, starving: tuple[str, ...]) -> None:
    assert measure(served(load)).starvation.rising == starving
