from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Headgate


@pytest.fixture
def trace(headgate: Headgate, sensors: Path, tmp_path: Path) -> Path:
    path = tmp_path / "t.jsonl"
    assert headgate("simulate", sensors, "-p", "bsd", "--record", path, "--duration", "300 ms").exit_code == 0
    return path


def test_a_replay_is_the_same(headgate: Headgate, trace: Path) -> None:
    result = headgate("replay", trace)
    assert result.exit_code == 0
    assert "all the same" in result.stdout
    assert json.loads(headgate("replay", trace, "--json").stdout)["same"] is True


def test_a_changed_trace_differs(headgate: Headgate, trace: Path) -> None:
    lines = trace.read_text(encoding="utf-8").splitlines()
    decided = next(number for number, line in enumerate(lines) if '"run"' in line)
    line = json.loads(lines[decided])
    line["run"]["units"] = [99]
    lines[decided] = json.dumps(line)
    trace.write_text("\n".join(lines), encoding="utf-8")
    result = headgate("replay", trace)
    assert result.exit_code == 1
    assert "1 answer differs" in result.stdout
    assert f"line {decided + 1}" in result.stdout


def test_why_shows_winner_and_runner_up(headgate: Headgate, trace: Path) -> None:
    result = headgate("why", trace, "--decision", "1", columns=80)
    assert result.exit_code == 0
    assert "winner: alarm+dash" in result.stdout
    assert "runner-up: archive" in result.stdout
    assert "balanced rate" in result.stdout


def test_why_as_json(headgate: Headgate, trace: Path) -> None:
    told = json.loads(headgate("why", trace, "--decision", "1", "--json").stdout)
    assert told["decision"] == 1
    assert told["winner"] == "alarm+dash"
    assert told["numbers"]["balanced_rate"] > told["runner_up_numbers"]["balanced_rate"]
