"""Opening the engine of a server: empty, from a workload file, or where its directory stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headgate.plan.fusion import Fuse
from headgate.server.hosting import Tell
from headgate.spark.session import Session
from headgate.spark.workload import open_directory, open_workload
from headgate.workload import Workload


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What the engine is started with."""

    directory: Path
    workload: Workload | None = None
    master: str = "local[*]"
    policy: str | None = None
    workers: int = 2
    fuse: Fuse | None = None
    warm: float = 0.0  # seconds

    def opener(self) -> Callable[[Tell], Session]:
        """The function that opens the session, and tells what it is doing."""

        def open_session(tell: Tell) -> Session:
            tell("starts Spark and reads the data directory")
            settings: dict[str, Any] = {
                "directory": self.directory,
                "master": self.master,
                "policy": self.policy,
                "workers": self.workers,
                "fuse": self.fuse,
                "warm": self.warm,
                "progress": lambda done, jobs: tell(f"warms Spark up: {done} of {jobs} jobs"),
            }
            if self.workload is None:
                return open_directory(**settings)
            return open_workload(self.workload, **settings)

        return open_session
