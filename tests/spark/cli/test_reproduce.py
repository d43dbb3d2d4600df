"""`headgate reproduce` as the shell starts it, on a Spark of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.reproduction.conftest import experiments  # noqa: F401, a fixture
from tests.spark.cli.test_run import run

pytestmark = pytest.mark.spark


def test_functions_of_experiments_run_on_executors(experiments: Path, tmp_path: Path) -> None:  # noqa: F811
    options = ("reproduce", "paper", "--experiments", experiments, "--json")
    done = run(*options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    verdicts = {row["id"]: row["verdict"] for row in json.loads(done.stdout)["results"]}
    assert verdicts == {"F1": "partly", "F2": "not", "F10": "reproduced"}
    assert "starting Spark …" in done.stderr
    again = run(*options, cwd=tmp_path)
    assert "starting Spark" not in again.stderr
    assert again.stdout == done.stdout
