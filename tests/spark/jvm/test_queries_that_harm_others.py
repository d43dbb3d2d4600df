"""Queries that make Java die, or keep its cores after they were stopped: the others go on. In a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.long]
LIMIT = 400.0  # seconds


def told(scene: str, folder: Path) -> Any:
    command = [sys.executable, "-m", "tests.spark.jvm.harmful", scene, str(folder / "data")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_query_that_java_dies_of_is_suspended_and_the_others_go_on(tmp_path: Path) -> None:
    found = told("memory", tmp_path)
    assert found["deaths"] <= 3
    assert found["state"] == "suspended"
    assert "Spark's Java process died 3 times while this query ran" in found["error"]
    assert found["ids"] == list(range(found["rows"]))


def test_cores_that_stopped_queries_hold_are_told_and_given_back(tmp_path: Path) -> None:
    found = told("cores", tmp_path)
    assert any("cores held by cancelled runs of one" in note for note in found["notes"])
    assert any("Spark is started again" in error for error in found["errors"])
    assert found["ids"] == list(range(found["rows"]))
