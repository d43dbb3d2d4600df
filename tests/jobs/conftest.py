from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from headgate.spark.jobs.tuning import builder


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    """Whichever runs: tests of the command line in between stop theirs."""
    session = builder("local[2]", "headgate-tests").config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
