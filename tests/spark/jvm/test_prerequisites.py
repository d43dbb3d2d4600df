"""No Java, one that is too old, a master that nobody answers for: said in those words, at once."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from headgate.model import HeadgateError
from headgate.spark.jvm import settings
from headgate.spark.jvm.prerequisites import check_java, check_master


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty JAVA_HOME."""
    for variable in ("SPARK_HOME", "SPARK_CONF_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (tmp_path / "bin").mkdir()
    return tmp_path


def pretend(home: Path, script: str) -> None:
    java = home / "bin" / "java"
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)


@pytest.mark.parametrize(
    ("version", "number"), [('openjdk version "11.0.2" 2019-01-15', 11), ('java version "1.8.0_292"', 8)]
)
def test_a_java_that_is_too_old(home: Path, version: str, number: int) -> None:
    pretend(home, f"echo '{version}' >&2")
    with pytest.raises(HeadgateError, match=rf"Java {number} is too old, Spark needs 17 or newer: .*/bin/java"):
        check_java()


@pytest.mark.parametrize("version", ['openjdk version "17.0.9"', 'openjdk version "21-ea"', "something else"])
def test_a_java_that_will_do(home: Path, version: str) -> None:
    pretend(home, f"echo '{version}' >&2")
    check_java()


def test_no_java(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HeadgateError, match="there is no Java at JAVA_HOME"):
        check_java()
    pretend(home, "echo broken; exit 3")
    with pytest.raises(HeadgateError, match=r"Java cannot be started: .*: broken"):
        check_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(home))
    with pytest.raises(HeadgateError, match="there is no Java, which Spark needs; install Java 17"):
        check_java()


def test_an_unreachable_master(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "check_java", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        check_master(f"spark://127.0.0.1:1,127.0.0.1:{port}")
    with pytest.raises(HeadgateError, match=f"no master of Spark can be reached: 127.0.0.1:{port}: connection refused"):
        settings.start(f"spark://127.0.0.1:{port}", tmp_path / "spark.log")
    with pytest.raises(HeadgateError, match="'host' is no address"):
        check_master("spark://host")
    check_master("local[2]")
