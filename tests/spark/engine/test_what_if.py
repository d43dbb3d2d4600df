"""What-if on the directory of an engine: a small run, recorded by itself."""

from __future__ import annotations

import json
from pathlib import Path
from time import sleep

import pytest
from tests.spark.conftest import Open
from tests.spark.engine.test_steering import rows
from tests.spark.engine.workload import PATIENCE, declare
from typer.testing import CliRunner

from headgate.cli.main import app


def test_a_directory_answers_what_if(opened: Open, tmp_path: Path) -> None:
    trace, lines = tmp_path / "t.jsonl", list[str]()
    session = opened(policy="fcfs", workers=2, record=lines.append)
    declare(session, ("a",))
    session.query("some", "SELECT id FROM a WHERE id % 2 = 0", query_class="high")
    session.query("all", "SELECT id, v FROM a", query_class="low")
    for number in range(8):
        session.append("a", rows(100 * number, 100))
        sleep(0.05)
        assert session.drain(PATIENCE)
    session.close()
    trace.write_text("".join(lines))
    (tmp_path / "more.sql").write_text("-- class: high\nSELECT id FROM a WHERE id % 3 = 0")
    asked = [
        "what-if",
        str(tmp_path / "data"),
        "-p",
        "mbd",
        "-p",
        "express",
        "--add",
        str(tmp_path / "more.sql"),
        "--json",
    ]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.stderr
    tree = json.loads(result.stdout)
    assert tree["recorded"]["policy"] == tree["replayed"]["policy"] == "fcfs"
    assert set(tree["error"]) == {"high", "low"}
    assert all(error >= 0 for error in tree["error"].values())
    assert set(tree["policies"]) == {"mbd", "express"}
    for told in (tree["recorded"], tree["replayed"], *tree["policies"].values()):
        for name in ("high", "low"):
            assert set(told["classes"][name]["response_time"]) == {"mean", "p50", "p95"}
            assert told["classes"][name]["response_time"]["mean"] > 0
    assert tree["replayed"]["classes"]["low"]["results"] == tree["recorded"]["classes"]["low"]["results"] == 800
    assert tree["policies"]["mbd"]["classes"]["high"]["results"] > tree["replayed"]["classes"]["high"]["results"]

    of_trace = CliRunner().invoke(app, ["what-if", str(trace), "-p", "mbd", "--json"])
    assert of_trace.exit_code == 0, of_trace.stderr
    recorded = json.loads(of_trace.stdout)["recorded"]["classes"]["low"]
    assert recorded["results"] == 800
    expected = tree["recorded"]["classes"]["low"]["response_time"]["mean"]
    assert recorded["response_time"]["mean"] == pytest.approx(expected, rel=0.05)

    refused = CliRunner().invoke(app, ["what-if", str(tmp_path / "data"), "-p", "fifo"])
    assert refused.exit_code == 2
    assert "whole queries" in refused.stderr
