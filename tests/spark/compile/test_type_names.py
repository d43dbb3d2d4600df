"""Types that are told without Spark are those that Spark tells."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import DataType

from headgate.spark.compile.type_names import _LEFT_TO_SPARK, _PLAIN, is_no_type, plain_type

MORE = ["DECIMAL(10, 2)", "dec(38)", "numeric( 5 , 5 )", "Bigint", "TIMESTAMP"]
LEFT = ["array<int>", "map<string, int>", "struct<a: int>", "varchar(3)", *sorted(_LEFT_TO_SPARK - {"interval"})]


def test_plain_types_are_sparks(spark: SparkSession) -> None:
    for text in [*_PLAIN, *MORE]:
        assert plain_type(text) == DataType.fromDDL(text), text
        assert not is_no_type(text)


def test_what_is_refused_is_refused_by_spark(spark: SparkSession) -> None:
    for text in ("text", "datetime", "int8", "doubble", "str", "object", "json", "uuid"):
        assert is_no_type(text)
        with pytest.raises(PySparkException):
            DataType.fromDDL(text)


def test_the_rest_is_left_to_spark(spark: SparkSession) -> None:
    for text in LEFT:
        assert plain_type(text) is None
        assert not is_no_type(text)
        assert DataType.fromDDL(text) is not None
    for text in ("decimal(39, 2)", "decimal(3, 5)"):
        assert plain_type(text) is None
