from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    """Whichever runs: tests of the command line in between stop theirs."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from headgate.spark.jobs.tuning import builder

    session = builder("local[2]", "headgate-freshness").config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
