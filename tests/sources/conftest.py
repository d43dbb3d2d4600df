from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from headgate.spark.jobs.tuning import builder

settings.register_profile("sources", deadline=None)  # the machine may be busy with other tests
settings.load_profile("sources")


@pytest.fixture(scope="session", autouse=True)
def spark() -> Iterator[SparkSession]:
    """Every source needs one: Spark reads the types of a schema."""
    running = SparkSession.getActiveSession()
    session = builder("local[2]", "headgate-tests").config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    if running is None:
        session.stop()
