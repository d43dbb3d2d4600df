from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A Java that lives for a minute hardly runs what it optimizes.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
os.environ.setdefault("SPARK_SUBMIT_OPTS", QUICK)
os.environ.setdefault("SPARK_DAEMON_JAVA_OPTS", QUICK)

LONG = (
    "spark/cluster/",
    "spark/execution/test_kill",
    "spark/cli/",
    "spark/engine/",
    "spark/execution/",
    "spark/queries/",
    "spark/jvm/",
    "spark/fuzz/",
    "spark/compile/",
    "spark/",
    "freshness/",
)  # first, so that none is last


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take minutes start first: a worker that meets one at the end works on alone."""

    def place(item: pytest.Item) -> int:
        return next((n for n, name in enumerate(LONG) if f"tests/{name}" in item.nodeid), len(LONG))

    items.sort(key=place)


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    """Whichever runs, started if none does: tests of the command line in between stop theirs."""
    from headgate.spark.jvm.settings import builder

    session = builder("local[2]", "headgate-tests").config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
