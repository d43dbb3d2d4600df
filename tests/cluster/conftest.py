from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from headgate.spark.jobs.tuning import builder


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = builder("local[2]", "headgate-tests").config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
