"""Spark's Java process is killed and Python lives on: nothing is lost or doubled, and everybody gets the reason."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.spark.jvm.java_dies import BORROWED

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]
LIMIT = 900  # seconds, for five starts of Spark on a busy machine


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("java")
    command = [sys.executable, "-m", "tests.spark.jvm.java_dies", str(folder)]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, err = process.communicate(timeout=LIMIT)
        assert process.returncode == 0, err
        yield {**json.loads(out.splitlines()[-1]), "stderr": err}
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_session_starts_its_own_spark_again_and_goes_on_from_the_last_commit(report: dict[str, Any]) -> None:
    seen = report["own"]
    assert seen["errors"] == []
    for step in ("first", "readable", "appended", "back", "goes on", "noticed", "back again", "drained"):
        assert seen[step], step
    assert seen["rows"] > 0
    assert seen["wrong"] == []


def test_queries_are_in_the_states_in_which_they_were(report: dict[str, Any]) -> None:
    states = report["own"]["states"]
    assert {states.pop("ahead"), states.pop("paused")} == {"scheduled", "paused"}
    assert set(states.values()) == {"running"}, report["own"]["errors"]


def test_people_are_told_while_spark_is_away(report: dict[str, Any]) -> None:
    seen = report["own"]
    for message in (seen["error"], *seen["refused"]):
        assert "Spark's Java process has died; it is started again" in message
    assert any("goes on from its last commit" in line for line in seen["journal"])
    assert "Traceback" not in report["stderr"].partition(BORROWED)[0]


def test_on_a_spark_of_the_programs_own_queries_are_suspended_with_the_reason(report: dict[str, Any]) -> None:
    seen = report["borrowed"]
    assert seen["drained"]
    assert seen["suspended"]
    assert seen["right"]
    assert seen["right after all"], "another session of the same program goes on with a Spark of its own"
    for message in (seen["error"], seen["spark error"]):
        assert message.startswith("Spark's Java process has died; open another session")


def test_no_java_is_left_behind(report: dict[str, Any]) -> None:
    limit = time.monotonic() + 30
    while (left := [pid for pid in report["pids"] if Path(f"/proc/{pid}").exists()]) and time.monotonic() < limit:
        time.sleep(0.1)
    assert left == []
