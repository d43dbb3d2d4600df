from __future__ import annotations

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from headgate.spark.jobs.tuning import builder

settings.register_profile("sources", deadline=None)  # the machine may be busy with other tests
settings.load_profile("sources")


@pytest.fixture(scope="module", autouse=True)
def spark() -> SparkSession:
    """Every source needs one: Spark reads the types of a schema."""
    session = builder("local[2]", "headgate-tests").config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
