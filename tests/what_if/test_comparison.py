"""How policies are ranked by a what-if."""

from __future__ import annotations

from headgate.what_if.comparison import Comparison
from headgate.what_if.response_times import Judged, Times


def judged(policy: str, high: float | None, low: float | None) -> Judged:
    given = {name: mean for name, mean in (("high", high), ("low", low)) if mean is not None}
    classes = {"high": Times(), "low": Times()} | {name: Times(mean, mean, mean, 1) for name, mean in given.items()}
    mean = sum(given.values()) / len(given)
    overall = Times(mean, mean, max(given.values()), len(given))
    return Judged(policy, classes, overall, {})


def test_a_policy_that_leaves_a_class_without_results_comes_last() -> None:
    policies = {
        "slow": judged("slow", 2.0, 4.0),
        "starving": judged("starving", 0.1, None),
        "quick": judged("quick", 1.0, 2.0),
    }
    comparison = Comparison(judged("recorded", 1.0, 3.0), judged("recorded", 1.0, 3.0), policies)
    assert comparison.ranking("mean") == ["quick", "slow", "starving"]
    assert comparison.ranking("high.p95")[-1] == "starving"
    assert (comparison.unserved("starving"), comparison.unserved("slow")) == (["low"], [])


def test_a_class_without_recorded_results_is_missed_by_nobody() -> None:
    recorded = judged("recorded", 1.0, None)
    comparison = Comparison(recorded, recorded, {"other": judged("other", 0.5, None)})
    assert comparison.unserved("other") == []
