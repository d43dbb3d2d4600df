from __future__ import annotations

import json

import pytest
from tests.cli.conftest import Headgate

from headgate.policies.registry import policies


@pytest.mark.parametrize("columns", [80, 140])
def test_all_policies_are_listed(headgate: Headgate, columns: int) -> None:
    result = headgate("policies", columns=columns)
    assert result.exit_code == 0
    listed = {line.split()[0] for line in result.stdout.splitlines() if line[:1].isalpha()}
    assert set(policies()) <= listed
    assert max(map(len, result.stdout.splitlines())) <= columns


def test_the_list_as_json(headgate: Headgate) -> None:
    listed = json.loads(headgate("policies", "--json").stdout)["policies"]
    assert list(listed) == list(policies())
    assert listed["hnr"]["rule"] == policies()["hnr"].rule
    assert listed["hnr"]["levels"] == ["query", "operator", "path"]


@pytest.mark.parametrize("name", list(policies()))
def test_every_policy_can_be_shown(headgate: Headgate, name: str) -> None:
    result = headgate("policies", "show", name, columns=80)
    assert result.exit_code == 0
    policy = policies()[name]
    assert policy.rule in result.stdout
    for setting in policy.all_settings():
        assert setting.name in result.stdout


@pytest.mark.parametrize("order", [("show", "wrr", "--json"), ("--json", "show", "wrr")])
def test_one_policy_as_json(headgate: Headgate, order: tuple[str, ...]) -> None:
    shown = json.loads(headgate("policies", *order).stdout)
    assert shown["name"] == "wrr"
    assert [setting["name"] for setting in shown["settings"]][:3] == ["quantum", "leaf", "join"]
    assert "inputs" in shown["needs"]
    assert shown["description"].startswith("Operators in a fixed cycle")
