from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import FIXTURES, Headgate

from headgate.cli.compare import rank
from headgate.cli.parallel_simulations import Finished, run_all
from headgate.cli.policy_fit import misfit
from headgate.cli.regret import in_words, regrets
from headgate.cli.report_tables import by_measure
from headgate.metrics import QueryRecords, Records, Report, measure
from headgate.metrics.pictures import ranking
from headgate.metrics.pictures.ranking import Ranking
from headgate.policies.baseline.fcfs import FirstComeFirstServed
from headgate.policies.contract import Policy
from headgate.policies.registry import policies
from headgate.workload import Workload
from headgate.workload.reader import read_workload

pytestmark = pytest.mark.slow


class Prioritized(FirstComeFirstServed):
    needs = frozenset({"class_priority"})


class QosBased(FirstComeFirstServed):
    needs = frozenset({"qos"})


class Valued:
    """A report with one number."""

    def __init__(self, number: float | None) -> None:
        self.number = number

    def value(self, path: str) -> float | None:
        return self.number


def judged(*responses: float) -> Report:
    query = QueryRecords("q", 1.0, classes=[(0.0, "c")])
    query.arrival.extend([0.0] * len(responses))
    query.emission.extend(responses)
    return measure(Records([query], {"c": 1.0}))


def test_every_fitting_policy_is_ranked(headgate: Headgate, two: Path) -> None:
    result = headgate("compare", two, "--json", "--jobs", "2")
    assert result.exit_code == 0
    tree = json.loads(result.stdout)
    values = [entry["value"] for entry in tree["ranking"]]
    assert values == sorted(values)
    assert {entry["policy"] for entry in tree["ranking"]} | set(tree["left_out"]) == set(policies())
    assert tree["left_out"]["weighted-hr"] == "all classes have the same priority"
    assert tree["failed"] == {}
    assert tree["unfinished"] == []
    assert tree["policies"]["hnr"]["slowdown"]["mean"] == pytest.approx(2.9)


def test_regret_is_the_distance_to_the_best_candidate(headgate: Headgate, two: Path) -> None:
    adaptive = "adaptive, candidates=[fcfs, hnr, lsf], level=query, warmup=0s, explore=100ms, every=100ms"
    by = ["--by", "slowdown.mean", "--jobs", "1"]
    tree = json.loads(headgate("compare", two, "-p", adaptive, "--regret", *by, "--json").stdout)
    values = {entry["policy"]: entry["value"] for entry in tree["ranking"]}
    fixed = {policy: value for policy, value in values.items() if policy != adaptive}
    assert set(fixed) == {f"{name}, level=query" for name in ("fcfs", "hnr", "lsf")}
    found = tree["regret"][adaptive]
    assert found["best_value"] == min(fixed.values()) == fixed[found["best"]]
    assert found["regret"] == pytest.approx(values[adaptive] - found["best_value"])
    assert found["share"] == pytest.approx(found["regret"] / found["best_value"])
    shown = " ".join(headgate("compare", two, "-p", adaptive, "--regret", *by).stdout.split())
    assert f"regret of {adaptive}:" in shown
    assert "of its 3 candidates" in shown


def test_regret_without_adaptive_is_refused(headgate: Headgate, two: Path) -> None:
    result = headgate("compare", two, "-p", "fcfs", "--regret")
    assert result.exit_code == 2
    assert "no policy here is adaptive; add --policy" in result.stderr
    assert "regret" not in json.loads(headgate("compare", two, "-p", "fcfs", "--json").stdout)


@pytest.mark.parametrize(("value", "expected"), [(0.5, 0.25), (0.875, -0.125), (None, None)])
def test_regret_where_larger_is_better(value: float | None, expected: float | None) -> None:
    reports = {"adaptive": Valued(value), "a": Valued(0.75), "b": Valued(0.25), "c": Valued(None)}
    (found,) = regrets({"adaptive": ["a", "b", "c"], "other": ["a"]}, reports, "qos.mean")  # type: ignore[arg-type]
    assert found.amount == expected
    assert found.best == (None if value is None else "a")
    words = in_words(found, "qos.mean")
    assert words.startswith("regret of adaptive: ")
    assert ("none, it is better by 0.125" in words) == (expected == -0.125)
    assert ("unknown" in words) == (expected is None)


def test_the_table_is_numbered_and_the_measure_comes_first(headgate: Headgate, sensors: Path) -> None:
    result = headgate("compare", sensors, "-p", "rr", "-p", "hnr", "--by", "classes.critical.response_time.p95")
    lines = result.stdout.splitlines()
    assert lines[2].split()[0] == "critical"
    assert lines[3].split()[:3] == ["policy", "p95", "ms"]
    assert [line.split()[:2] for line in lines if line[:1].isdigit()] == [["1.", "hnr"], ["2.", "rr"]]


@pytest.mark.slow
def test_what_is_left_out_is_said_with_its_reason(headgate: Headgate, two: Path) -> None:
    assert "left out weighted-hr: all classes have the same priority" in headgate("compare", two).stderr


@pytest.mark.slow
def test_a_picture_of_a_comparison(headgate: Headgate, two: Path, tmp_path: Path) -> None:
    result = headgate("compare", two, "-p", "hr", "-p", "hnr", "--plot", tmp_path / "p.svg")
    assert (tmp_path / "p.svg").exists()
    assert "wrote" in result.stderr


def test_the_picture_shows_the_measure_that_ranks(
    headgate: Headgate, sensors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[Ranking, list[str]]] = []
    monkeypatch.setattr(ranking, "draw", lambda ranking, records, path, bin: drawn.append((ranking, list(records))))
    options = ("--by", "classes.critical.response_time.p95", "--plot", tmp_path / "p.png", "--json")
    result = headgate("compare", sensors, "-p", "rr", "-p", "hnr", *options)
    [(shown, runs)] = drawn
    assert shown.measure.words == "95th percentile of response time, class critical"
    assert [{"policy": policy, "value": value} for policy, value in shown.values.items()] == (
        json.loads(result.stdout)["ranking"]
    )
    assert runs == list(shown.values) == ["hnr", "rr"]


def test_a_class_with_dots_heads_its_column() -> None:
    column = by_measure("classes.eu.west.results")
    assert (column.group, column.name) == ("eu.west", "results")


def test_larger_is_better_for_some_measures() -> None:
    reports = {"few": judged(1.0), "many": judged(1.0, 2.0)}
    assert list(rank(reports, "results")) == ["many", "few"]
    assert list(rank(reports, "response_time.mean")) == ["few", "many"]


def test_a_policy_without_the_measure_comes_last() -> None:
    assert list(rank({"none": judged(), "some": judged(9.0)}, "slowdown.mean")) == ["some", "none"]


def test_equal_policies_stand_by_name() -> None:
    assert list(rank({"b": judged(1.0), "a": judged(1.0)}, "slowdown.mean")) == ["a", "b"]


@pytest.mark.parametrize(("policy", "file", "fits"), [(Prioritized, "two", False), (Prioritized, "sensors", True)])
def test_priorities_must_differ_for_policies_that_read_them(policy: type[Policy], file: str, fits: bool) -> None:
    assert (misfit(policy, read_workload(FIXTURES / f"{file}.toml")) is None) is fits


def test_a_policy_that_reads_qos_needs_a_graph(two: Path) -> None:
    assert misfit(QosBased, read_workload(two)) == "no query has a QoS graph"


def test_a_policy_that_fails_does_not_stop_the_others(two: Path) -> None:
    workload: Workload = read_workload(two)
    found: dict[str, Finished] = dict(run_all(workload, ["hr", "nonsense"], jobs=1, bin=0.1))
    assert found["hr"].report is not None
    assert "unknown policy 'nonsense'" in found["nonsense"].error
