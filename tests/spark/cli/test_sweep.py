"""`headgate sweep` as the shell starts it, on a Spark of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import FIXTURES
from tests.spark.cli.conftest import Headgate
from tests.spark.cli.test_run import run

pytestmark = pytest.mark.spark

SENSORS = FIXTURES / "sensors.toml"
OWN = f"{Path(__file__).parents[3]}/examples/weighted_wait.py:WeightedWait"
POLICIES = ("hr", "hnr", OWN)
OPTIONS = (*(word for policy in POLICIES for word in ("-p", policy)), "--duration", "1 s", "--json")


def test_a_sweep_on_spark_is_the_simulations_one_by_one(headgate: Headgate, tmp_path: Path) -> None:
    done = run("sweep", SENSORS, *OPTIONS, "--vary", "seed=1,2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == ["starting Spark …", "wrote out/sensors-sweep/sweep.parquet"]
    swept = {(row["policy"], row["seed"]): row["measures"] for row in json.loads(done.stdout)["results"]}
    for seed in (1, 2):
        alone = json.loads(headgate("simulate", SENSORS, *OPTIONS, "--seed", str(seed)).stdout)["policies"]
        for policy in POLICIES:
            assert swept[policy, seed]["response_time.p95"] == alone[policy]["response_time"]["p95"]
            assert swept[policy, seed]["slowdown.l2"] == alone[policy]["slowdown"]["l2"]
