from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.cli.conftest import Headgate

import headgate.sim as headgate_sim
from headgate.metrics import Records
from headgate.sim import Simulation
from headgate.workload import Workload


def test_the_table_shows_the_published_numbers_and_marks_the_best(headgate: Headgate, two: Path) -> None:
    result = headgate("simulate", two, "--policy", "hr", "--policy", "hnr")
    assert result.exit_code == 0
    rows = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines() if line.startswith("h")}
    assert rows["hr"][0] == "*12.25"
    assert rows["hr"][3] == "3.875"
    assert rows["hnr"][0] == "13.00"
    assert rows["hnr"][3] == "*2.900"
    assert "mean ms" in result.stdout
    assert "* best of its column" in result.stdout


def test_one_policy_marks_nothing(headgate: Headgate, two: Path) -> None:
    assert "*" not in headgate("simulate", two, "--policy", "hr").stdout


def test_fcfs_and_hnr_are_the_default(headgate: Headgate, two: Path) -> None:
    assert list(json.loads(headgate("simulate", two, "--json").stdout)["policies"]) == ["fcfs", "hnr"]


def test_classes_stand_by_falling_priority(headgate: Headgate, sensors: Path) -> None:
    heading = headgate("simulate", sensors).stdout.splitlines()[2]
    assert heading.index("critical") < heading.index("normal") < heading.index("batch")


@pytest.mark.parametrize("columns", [60, 80, 100, 140, 200])
def test_a_table_never_is_wider_than_the_terminal_nor_cut(headgate: Headgate, sensors: Path, columns: int) -> None:
    result = headgate("simulate", sensors, "-p", "hnr", "-p", "bsd, train=2", "-p", "path-capacity", columns=columns)
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= columns
    assert "…" not in result.stdout
    assert sum(line.startswith("bsd, train=2 ") for line in lines) == sum(line.startswith("policy") for line in lines)
    for heading in ("response", "slowdown", "critical", "normal", "batch", "queue", "inversion"):
        assert heading in result.stdout


def test_a_long_policy_leaves_room_for_its_numbers(headgate: Headgate, two: Path) -> None:
    policy = "bsd, ratio=0.25, threshold=50, schedule=3, level=operator"
    lines = headgate("simulate", two, "-p", policy, columns=80).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("policy") for line in lines) <= 2


def test_json_has_the_policies_as_they_were_written(headgate: Headgate, two: Path) -> None:
    result = headgate("simulate", two, "--policy", "hr", "--policy", "bsd,train=10", "--json")
    tree = json.loads(result.stdout)
    assert tree["workload"] == "example-1"
    assert list(tree["policies"]) == ["hr", "bsd,train=10"]
    assert tree["policies"]["hr"]["response_time"]["mean"] == pytest.approx(12.25e-3)
    assert tree["policies"]["hr"]["slowdown"]["mean"] == pytest.approx(3.875)
    assert "critical" in tree["policies"]["hr"]["classes"]


def test_a_policy_given_twice_runs_once(headgate: Headgate, two: Path) -> None:
    result = headgate("simulate", two, "-p", "hr", "-p", "hr", "--json")
    assert list(json.loads(result.stdout)["policies"]) == ["hr"]


def test_seed_and_duration_replace_those_of_the_file(headgate: Headgate, sensors: Path) -> None:
    def numbers(*options: str) -> dict[str, object]:
        tree = json.loads(headgate("simulate", sensors, "-p", "hr", "--json", *options).stdout)
        return dict(tree["policies"]["hr"])

    assert numbers() == numbers("--seed", "1")
    assert numbers()["tuples_in"] != numbers("--seed", "2")["tuples_in"]
    assert float(str(numbers("--duration", "1500 ms")["seconds"])) < 2.0


def test_fuse_replaces_that_of_the_file(headgate: Headgate, sensors: Path) -> None:
    def runs(*options: str) -> int:
        tree = json.loads(headgate("simulate", sensors, "-p", "hnr", "--json", *options).stdout)
        return int(tree["policies"]["hnr"]["scheduling"]["runs"])

    assert runs("--fuse", "all") < runs("--fuse", "off") == runs()


def test_records_of_one_policy_have_no_policy_column(headgate: Headgate, two: Path, tmp_path: Path) -> None:
    result = headgate("simulate", two, "-p", "hr", "--records", tmp_path / "r.parquet")
    rows = pyarrow.parquet.read_table(tmp_path / "r.parquet")
    assert rows.num_rows == 4
    assert "policy" not in rows.column_names
    assert f"wrote {tmp_path / 'r.parquet'}" in result.stderr
    assert "wrote" not in result.stdout


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_records_of_several_policies_name_the_policy(
    headgate: Headgate, two: Path, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"r.{suffix}"
    headgate("simulate", two, "-p", "hr", "-p", "hnr", "--records", path)
    rows = pyarrow.parquet.read_table(path) if suffix == "parquet" else pyarrow.csv.read_csv(path)
    assert rows.column("policy").to_pylist() == ["hr"] * 4 + ["hnr"] * 4
    assert set(rows.column("query").to_pylist()) == {"q1", "q2"}


def test_a_picture_is_written(headgate: Headgate, two: Path, tmp_path: Path) -> None:
    result = headgate("simulate", two, "--plot", tmp_path / "p.png", "--bin", "0.05", "--json")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert "wrote" in result.stderr
    json.loads(result.stdout)


def test_several_policies_record_into_files_of_their_own(headgate: Headgate, two: Path, tmp_path: Path) -> None:
    result = headgate("simulate", two, "-p", "hr", "-p", "bsd, train=10", "--record", tmp_path / "t.jsonl")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.bsd-train-10.jsonl", "t.hr.jsonl"]
    assert result.stderr.count("wrote") == 2


def test_spellings_of_one_policy_do_not_overwrite_each_other(headgate: Headgate, two: Path, tmp_path: Path) -> None:
    headgate("simulate", two, "-p", "bsd, train=1", "-p", "bsd,train=1", "--record", tmp_path / "t.jsonl")
    assert len(list(tmp_path.iterdir())) == 2


def test_ctrl_c_shows_the_policies_that_are_finished(
    headgate: Headgate, two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def simulate_or_interrupt(workload: Workload, policy: str, **settings: Any) -> Records:
        if policy == "hnr":
            raise KeyboardInterrupt
        return Simulation(workload, policy).run()

    monkeypatch.setattr(headgate_sim, "simulate", simulate_or_interrupt)
    done = headgate("simulate", two, "-p", "hr", "-p", "hnr")
    assert done.exit_code == 130
    assert "hr" in done.stdout
    assert "interrupted, 1 of 2 policies finished" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", ["simulate", "compare -p fcfs -p hnr --jobs 1"])
def test_sql_without_costs_says_what_was_assumed_once(headgate: Headgate, tmp_path: Path, command: str) -> None:
    text = """
[workload]
duration = "1 s"

[[stream]]
name = "s"
schema = "a bigint, b bigint"
arrivals = "poisson, rate=10"

[[query]]
name = "q"
sql = "SELECT a FROM s WHERE a > 1"
"""
    file = tmp_path / "sql.toml"
    file.write_text(text, encoding="utf-8")
    said = headgate(*command.split(), file)
    assert said.exit_code == 0
    assert said.stderr.count("no [costs] for select, project: in the simulator they take no time") == 1
    file.write_text(text + '\n[costs]\nselect = "cost=1us"\n', encoding="utf-8")
    assert "no [costs] for project: " in headgate(*command.split(), file).stderr
    file.write_text(text + '\n[costs]\nselect = "cost=1us"\nproject = "cost=0us"\n', encoding="utf-8")
    assert "[costs]" not in headgate(*command.split(), file).stderr


TARGETS = """
stream = [{ name = "s", arrivals = "poisson, rate=9" }]
class = [{ name = "high", priority = 10, target = "p99 TIME" }, { name = "low" }]
query = [
    { name = "alarm", class = "high", from = "s", operators = ["select, cost=20ms"] },
    { name = "other", class = "high", target = "50 ms ± 20 %", from = "s", operators = ["select, cost=20ms"] },
    { name = "report", class = "low", from = "s", operators = ["select, cost=50ms"] },
]
workload = { duration = "20 s" }
"""


@pytest.fixture
def wanted(tmp_path: Path) -> Callable[[str], Path]:
    """A workload with targets, of which the class's can be chosen."""

    def written(time: str) -> Path:
        path = tmp_path / "w.toml"
        path.write_text(TARGETS.replace("TIME", time))
        return path

    return written


def test_how_much_of_the_time_targets_were_met(headgate: Headgate, wanted: Callable[[str], Path]) -> None:
    policies = ("--policy", "fcfs", "--policy", "hnr")
    shown = headgate("simulate", wanted("10 min"), *policies).stdout.partition("each target was met")[2]
    rows = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    assert rows["alarm"].split()[-4:] == ["100", "%", "100", "%"]
    assert "p95 50 ms ± 20 %" in rows["other"]
    assert "report" not in rows
    tree = json.loads(headgate("simulate", wanted("10 min"), *policies, "--json").stdout)["policies"]["fcfs"]
    assert tree["queries"]["alarm"]["targets"]["share"] == 1.0
    assert tree["queries"]["other"]["targets"]["share"] < tree["classes"]["high"]["targets"]["share"] < 1


@pytest.mark.parametrize("command", ["simulate", "compare", "check"])
def test_a_target_that_nobody_could_meet_is_refused(
    headgate: Headgate, wanted: Callable[[str], Path], command: str
) -> None:
    path = wanted("10 ms")
    result = headgate(command, path)
    assert result.exit_code == 2
    reason = "target p99 10 ms cannot be met: a tuple of query 'alarm' takes 20 ms even alone; give more than that"
    assert result.stderr.strip() == f"headgate: {path}:3: class 'high', target: {reason}"


@pytest.mark.slow
def test_the_path_is_told_and_can_be_chosen(headgate: Headgate, two: Path) -> None:
    trees = {
        path: json.loads(headgate("simulate", two, "-p", "hnr", "--path", path, "--json").stdout)["policies"]["hnr"]
        for path in ("compiled", "general")
    }
    assert {path: tree.pop("path") for path, tree in trees.items()} == {"compiled": "compiled", "general": "general"}
    assert trees["compiled"] == trees["general"]
    first = [headgate("simulate", two, "-p", "hnr", "--path", path).stdout.splitlines()[0] for path in trees]
    assert [line.endswith(", compiled") for line in first] == [True, False]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--path", "quick"], "unknown path 'quick'"),
        (["--path", "compiled", "-p", "random"], "compiled code cannot simulate this: policy random"),
        (["--aggregate", "--records", "r.csv"], "--records needs results, and --aggregate keeps none"),
    ],
)
def test_a_path_that_there_is_not_is_refused(headgate: Headgate, two: Path, options: list[str], said: str) -> None:
    result = headgate("simulate", two, *options)
    assert result.exit_code != 0
    assert said in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("path", ["compiled", "general"])
def test_counted_results_give_the_same_means(headgate: Headgate, path: str) -> None:
    file = Path(__file__).parents[2] / "examples" / "sensors.toml"

    def measured(*options: str) -> dict[str, Any]:
        tree = json.loads(headgate("simulate", file, "-p", "hnr", "--json", "--path", path, *options).stdout)
        return dict(tree["policies"]["hnr"])

    counted, kept = measured("--aggregate"), measured()
    assert counted["slowdown"] == pytest.approx(kept["slowdown"])
    assert counted["response_time"]["mean"] == pytest.approx(kept["response_time"]["mean"])
    assert counted["response_time"]["p95"] == pytest.approx(kept["response_time"]["p95"], rel=0.02)
    assert counted["results"] == kept["results"]
    assert counted["queue"]["over_time"]["time"] == []
