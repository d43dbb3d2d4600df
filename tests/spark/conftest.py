from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headgate.spark.session import Session

Open = Callable[..., Session]


@pytest.fixture
def opened(spark: SparkSession, tmp_path: Path) -> Iterator[Open]:
    """Opens sessions on one directory, and closes what a test leaves open."""
    sessions: list[Session] = []

    def open_session(**settings: Any) -> Session:
        sessions.append(
            Session(spark=spark, **{"directory": tmp_path / "data", "policy": "fcfs", "fuse": "off", **settings})
        )
        return sessions[-1]

    yield open_session
    for session in sessions:
        session.close()
