"""What Spark needs before it can start: Java, and a master that answers. Spark itself says so late and in its words."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

from headgate.model import HeadgateError

OLDEST_JAVA = 17
PATIENCE = 5.0  # seconds within which a master must answer
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')  # 1.8.0 is Java 8
_INSTALL = f"install Java {OLDEST_JAVA} or newer, or let JAVA_HOME be the folder of one"


def check_java() -> None:
    """Refuse to start Spark without Java, or with one that is too old for it."""
    if _set_by_spark_env():
        return
    java = _java()
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or "it does not answer"
        raise HeadgateError(f"Java cannot be started: {java}: {reason}", hint=_INSTALL) from None
    match = _VERSION.search(done.stderr + done.stdout)
    if done.returncode != 0:
        said = next(iter((done.stderr + done.stdout).strip().splitlines()), f"exit {done.returncode}")
        raise HeadgateError(f"Java cannot be started: {java}: {said}", hint=_INSTALL)
    if match is not None and int(match[1]) < OLDEST_JAVA:
        message = f"Java {match[1]} is too old, Spark needs {OLDEST_JAVA} or newer: {java}"
        raise HeadgateError(message, hint=_INSTALL)


def check_master(master: str) -> None:
    """Refuse a master at whose address nobody listens; of several, one must."""
    if not master.startswith("spark://"):
        return
    reasons = [_unreachable(address) for address in master.removeprefix("spark://").split(",")]
    if all(reasons):
        raise HeadgateError(
            f"no master of Spark can be reached: {'; '.join(map(str, reasons))}",
            where=f"master {master}",
            hint="start it, or correct the address",
        )


def _unreachable(address: str) -> str | None:
    """Why nobody can be reached at an address; None if somebody listens."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        return f"'{address}' is no address (host:port)"
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()
    except OSError as error:
        return f"{address}: {(error.strerror or str(error)).lower()}"
    return None


def _java() -> str:
    """The Java that Spark would start."""
    if home := os.environ.get("JAVA_HOME"):
        java = Path(home, "bin", "java")
        if not java.is_file():
            raise HeadgateError(f"there is no Java at JAVA_HOME: {java}: No such file", hint=_INSTALL)
        return str(java)
    on_path = shutil.which("java")
    if on_path is None:
        raise HeadgateError("there is no Java, which Spark needs", hint=_INSTALL)
    return on_path


def _set_by_spark_env() -> bool:
    """Whether Spark's own script may choose another Java."""
    folders = [os.environ.get("SPARK_CONF_DIR"), *(f"{home}/conf" for home in [os.environ.get("SPARK_HOME")] if home)]
    return any(folder and Path(folder, "spark-env.sh").is_file() for folder in folders)
