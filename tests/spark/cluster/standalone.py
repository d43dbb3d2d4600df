"""A standalone Spark cluster on this machine, from PySpark's own files: a master and workers with one core each."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType

import pyspark

HOME = Path(pyspark.__file__).parent
MEMORY = "512m"
START = 60.0  # seconds within which a cluster is there
_URL = re.compile(r"spark://127\.0\.0\.1:\d+")


def environment() -> dict[str, str]:
    """Everything on loopback, also where the machine's name stands for another address."""
    return {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(HOME), "SPARK_NO_DAEMONIZE": "1"}


class Standalone:
    """Started when entered; at the end every process it has started is killed, executors too."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder, self._workers = folder, workers
        self._processes: list[subprocess.Popen[bytes]] = []
        self.url = ""

    def __enter__(self) -> Standalone:
        self._folder.mkdir(parents=True)
        try:
            self._start("master", "org.apache.spark.deploy.master.Master")
            self.url = self._said("master", _URL)
            for number in range(self._workers):
                work = str(self._folder / f"work-{number}")
                resources = ("-c", "1", "-m", MEMORY, "-d", work)
                self._start(f"worker-{number}", "org.apache.spark.deploy.worker.Worker", *resources, self.url)
            for number in range(self._workers):
                self._said(f"worker-{number}", re.compile("Successfully registered with master"))
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Each process leads a group, in which its executors are."""
        for process in reversed(self._processes):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._processes.clear()

    def executors(self) -> list[int]:
        """The processes of executors: children of the workers."""
        workers = {process.pid for process in self._processes[1:]}
        found = []
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(status.read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has just ended
                continue
            if parent in workers:
                found.append(int(status.parent.name))
        return sorted(found)

    def replace_master(self, pause: float) -> None:
        """Kill the master, and start another one at its address a while later; it knows nothing of the first one's."""
        os.killpg(self._processes[0].pid, signal.SIGKILL)
        self._processes[0].wait()
        time.sleep(pause)
        self._start("master", "org.apache.spark.deploy.master.Master", port=self.url.rpartition(":")[2])
        self._processes[0] = self._processes.pop()

    def _start(self, name: str, main: str, *arguments: str, port: str = "0") -> None:
        command = [str(HOME / "bin" / "spark-class"), main, "--host", "127.0.0.1", "--port", port, "--webui-port", "0"]
        with open(self._folder / f"{name}.log", "wb") as log:
            made = subprocess.Popen(
                [*command, *arguments], stdout=log, stderr=log, env=environment(), start_new_session=True
            )
        self._processes.append(made)

    def _said(self, name: str, wanted: re.Pattern[str]) -> str:
        """Wait for a process to say something."""
        limit = time.monotonic() + START
        while time.monotonic() < limit:
            if found := wanted.search((self._folder / f"{name}.log").read_text("utf-8", "replace")):
                return found[0]
            time.sleep(0.1)
        raise TimeoutError((self._folder / f"{name}.log").read_text("utf-8", "replace")[-2000:])
