"""The output and the log of a Spark that Headgate has started go to a file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import Any

import pytest
from py4j import java_gateway  # type: ignore[import-untyped]
from py4j.clientserver import SHUTDOWN_FINALIZER_WORKER, FinalizerWorker  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from headgate import HeadgateError
from headgate.spark.jvm import settings
from headgate.spark.jvm.spark_logs import quiet_python, quietly, spark_log_to

START = """
import sys
from pathlib import Path
from headgate import HeadgateError
from headgate.spark.jvm.settings import start
from headgate.spark.jvm.spark_logs import spark_log_to
try:
    spark = start("local[1]", Path(sys.argv[1]))
except HeadgateError as error:
    sys.exit(print(error))
spark_log_to(spark, Path(sys.argv[1]))
spark._jvm.java.lang.System.err.println("printed")
spark._jvm.org.apache.logging.log4j.LogManager.getLogger("a.b.Thing").warn("logged")
spark.stop()
"""


def started(log: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", START, str(log)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=200, check=False, env={**os.environ, **environment}
    )


@pytest.mark.spark
def test_all_that_a_spark_says_is_in_the_file(tmp_path: Path) -> None:
    log = tmp_path / "data" / "spark.log"
    log.parent.mkdir()
    log.write_text("from the start before\n")
    done = started(log)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    lines = log.read_text().splitlines()
    assert lines[0] == "from the start before"
    assert any("default log level" in line for line in lines)
    assert lines[-2] == "printed"
    assert lines[-1].endswith("WARN Thing: logged")


def test_a_start_that_fails_says_why(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    log.write_text("Error: of long ago\n")
    java = tmp_path / "home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    version = """echo 'openjdk version "17.0.1"'"""
    java.write_text(f'#!/bin/sh\n[ "$1" = -version ] && exec {version}\necho "Error: no" >&2\nexit 1\n')
    java.chmod(0o755)
    done = started(log, JAVA_HOME=str(tmp_path / "home"))
    assert done.stderr == ""
    assert "Spark did not start: Error: no" in done.stdout
    assert f"all that Spark said is in {log}" in done.stdout


@pytest.mark.spark
def test_a_log_that_cannot_be_written_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HeadgateError, match=r"file/spark\.log: Spark's log cannot be written: .*choose another"):
        settings.start("local[1]", tmp_path / "file" / "spark.log")


def logger(spark: SparkSession, name: str) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.logging.log4j.LogManager.getLogger(name)


def test_the_log_is_two_files_at_most(spark: SparkSession, tmp_path: Path) -> None:
    undo = spark_log_to(spark, tmp_path / "spark.log")
    thing, long = logger(spark, "a.b.Thing"), "x" * (settings.LOG_SIZE // 10)
    for number in range(35):
        thing.warn(f"{number} {long}")
    undo()
    thing.error("after")
    newest, former = tmp_path / "spark.log", tmp_path / "spark.log.1"
    assert sorted(tmp_path.iterdir()) == [newest, former]
    assert all(path.stat().st_size < 1.2 * settings.LOG_SIZE for path in (newest, former))
    numbers = [int(line.split()[3]) for path in (former, newest) for line in path.read_text().splitlines()]
    assert numbers == list(range(numbers[0], 35))
    assert numbers[0] > 0


def test_tasks_that_fail_on_a_value_are_not_in_the_log(spark: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    undo = spark_log_to(spark, log)
    with quietly(), pytest.raises(Exception, match="a bad value"):
        spark.range(3).selectExpr("raise_error('a bad value')").collect()
    logger(spark, "a.b.Thing").info("of no interest")
    logger(spark, "a.b.Thing").warn("of interest")
    undo()
    assert [line.split(" ", 1)[1] for line in log.read_text().splitlines()] == ["WARN Thing: of interest"]


def test_a_large_log_is_put_aside_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "LOG_SIZE", 10)
    log = tmp_path / "spark.log"
    for text, kept in (("short", False), ("longer than that", True)):
        log.write_text(text)
        assert settings._prepare_log(log) == (0 if kept else len(text))
        assert (tmp_path / "spark.log.1").exists() == kept
    assert (tmp_path / "spark.log.1").read_text() == "longer than that"


def test_py4j_does_not_print_that_it_could_not_let_go_of_an_object(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def garbage_collect_object(self, target: str, enqueue: bool) -> None:
            java_gateway.logging.exception("Exception while sending command.")

    quiet_python()
    worker = FinalizerWorker(deque([SHUTDOWN_FINALIZER_WORKER, (Broken(), "o1")]))
    worker.start()
    worker.join()
    assert caplog.records == []
    java_gateway.logging.exception("what the program does with Spark itself")
    assert len(caplog.records) == 1
