"""The command `headgate what-if` on traces, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Headgate
from tests.sim.builders import traced

from headgate.cli import parallel_replays
from headgate.model import Target
from headgate.workload import parse_workload

WORKLOAD = """
[workload]
duration = "3 s"
load = 0.9

[[stream]]
name = "readings"
schema = "location string, temp double, ts timestamp"
event_time = "ts"
arrivals = "poisson, rate=60"

[[class]]
name = "critical"
priority = 60
[[class]]
name = "background"
priority = 10

[costs]
select = "cost=2ms, selectivity=0.3"
project = "cost=8ms"
aggregate = "cost=3ms, selectivity=0.1"

[[query]]
name = "fire"
class = "critical"
sql = "SELECT location FROM readings WHERE temp > 90"

[[query]]
name = "all"
class = "background"
sql = "SELECT location, temp FROM readings"
"""


@pytest.fixture(scope="module")
def lines() -> list[str]:
    made = parse_workload(WORKLOAD)
    fire, rest = made.queries
    return traced(replace(made, queries=(replace(fire, target=Target(0.1)), rest)), "fcfs")[1]


@pytest.fixture
def trace(lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def asked(headgate: Headgate, *arguments: str | Path) -> Any:
    result = headgate("what-if", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_the_promised_numbers(headgate: Headgate, trace: Path) -> None:
    tree = asked(headgate, trace, "-p", "hnr", "-p", "express")
    assert tree["recorded"]["policy"] == tree["replayed"]["policy"] == "fcfs"
    assert set(tree["policies"]) == set(tree["ranking"]) == {"hnr", "express"}
    for told in (tree["recorded"], tree["replayed"], *tree["policies"].values()):
        assert set(told["classes"]) == {"critical", "background"}
        for numbers in told["classes"].values():
            times = numbers["response_time"]
            assert 0 < times["p50"] <= times["p95"]
            assert times["mean"] > 0
    assert all(0 <= error < 0.03 for error in tree["error"].values())
    assert tree["by"] == "targets"
    assert tree["policies"]["express"]["targets"] == {"met": 1, "of": 1, "queries": {"fire": True}}


def test_the_table_tells_changes_and_what_cannot_be_told(headgate: Headgate, trace: Path) -> None:
    result = headgate("what-if", trace, "-p", "express", "-p", "fcfs", "--by", "critical.p95")
    rows = {line.split()[1]: line for line in result.stdout.splitlines() if line[:2] in ("1.", "2.")}
    assert list(rows) == ["express", "fcfs"]
    assert "≈+0%" in rows["fcfs"]
    assert "≈" not in rows["express"].split("background")[0].split()[4]
    assert "By critical.p95, express is the best" in result.stdout
    assert "within that error" in result.stdout


def test_policies_that_cannot_be_told_apart_are_called_so(headgate: Headgate, trace: Path) -> None:
    result = headgate("what-if", trace, "-p", "fcfs", "-p", "fifo", "--by", "mean")
    assert "cannot be told apart" in result.stdout


def test_settings_without_a_policy_are_asked_of_the_recorded_one(headgate: Headgate, trace: Path) -> None:
    tree = asked(headgate, trace, "--workers", "2")
    (told,) = tree["policies"].values()
    assert told["overall"]["response_time"]["mean"] < tree["replayed"]["overall"]["response_time"]["mean"]


def test_a_query_is_added(headgate: Headgate, trace: Path, tmp_path: Path) -> None:
    (tmp_path / "cold.sql").write_text("-- class: critical\nSELECT location FROM readings WHERE temp < 0\n")
    tree = asked(headgate, trace, "--add", "cold.sql", "-p", "fcfs")
    before, after = (told["classes"]["critical"]["results"] for told in (tree["replayed"], tree["policies"]["fcfs"]))
    assert after > before


def test_the_effect_of_an_added_query_is_told(headgate: Headgate, trace: Path, tmp_path: Path) -> None:
    (tmp_path / "cold.sql").write_text("-- class: critical\nSELECT location FROM readings WHERE temp < 0\n")
    tree = asked(headgate, trace, "--add", "cold.sql")
    assert tree["added"]["text"] in headgate("what-if", trace, "--add", "cold.sql").stdout.replace("\n", " ")
    assert set(tree["added"]["classes"]) == {"critical", "background"}


def test_regret_is_told_by_replays(headgate: Headgate, trace: Path) -> None:
    adaptive = "adaptive, candidates=[fcfs, hnr], level=query, warmup=0s, explore=100ms, every=100ms"
    tree = asked(headgate, trace, "-p", adaptive, "--regret", "--by", "mean")
    assert len(tree["policies"]) == 3
    (found,) = tree["regret"].values()
    assert found["best"] in tree["policies"]
    shown = headgate("what-if", trace, "-p", adaptive, "--regret", "--by", "mean").stdout
    assert "regret of adaptive" in shown
    assert "of its 2 candidates" in " ".join(shown.split())


def test_only_the_last_part_is_replayed(headgate: Headgate, trace: Path) -> None:
    results = [
        asked(headgate, trace, "-p", "hnr", *more)["recorded"]["overall"]["results"] for more in ((), ("--last", "1s"))
    ]
    assert 0 < results[1] < results[0]


def test_it_is_drawn(headgate: Headgate, trace: Path, tmp_path: Path) -> None:
    result = headgate("what-if", trace, "-p", "hnr", "--plot", tmp_path / "p.svg")
    assert result.exit_code == 0
    assert "hnr" in (tmp_path / "p.svg").read_text() or (tmp_path / "p.svg").stat().st_size > 5000


@pytest.mark.slow
def test_processes_give_the_same(headgate: Headgate, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = asked(headgate, trace, "-p", "hnr", "-p", "mbd")
    monkeypatch.setattr(parallel_replays, "WORTH_IT", 0)
    assert asked(headgate, trace, "-p", "hnr", "-p", "mbd", "--jobs", "2") == alone


WRONG = {
    "gone -p hnr": "gone: there is no such directory or trace",
    "empty -p hnr": "empty: there is no history here",
    "notes.txt -p hnr": "notes.txt: line 1: this is not a line of a trace",
    "cut.jsonl -p hnr": "this is not a line of a trace",
    "old.jsonl -p hnr": "this is not a trace of this version",
    "header.jsonl -p hnr": "header.jsonl: nothing has run yet",
    "short.jsonl -p hnr": "there are too few runs to learn from: ",
    "t.jsonl": "nothing is to be different; add --policy fcfs",
    "t.jsonl -p hnrr": "unknown policy 'hnrr'; did you mean 'hnr'",
    "t.jsonl --priority critcal=80": "--priority: unknown class 'critcal'; did you mean 'critical'?",
    "t.jsonl --priority critical": "--priority wants a class and a number above 0, found 'critical'",
    "t.jsonl --priority critical=-1": "--priority wants a class and a number above 0, found 'critical=-1'",
    "t.jsonl --workers 0": "--workers must be at least 1, found 0",
    "t.jsonl --rate 0": "--rate must be above 0 and at most 1000, found 0",
    "t.jsonl --fuse some": "unknown value for --fuse 'some'; known: all, class, off",
    "t.jsonl -p hnr --by p99": "--by: unknown measure 'p99'",
    "t.jsonl -p hnr --by crit.p95": "--by: unknown class 'crit'",
    "t.jsonl -p hnr --jobs 0": "--jobs must be at least 1, found 0",
    "t.jsonl -p hnr --plot p.gif": "--plot cannot write 'p.gif'",
    "t.jsonl -p hnr --regret": "no recorded or given policy is adaptive; add --policy",
    "t.jsonl -p hnr --last 0s": "--last must be longer than 0 s, found 0s",
    "t.jsonl -p hnr --last soon": "--last",
    "t.jsonl --add gone.sql": "cannot use 'gone.sql': no such file or directory",
    "t.jsonl --add classless.sql": "classless.sql: the class of query 'classless' is not said; write '-- class",
    "t.jsonl --add classless.sql --add-class gold": "classless.sql: unknown class 'gold'",
    "t.jsonl --add order.sql": "order.sql: ",
    "t.jsonl --add fire.sql": "--add: query 'fire' was recorded already",
}


@pytest.mark.parametrize("line", WRONG)
def test_what_is_wrong_is_said_in_one_line(headgate: Headgate, trace: Path, lines: list[str], line: str) -> None:
    folder = trace.parent
    (folder / "empty").mkdir()
    (folder / "notes.txt").write_text("Dear diary\n")
    (folder / "cut.jsonl").write_text("\n".join(lines[:40]) + "\n" + lines[40][: len(lines[40]) // 2])
    (folder / "old.jsonl").write_text(json.dumps(json.loads(lines[0]) | {"trace": 0}) + "\n")
    (folder / "header.jsonl").write_text(lines[0] + "\n")
    (folder / "short.jsonl").write_text("\n".join(lines[:6]) + "\n")
    (folder / "classless.sql").write_text("SELECT location FROM readings")
    (folder / "order.sql").write_text("-- class: critical\nSELECT location FROM readings ORDER BY temp")
    (folder / "fire.sql").write_text("-- class: critical\nSELECT location FROM readings")
    result = headgate("what-if", *line.split())
    assert result.exit_code == 2
    assert WRONG[line] in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not result.stdout
