"""`headgate sweep`, its tasks run here instead of on Spark; see tests/spark/cli for one with Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import Mock

import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import Headgate

import headgate.cli.run
import headgate.sweep.spark_tasks
from headgate.metrics.pictures import curves
from headgate.metrics.pictures.curves import Labels
from headgate.policy_files import PolicyFile
from headgate.sweep.spark_tasks import SweepResult, SweepTask, run_task
from headgate.workload import Workload

pytestmark = pytest.mark.slow

OPTIONS = ("-p", "hr", "-p", "hnr", "--duration", "500 ms", "--json")


class Runs(list[SweepTask]):
    """Stands for Spark: runs tasks one after the other, and remembers them."""

    stop_after: int | None = None

    def __call__(
        self, context: object, workload: Workload, tasks: Sequence[SweepTask], bin: float, files: Sequence[PolicyFile]
    ) -> Iterator[SweepResult]:
        for number, task in enumerate(tasks):
            if number == self.stop_after:
                raise KeyboardInterrupt
            self.append(task)
            yield run_task(task, workload, bin, files)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runs:
    made = Runs()
    monkeypatch.setattr(headgate.sweep.spark_tasks, "run_tasks", made)
    monkeypatch.setattr(headgate.cli.run, "start_spark", Mock())
    monkeypatch.chdir(tmp_path)
    return made


def test_every_combination_runs_once(headgate: Headgate, sensors: Path, runs: Runs) -> None:
    result = headgate("sweep", sensors, *OPTIONS, "--vary", "load=0.5,0.9", "--vary", "cores=1,2", "--seeds", "3")
    assert result.exit_code == 0, result.output
    tree = json.loads(result.stdout)
    assert len(tree["results"]) == len(runs) == 2 * 2 * 2 * 3
    assert tree["varied"] == {"load": [0.5, 0.9], "cores": [1, 2]}
    assert tree["seeds"] == [1, 2, 3]
    assert (tree["failed"], tree["unfinished"]) == ([], 0)
    table = pq.read_table("out/sensors-sweep/sweep.parquet")
    assert table.num_rows == 24
    assert table.column_names[:4] == ["policy", "load", "cores", "seed"]
    assert table["slowdown.mean"].to_pylist() == [row["measures"]["slowdown.mean"] for row in tree["results"]]
    assert Path("out/sensors-sweep/slowdown.mean.png").stat().st_size > 1000


def test_a_seed_is_simulates_own(headgate: Headgate, sensors: Path, runs: Runs) -> None:
    result = headgate("sweep", sensors, *OPTIONS, "--vary", "seed=4,7")
    swept = {(row["policy"], row["seed"]): row["measures"] for row in json.loads(result.stdout)["results"]}
    for seed in (4, 7):
        alone = json.loads(headgate("simulate", sensors, *OPTIONS, "--seed", str(seed)).stdout)["policies"]
        for policy in ("hr", "hnr"):
            assert swept[policy, seed]["response_time.mean"] == alone[policy]["response_time"]["mean"]
            assert swept[policy, seed]["slowdown.l2"] == alone[policy]["slowdown"]["l2"]


def test_a_load_is_the_files(headgate: Headgate, sensors: Path, runs: Runs, tmp_path: Path) -> None:
    file = tmp_path / "loaded.toml"
    text = sensors.read_text(encoding="utf-8").replace("[workload]", "[workload]\nload = 0.7")
    file.write_text(text, encoding="utf-8")
    result = headgate("sweep", sensors, *OPTIONS, "--vary", "load=0.7")
    alone = json.loads(headgate("simulate", file, *OPTIONS).stdout)["policies"]
    for row in json.loads(result.stdout)["results"]:
        assert row["measures"]["response_time.mean"] == alone[row["policy"]]["response_time"]["mean"]


@pytest.mark.slow
def test_only_what_is_missing_is_run(headgate: Headgate, sensors: Path, runs: Runs) -> None:
    first = headgate("sweep", sensors, *OPTIONS, "--vary", "load=0.5")
    runs.clear()
    second = headgate("sweep", sensors, *OPTIONS, "--vary", "load=0.5,0.9")
    assert [(task.policy, dict(task.point)) for task in runs] == [("hr", {"load": 0.9}), ("hnr", {"load": 0.9})]
    assert "2 of 4 simulations are finished already" in second.stderr
    assert json.loads(second.stdout)["results"][:2] == json.loads(first.stdout)["results"]


@pytest.mark.slow
@pytest.mark.parametrize("other", [("--duration", "400 ms"), ("--bin", "0.2")])
def test_what_was_made_otherwise_is_run_again(
    headgate: Headgate, sensors: Path, runs: Runs, other: tuple[str, ...]
) -> None:
    headgate("sweep", sensors, *OPTIONS, "--vary", "load=0.5")
    runs.clear()
    headgate("sweep", sensors, *OPTIONS, *other, "--vary", "load=0.5")
    assert len(runs) == 2


@pytest.mark.slow
def test_an_interrupted_sweep_goes_on(headgate: Headgate, sensors: Path, runs: Runs) -> None:
    runs.stop_after = 3
    stopped = headgate("sweep", sensors, *OPTIONS, "--vary", "load=0.5,0.9", "--seeds", "2")
    assert stopped.exit_code == 130
    assert "interrupted, 3 of 8 simulations finished; run it again to go on" in stopped.stderr
    assert json.loads(stopped.stdout)["unfinished"] == 5
    assert pq.read_table("out/sensors-sweep/sweep.parquet").num_rows == 3
    runs.stop_after = None
    runs.clear()
    result = headgate("sweep", sensors, *OPTIONS, "--vary", "load=0.5,0.9", "--seeds", "2")
    assert len(runs) == 5
    assert json.loads(result.stdout)["unfinished"] == 0


@pytest.mark.slow
def test_half_a_file_is_not_taken_for_a_result(headgate: Headgate, sensors: Path, runs: Runs) -> None:
    headgate("sweep", sensors, *OPTIONS, "--vary", "load=0.5")
    next(Path("out/sensors-sweep/finished").iterdir()).write_text('{"slowdown.me', encoding="utf-8")
    runs.clear()
    headgate("sweep", sensors, *OPTIONS, "--vary", "load=0.5")
    assert len(runs) == 1


def test_a_setting_of_the_policy(headgate: Headgate, sensors: Path, runs: Runs) -> None:
    options = ("-p", "bsd", "--vary", "policy.clusters=2,4", "--duration", "500 ms", "--json")
    tree = json.loads(headgate("sweep", sensors, *options).stdout)
    assert [row["settings"] for row in tree["results"]] == [{"policy.clusters": 2}, {"policy.clusters": 4}]
    assert (tree["failed"], tree["unfinished"]) == ([], 0)


@pytest.mark.slow
def test_what_fails_is_told_and_tried_again(headgate: Headgate, sensors: Path, runs: Runs) -> None:
    options = ("-p", "fixed-priority", "-p", "hr", "--vary", "load=0.5", "--duration", "500 ms")
    result = headgate("sweep", sensors, *options)
    assert result.exit_code == 0
    assert "failed fixed-priority at load=0.5, seed 1: " in result.stderr
    runs.clear()
    headgate("sweep", sensors, *options)
    assert [task.policy for task in runs] == ["fixed-priority"]


def test_tables_show_means_and_confidence(headgate: Headgate, sensors: Path, runs: Runs) -> None:
    options = ("-p", "hr", "--vary", "load=0.5,0.9", "--seeds", "3", "--duration", "500 ms", "-m", "slowdown.mean")
    lines = headgate("sweep", sensors, *options).stdout.splitlines()
    assert lines[0] == "sensors: 6 simulations"
    assert lines[2].strip() == "slowdown.mean"
    assert [line.split()[0] for line in lines[-2:]] == ["0.5", "0.9"]
    assert all(" ± " in line for line in lines[-2:])


def test_pictures_name_setting_and_measure_in_words(
    headgate: Headgate, sensors: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: dict[str, tuple[Labels, list[str]]] = {}
    monkeypatch.setattr(curves, "draw", lambda lines, path, labels: drawn.update({path.name: (labels, list(lines))}))
    path = "classes.critical.response_time.p95"
    headgate("sweep", sensors, *OPTIONS, "--vary", "rate=10,20", "--vary", "cores=1,2", "--seeds", "2", "-m", path)
    labels, lines = drawn[f"{path}.png"]
    assert labels.title == "sensors: 95th percentile of response time, class critical"
    assert labels.setting == "mean rate of every stream (tuples/s)"
    assert (labels.measure.is_time, labels.runs) == (True, 2)
    assert lines == ["hr, cores=1", "hnr, cores=1", "hr, cores=2", "hnr, cores=2"]


def test_a_changed_policy_of_a_file_is_run_again(
    headgate: Headgate, sensors: Path, runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "examples" / "weighted_wait.py").read_text()
    own = "./mine.py:WeightedWait"
    asked = ("sweep", sensors, *OPTIONS, "-p", own, "--vary", "policy.level=query")
    for changed, policies in ((text, ["hr", "hnr", own]), (f"{text}\n", [own])):
        Path("mine.py").write_text(changed)
        runs.clear()
        assert headgate(*asked).exit_code == 0
        assert [task.policy for task in runs] == policies
