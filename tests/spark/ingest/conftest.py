from __future__ import annotations

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

settings.register_profile("sources", deadline=None)  # the machine may be busy with other tests
settings.load_profile("sources")


@pytest.fixture(scope="module", autouse=True)
def running(spark: SparkSession) -> SparkSession:
    """Every source needs one: Spark reads the types of a schema."""
    return spark
