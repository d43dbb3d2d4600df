"""`headgate reproduce`, its tasks run here instead of on Spark; see tests/spark/cli for one with Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from unittest.mock import Mock

import pytest
from tests.cli.conftest import Headgate
from tests.reproduction.conftest import experiments  # noqa: F401, a fixture

import headgate.cli.spark_start
import headgate.reproduction.tasks
from headgate.reproduction.tasks import Task, run_task
from headgate.sweep.spark_tasks import SweepResult
from headgate.workload import Workload


class Runs(list[Task]):
    """Stands for Spark: runs tasks one after the other, and remembers them."""

    stop_after: int | None = None

    def __call__(
        self, context: object, workloads: Mapping[str, Workload], tasks: Sequence[Task], package: str
    ) -> Iterator[SweepResult]:
        for number, task in enumerate(tasks):
            if number == self.stop_after:
                raise KeyboardInterrupt
            self.append(task)
            yield run_task(task, workloads)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runs:
    made = Runs()
    monkeypatch.setattr(headgate.reproduction.tasks, "run_tasks", made)
    monkeypatch.setattr(headgate.cli.spark_start, "start_spark", Mock())
    monkeypatch.chdir(tmp_path)
    return made


@pytest.fixture
def folder(experiments: Path) -> tuple[str, Path]:  # noqa: F811
    return "--experiments", experiments


Folder = tuple[str, Path]


def test_every_result_has_a_verdict(headgate: Headgate, folder: Folder, runs: Runs) -> None:
    result = headgate("reproduce", *folder, "--json")
    assert result.exit_code == 0, result.output
    tree = json.loads(result.stdout)
    assert [(row["document"], row["id"], row["verdict"]) for row in tree["results"]] == [
        ("paper", "F1", "partly"),
        ("paper", "F2", "not"),
        ("paper", "F10", "reproduced"),
    ]
    assert {"claim", "published", "measured"} < tree["results"][0].keys()
    assert tree["results"][2]["published"] == "mean response: srpt < fcfs"
    assert tree["counts"] == {"reproduced": 1, "partly": 1, "not": 1}
    assert (tree["failed"], tree["unfinished"]) == ([], [])
    assert len(runs) == 5  # what they share is run once


def test_published_beside_measured(headgate: Headgate, folder: Folder, runs: Runs) -> None:
    shown = headgate("reproduce", "paper", "f10", *folder).stdout
    assert "paper F10 (figure 10): reproduced" in shown
    assert "srpt < fcfs" in shown
    assert "1 reproduced, 0 partly, 0 not" in shown


def test_the_list_runs_nothing(headgate: Headgate, folder: Folder, runs: Runs) -> None:
    assert "short ones answer sooner" in headgate("reproduce", "--list", *folder).stdout
    listed = json.loads(headgate("reproduce", "paper", "F1", "--list", "--json", *folder).stdout)["experiments"]
    assert listed == [{"document": "paper", "id": "F1", "source": "figure 1", "claim": "short ones first"}]
    assert not runs


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["papers"], "headgate: unknown document 'papers'; known: paper"),
        (["paper", "F3"], "headgate: unknown result of paper 'F3'; known: F1, F2, F10"),
    ],
)
def test_what_is_unknown(headgate: Headgate, folder: Folder, runs: Runs, names: list[str], message: str) -> None:
    result = headgate("reproduce", *names, *folder)
    assert (result.exit_code, result.stderr.strip()) == (2, message)


def test_an_interrupted_one_goes_on(headgate: Headgate, folder: Folder, runs: Runs) -> None:
    runs.stop_after = 4
    stopped = headgate("reproduce", *folder, "--json", "--report", "report.md")
    assert stopped.exit_code == 130
    assert "interrupted, 4 of 5 runs finished; run it again to go on" in stopped.stderr
    tree = json.loads(stopped.stdout)
    assert [row["id"] for row in tree["results"]] == ["F1"]
    assert [row["id"] for row in tree["unfinished"]] == ["F2", "F10"]
    assert not Path("report.md").exists()  # half a report would look like a whole one
    runs.stop_after = None
    runs.clear()
    again = headgate("reproduce", *folder, "--json")
    assert len(runs) == 1
    assert "4 of 5 runs are finished already" in again.stderr
    assert len(json.loads(again.stdout)["results"]) == 3


def test_what_fails_leaves_the_others_alone(headgate: Headgate, folder: Folder, runs: Runs) -> None:
    file = folder[1] / "paper" / "one.py"
    file.write_text(file.read_text(encoding="utf-8").replace("max(len", "max(wrong"), encoding="utf-8")
    result = headgate("reproduce", *folder, "--json")
    assert result.exit_code == 2
    tree = json.loads(result.stdout)
    assert [row["id"] for row in tree["results"]] == ["F2", "F10"]
    assert tree["failed"] == [{"document": "paper", "id": "F1", "error": "NameError: name 'wrong' is not defined"}]
    assert "failed paper F1: NameError" in result.stderr


def test_the_report(headgate: Headgate, folder: Folder, runs: Runs) -> None:
    result = headgate("reproduce", "--full", *folder, "--report", "docs/report.md")
    assert result.exit_code == 0, result.output
    page = Path("docs/report.md").read_text(encoding="utf-8")
    assert "Of 3 published results 1 are reproduced, 1 partly, 1 not." in page
    assert "| Document | Figure | Claim | Published | Measured | Verdict | Picture |" in page
    assert "All costs are chosen." in page
    assert "(2 seeds)" in page
    assert "±" in page
    assert "### paper F1: partly" in page
    assert "Figures too far away: largest." in page
    assert "The largest is not printed." in page
    assert "### paper F10" not in page  # it is reproduced
    assert "(pictures/reproduction/paper-F1.png)" in page
    assert Path("docs/pictures/reproduction/paper-F1.png").stat().st_size > 1000
    assert str(folder[1].parent) not in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("document", "ids"),
    [
        ("almoakar", ["ABD"]),
        ("carney", ["2.1", "2.5", "3.8", "3.10", "T2.1"]),
        ("pajjuri", ["6.1"]),
        ("pielech", ["6.2", "6.3"]),
        ("sharaf", ["F11"]),
    ],
)
def test_results_of_the_checkout_have_a_verdict(headgate: Headgate, runs: Runs, document: str, ids: list[str]) -> None:
    """Some of each document; `make reproduce` runs all of them."""
    result = headgate("reproduce", document, *ids, "--json", "--report", "report.md")
    assert result.exit_code == 0, result.output
    tree = json.loads(result.stdout)
    assert [(row["document"], row["id"]) for row in tree["results"]] == [(document, name) for name in ids]
    assert {row["verdict"] for row in tree["results"]} <= {"reproduced", "partly", "not"}
    for row in tree["results"]:
        assert row["published"], row["id"]
        assert "no value" not in row["measured"], row["id"]
