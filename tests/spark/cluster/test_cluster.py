"""A standalone cluster: the results of `local[2]`, made by executors, also when one of them is killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.cli.conftest import FIXTURES
from tests.conftest import QUICK
from tests.spark.cluster.drive import KINDS, LARGE, work
from tests.spark.cluster.standalone import MEMORY, Standalone, environment
from tests.spark.compile.logs import counted

from headgate.metrics import measure
from headgate.model import HeadgateError
from headgate.sim import simulate
from headgate.spark.session import Session
from headgate.spark.sinks import result_files
from headgate.spark.store.directory import DataDirectory
from headgate.workload import read_workload

SENSORS = FIXTURES / "sensors.toml"
LIMIT = 240.0  # seconds until the driver is given up


def with_small_executors() -> dict[str, str]:
    quick = f"--conf 'spark.executor.extraJavaOptions={QUICK}'"
    return {**environment(), "PYSPARK_SUBMIT_ARGS": f"--conf spark.executor.memory={MEMORY} {quick} pyspark-shell"}


def driven(cluster: Standalone, directory: Path, errors: Path) -> dict[str, Any]:
    """Run the driver, and kill an executor when half of the rows are in."""
    command = [sys.executable, "-m", "tests.spark.cluster.drive", cluster.url, str(directory)]
    with (
        open(errors, "wb") as log,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=with_small_executors(),
        ) as driver,
    ):
        try:
            assert driver.stdout is not None
            assert driver.stdout.readline() == "half\n", errors.read_text()[-3000:]
            os.kill(_both(cluster)[0], signal.SIGKILL)
            told, _ = driver.communicate("go on\n", timeout=LIMIT)
        finally:
            driver.kill()
    assert driver.returncode == 0, errors.read_text()[-3000:]
    found: dict[str, Any] = json.loads(told.splitlines()[-1])
    return found


def _both(cluster: Standalone) -> list[int]:
    """Both executors' processes: the second may come a little later than the first task."""
    limit = time.monotonic() + LIMIT
    while len(found := cluster.executors()) < 2:
        assert time.monotonic() < limit
        time.sleep(0.1)
    return found


def results(directory: Path, query: str) -> Any:
    with DataDirectory(directory) as data:
        return counted(result_files.read(data.result(query)))


def swept(cluster: Standalone, folder: Path) -> Any:
    """A sweep whose simulations are tasks of the cluster: policy and mean response time."""
    policies = ("-p", "hr", "-p", "fcfs")
    command = [
        str(Path(sys.executable).with_name("headgate")),
        "sweep",
        str(SENSORS),
        *policies,
        "--duration",
        "1 s",
        "--vary",
        "seed=1",
        "--json",
    ]
    folder.mkdir()
    done = subprocess.run(
        [*command, "--master", cluster.url],
        cwd=folder,
        env={**with_small_executors(), "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return {row["policy"]: row["measures"]["response_time.mean"] for row in json.loads(done.stdout)["results"]}


def test_a_cluster_gives_what_one_machine_gives(spark: SparkSession, tmp_path: Path) -> None:
    with Standalone(tmp_path / "cluster") as cluster:
        told = driven(cluster, tmp_path / "shared", tmp_path / "driver.log")
        means = swept(cluster, tmp_path / "sweep")
    workload = replace(read_workload(SENSORS), duration=1.0, seed=1)
    assert means == {name: measure(simulate(workload, name)).value("response_time.mean") for name in ("hr", "fcfs")}
    with Session(spark=spark, directory=tmp_path / "here", policy="fcfs") as session:
        work(session)
    names = (*KINDS, *LARGE)
    assert told["states"] == {name: ["running", ""] for name in names}
    done = {name: tasks for name, tasks in told["executors"].items() if name != "driver"}
    assert len(done) >= 2
    assert sum(done.values()) > 0
    assert not told["executors"].get("driver")
    assert {*LARGE} <= {*told["written"]}
    for name in names:
        wanted = results(tmp_path / "here", name)
        assert wanted.total()
        assert results(tmp_path / "shared", name) == wanted, name


@pytest.mark.long
@pytest.mark.parametrize("close", [False, True])
def test_a_cluster_whose_master_is_another_one_is_noticed_and_queries_go_on(close: bool, tmp_path: Path) -> None:
    """With `close` the session is closed while there is no executor: it ends all the same."""
    command = [sys.executable, "-m", "tests.spark.cluster.lost_master"]
    with (
        Standalone(tmp_path / "cluster") as cluster,
        open(tmp_path / "driver.log", "wb") as log,
        subprocess.Popen(
            [*command, cluster.url, str(tmp_path / "data"), str(close)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=with_small_executors(),
        ) as driver,
    ):
        try:
            assert driver.stdout is not None
            assert driver.stdout.readline() == "running\n", (tmp_path / "driver.log").read_text()[-3000:]
            cluster.replace_master(5.0)
            told, _ = driver.communicate(timeout=LIMIT)
        finally:
            driver.kill()
    assert driver.returncode == 0, (tmp_path / "driver.log").read_text()[-3000:]
    found = json.loads(told.splitlines()[-1])
    assert any("has no executor" in note for note in found["notes"])
    if close:
        assert found["seconds to close"] < 60
    else:
        assert any("the cluster is lost" in error for error in found["errors"])
        assert found["state"] == ["running", ""]
        assert found["ids"] == list(range(found["rows"]))


def test_a_session_on_a_cluster_needs_a_shared_directory() -> None:
    with pytest.raises(HeadgateError, match="a directory that all machines share"):
        Session(master="spark://127.0.0.1:1")
