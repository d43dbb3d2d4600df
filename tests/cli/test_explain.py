"""Every stage of the fixture workloads, beside what it should look like: `sql.network.txt` for `sql.toml`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import FIXTURES, Headgate

CASES = {
    "sensors.sql": ["--stage", "sql"],
    "sensors.plan": [],
    "sensors.network": ["--stage", "network"],
    "sensors.units": ["--stage", "units"],
    "sensors.operator": ["--stage", "units", "--level", "operator"],
    "sensors.path": ["--stage", "units", "--level", "path"],
    "sensors.fused": ["--stage", "units", "--fuse", "all"],
    "sensors.dash": ["--stage", "network", "--query", "dash"],
    "sql.sql": ["--stage", "sql"],
    "sql.plan": ["--stage", "plan"],
    "sql.network": ["--stage", "network"],
    "sql.segment": ["--stage", "units", "--level", "segment", "--query", "both"],
}


@pytest.mark.parametrize("case", CASES)
def test_trees(headgate: Headgate, case: str) -> None:
    result = headgate("explain", FIXTURES / f"{case.partition('.')[0]}.toml", *CASES[case])
    assert result.exit_code == 0
    assert result.stdout == (FIXTURES / f"{case}.txt").read_text(encoding="utf-8")


def told(headgate: Headgate, file: Path, *options: str) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(headgate("explain", file, "--json", *options).stdout)
    return tree


def test_json_of_sql(headgate: Headgate, sensors: Path) -> None:
    written = told(headgate, FIXTURES / "sql.toml", "--stage", "sql")["queries"][0]
    assert written["name"] == "hot"
    assert " ".join(written["sql"].split()) == "select sensor, value from readings where value > 40"
    assert told(headgate, sensors, "--stage", "sql")["queries"][0]["sql"] is None


def test_json_of_a_plan(headgate: Headgate, sensors: Path) -> None:
    plan = told(headgate, sensors, "--query", "alarm")["queries"][0]["plan"]
    assert plan["kind"] == "project"
    assert plan["inputs"][0]["given"] == {"cost": "1ms", "selectivity": "0.1"}
    assert plan["inputs"][0]["inputs"] == [{"stream": "s"}]


def test_json_of_the_network(headgate: Headgate) -> None:
    network = told(headgate, FIXTURES / "sql.toml", "--stage", "network")
    assert network["streams"] == ["readings", "alarms"]
    assert [node["queries"] for node in network["operators"] if node["kind"] == "select"] == [["hot", "twice"]]
    only = told(headgate, FIXTURES / "sql.toml", "--stage", "network", "--query", "hot")
    assert only["streams"] == ["readings"]
    assert len(only["operators"]) == 2


def test_json_of_units(headgate: Headgate, sensors: Path) -> None:
    units = told(headgate, sensors, "--stage", "units")["units"]
    assert [(unit["level"], unit["payer"]) for unit in units] == [
        ("shared", "critical"),
        ("query", "batch"),
        ("query", "normal"),
    ]
