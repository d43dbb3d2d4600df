from __future__ import annotations

import pytest
from pyspark.sql import SparkSession


@pytest.fixture(scope="module", autouse=True)
def running(spark: SparkSession) -> SparkSession:
    """Every source needs one: Spark reads the types of a schema."""
    return spark
