"""The comparison of all policies: what is planned, and what is made of the results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from experiments.compare_policies.page import Circumstances, page
from experiments.compare_policies.picture import draw
from experiments.compare_policies.plan import DOCUMENTS, WORKLOADS, Case, plan, shortened
from experiments.compare_policies.ranking import Outcome, outcome, typical_ratios
from experiments.compare_policies.tightness import tightness
from tests.sim.builders import workload

from headgate.model import HeadgateError
from headgate.sim.bounds import lower_bounds
from headgate.sweep.spark_tasks import SweepTask, run_task
from headgate.workload import read_workload

ABOUT = Circumstances("2026-01-31", "python -m experiments.compare_policies", 1, 100)


def case(name: str = "w", policies: tuple[str, ...] = ("fcfs", "srpt", "hr")) -> Case:
    """Two queries in two classes, of one seed."""
    queries = {
        "a": {"operators": ["select, cost=6ms"], "class": "high"},
        "b": {"operators": ["select, cost=1ms"], "class": "low"},
    }
    given = workload(queries, "at, times=[0, 0, 1ms]", classes={"high": 2.0, "low": 1.0}, name=name)
    tasks = {policy: SweepTask(policy, policy, {}, given.seed) for policy in policies}
    return Case("Sharaf et al. 2006", given, policies, tasks, {"bound": given.seed})


def results(of: Case) -> dict[str, dict[str, Any]]:
    found = {key: dict(run_task(task, of.workload, 0.1).values) for key, task in of.tasks.items()}
    bound = lower_bounds(of.workload)
    return {**found, "bound": {**bound.least, "results": bound.results}}


def test_every_document_has_its_workloads() -> None:
    cases = plan(1000.0, seeds=2)
    assert {each.document for each in cases} == set(DOCUMENTS.values())
    assert sorted(each.name for each in cases) == sorted(read_workload(path).name for path in WORKLOADS.glob("*.toml"))
    keys = [key for each in cases for key in (*each.tasks, *each.bounds)]
    assert len(keys) == len(set(keys)) == sum(2 * len(each.policies) + 2 for each in cases)
    assert [each.name for each in plan(1000.0, 1, only="raindrop-j")] == ["raindrop-join"]


def test_workloads_are_shortened_by_how_much_work_they_are() -> None:
    queries = {"q": ["select, cost=1ms", "project, cost=1ms"]}
    changes = [{"at": f"{at} s", "stream": "s", "rate": 50} for at in (1, 3)]
    given = workload(queries, "poisson, rate=100", changes=changes, drain=False)
    short = shortened(given, 400.0)
    assert short.duration == 2.0  # 100 tuples a second, two operators each
    assert [change.at for change in short.changes] == [1.0]
    assert short.drain
    assert shortened(given, 1e9).duration == given.duration


def test_who_is_best_and_how_far_from_the_bound() -> None:
    found = outcome(case(), results(case()))
    assert found.best("response_time.mean") == ["srpt", "hr"]
    assert found.best("response_time.weighted")
    gap = found.gap("response_time.mean")
    assert gap is not None
    assert 1.0 <= gap < 1.5
    assert found.gap("queue.tuples.mean") is None
    ratios = found.ratios("response_time.mean")
    assert ratios["srpt"] == 1.0
    assert ratios["fcfs"] > 1.0
    assert "qos.mean" not in found.values  # no query has any


def test_a_value_below_its_bound_is_an_error() -> None:
    wrong = results(case())
    wrong["bound"]["response_time.mean"] = 1.0
    with pytest.raises(HeadgateError, match=r"w, .*: response_time\.mean is .*, below its bound 1"):
        outcome(case(), wrong)


def test_a_bound_that_counts_on_other_results_is_not_used() -> None:
    other = results(case())
    other["bound"]["results"] += 1
    assert outcome(case(), other).bounds == {}
    assert outcome(case(), {**other, "bound": {}}).bounds == {}


def test_simulations_that_failed_are_left_out() -> None:
    partly = results(case())
    del partly["srpt"]
    assert set(outcome(case(), partly).values["response_time.mean"]) == {"fcfs", "hr"}


def made(**values: dict[str, float]) -> Outcome:
    return Outcome(case(), {measure.replace("_mean", ".mean"): own for measure, own in values.items()}, {})


def test_larger_is_better_where_the_measure_says_so() -> None:
    found = made(qos_mean={"a": 0.9, "b": 0.45, "c": 0.9})
    assert found.best("qos.mean") == ["a", "c"]
    assert found.ratios("qos.mean") == {"a": 1.0, "b": 2.0, "c": 1.0}


def test_typical_ratios_are_geometric_means_of_policies_that_are_everywhere() -> None:
    outcomes = [made(slowdown_mean={"a": 1.0, "b": 2.0}), made(slowdown_mean={"a": 8.0, "b": 1.0, "c": 1.0}), made()]
    found = typical_ratios(outcomes, "slowdown.mean")
    assert list(found) == ["b", "a"]
    assert [ratio for ratio, _ in found.values()] == pytest.approx([2**0.5, 8**0.5])
    assert [workloads for _, workloads in found.values()] == [2, 2]


def test_the_page_and_its_picture(tmp_path: Path) -> None:
    outcomes = [outcome(each, results(each)) for each in (case("one"), case("two"))]
    text = page(outcomes, [tightness(1, cases=5)], ABOUT, "pictures/comparison.png")
    lines = text.splitlines()
    assert lines[0] == "# All policies on all documents' workloads"
    assert "| one | 10 | `srpt`, `hr`: " in text
    assert "(×1" in text
    assert max(len(line) for line in lines if not line.startswith("|")) <= 120
    tables = [line for line in lines if line.startswith("|")]
    assert all(line.endswith("|") for line in tables)
    draw(outcomes, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000


def test_equal_policies_are_counted_where_they_are_many() -> None:
    equal = made(slowdown_mean={**dict.fromkeys("abcde", 1.0), "f": 2.0})
    text = page([replace(equal, bounds={})], [], ABOUT, "p.png")
    assert "`a`, `b`, `c` and 2 more: 1 |" in text


def test_the_bound_is_near_the_best_order_on_small_cases() -> None:
    found = tightness(1, cases=20)
    assert 0.0 <= found.mean <= found.largest
    assert found.mean < 0.5
