"""The worked examples of the documents, through the files that tell them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.sim.builders import EXAMPLES, emissions, judged, workload

from headgate.metrics import measure
from headgate.sim import simulate
from headgate.workload import read_workload

EXAMPLE_1 = read_workload(EXAMPLES / "example-1.toml")
FILTERS = read_workload(EXAMPLES / "filters.toml")
SHARAF = replace(read_workload(EXAMPLES / "sharaf-500.toml"), duration=3.0)  # shorter than the file says


@pytest.mark.parametrize(("policy", "response", "slowdown"), [("hr", 0.01225, 3.875), ("hnr", 0.0130, 2.9)])
def test_example_1(policy: str, response: float, slowdown: float) -> None:
    report = judged(EXAMPLE_1, policy)
    assert report.value("response_time.mean") == pytest.approx(response, abs=1e-12)
    assert report.value("slowdown.mean") == pytest.approx(slowdown, abs=1e-12)


@pytest.mark.parametrize(
    ("policy", "emitted"),
    [("hr", {"q1": [5, 10, 15], "q2": [19]}), ("hnr", {"q1": [11, 16, 21], "q2": [4]})],
)
def test_example_1_result_by_result(policy: str, emitted: dict[str, list[float]]) -> None:
    found = emissions(simulate(EXAMPLE_1, policy))
    assert {name: [1000 * at for at in times] for name, times in found.items()} == {
        name: pytest.approx(times) for name, times in emitted.items()
    }


def test_example_1_without_filters_is_srpt_for_hr_and_hnr() -> None:
    queries = {"q1": "select, cost=5ms, selectivity=1.0", "q2": "select, cost=2ms, selectivity=1.0"}
    unfiltered = workload(queries, "at, times=[0, 0, 0]", duration="1 s")
    schedules = [emissions(simulate(unfiltered, policy)) for policy in ("srpt", "hr", "hnr")]
    assert schedules[0] == schedules[1] == schedules[2]
    assert [1000 * at for at in schedules[0]["q2"]] == pytest.approx([2, 4, 6])
    assert [1000 * at for at in schedules[0]["q1"]] == pytest.approx([11, 16, 21])


@pytest.mark.parametrize(
    ("policy", "pages", "output"),
    [
        ("fifo", [1.0, 1.9, 2.0, 2.9, 3.0, 3.9], 18),
        ("mtiq", [1.0, 1.9, 2.8, 1.9, 1.9, 1.9], 0),
    ],
)
def test_filters(policy: str, pages: list[float], output: int) -> None:
    records = simulate(FILTERS, policy)
    at_seconds = dict(zip(np.round(records.queue.time, 9).tolist(), records.queue.tuples, strict=True))
    assert [at_seconds[float(second)] / 100 for second in range(6)] == pages
    assert sum(at <= 5.0 for at in records.queries[0].emission) == output


@pytest.fixture(scope="module")
def judgements() -> dict[str, dict[str, float]]:
    """Mean, largest and ℓ2 slowdown of the 500 queries under the document's policies."""
    found = {}
    for policy in ("rr, unit=query", "srpt", "hr", "hnr", "lsf", "bsd"):
        slowdown = measure(simulate(SHARAF, policy)).slowdown
        assert slowdown.mean is not None
        assert slowdown.max is not None
        assert slowdown.l2 is not None
        found[policy] = {"mean": slowdown.mean, "max": slowdown.max, "l2": slowdown.l2}
    return found


@pytest.mark.slow
def test_mean_slowdown_of_500_queries(judgements: dict[str, dict[str, float]]) -> None:
    means = [judgements[policy]["mean"] for policy in ("hnr", "hr", "srpt", "rr, unit=query")]
    assert means == sorted(means)
    assert min(judgements, key=lambda policy: judgements[policy]["mean"]) == "hnr"


@pytest.mark.slow
def test_lsf_has_the_least_largest_slowdown(judgements: dict[str, dict[str, float]]) -> None:
    assert min(judgements, key=lambda policy: judgements[policy]["max"]) == "lsf"


@pytest.mark.slow
def test_bsd_has_the_least_l2_norm(judgements: dict[str, dict[str, float]]) -> None:
    assert min(judgements, key=lambda policy: judgements[policy]["l2"]) == "bsd"
