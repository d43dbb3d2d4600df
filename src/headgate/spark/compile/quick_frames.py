"""Frames made with few calls into the JVM.

A call takes about a tenth of a millisecond, and PySpark makes several to look up a function, a setting or a class, and
one for each column of a list. A run of a small train would make hundreds. Here what does not change from run to run
(columns, lists of columns, schemas) is made once and used again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.pandas.serializers import ArrowStreamSerializer
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

Java = Any  # an object in the JVM


class NewColumn(NamedTuple):
    """A column to be made: SQL text, and its name where the text does not say it."""

    text: str
    name: str = ""


class Columns:
    """The columns that a query's frames are made of, each made once. A column has no rows and belongs to no frame."""

    def __init__(self) -> None:
        self._made: dict[object, Java] = {}

    def one(self, text: str) -> Column:
        """A condition, or any other expression over one row."""
        return ClassicColumn(self._known(text, lambda: _java(F.expr(text))))

    def listed(self, wanted: Sequence[NewColumn]) -> Java:
        """A list of columns, as `select` and `grouped` take it."""
        return self._known(tuple(wanted), lambda: _sequence([_column(each) for each in wanted]))

    def aggregates(self, wanted: Sequence[NewColumn]) -> tuple[Java, Java]:
        """Aggregates, as `grouped` takes them: the first and the others."""
        first, *others = wanted
        head = self._known(("first", first), lambda: _java(_column(first)))
        return head, self._known(("others", *others), lambda: _sequence([_column(each) for each in others]))

    def single(self, key: object, make: Callable[[], Column]) -> Column:
        """A column that is no plain SQL text; the key tells it from others."""
        return ClassicColumn(self._known(("single", key), lambda: _java(make())))

    def several(self, key: object, make: Callable[[], Sequence[Column]]) -> Java:
        """A list of such columns, as `select` takes it."""
        return self._known(("several", key), lambda: _sequence(make()))

    def _known(self, key: object, make: Callable[[], Java]) -> Java:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


def select(frame: DataFrame, columns: Java) -> DataFrame:
    """`DataFrame.select` of a list that is in the JVM already."""
    return ClassicDataFrame(frame._jdf.select(columns), frame.sparkSession)


def grouped(frame: DataFrame, keys: Java, aggregates: tuple[Java, Java]) -> DataFrame:
    """`DataFrame.groupBy(…).agg(…)` of lists that are in the JVM already."""
    return ClassicDataFrame(frame._jdf.groupBy(keys).agg(*aggregates), frame.sparkSession)


def shipped(spark: SparkSession, table: pa.Table, rows: int) -> DataFrame:
    """`createDataFrame` of an Arrow table, with one partition for every so many rows."""
    schema, arrow, text = _schemas(table.schema)
    batches = table.cast(arrow).combine_chunks().to_batches(max_chunksize=rows)
    jvm: Any = spark._jvm
    utilities = jvm.PythonSQLUtils
    sent = spark.sparkContext._serialize_to_jvm(
        batches, ArrowStreamSerializer(), utilities.readArrowStreamFromFile, lambda: jvm.ArrowIteratorServer()
    )
    made = ClassicDataFrame(utilities.toDataFrame(sent, text, spark._jsparkSession), spark)
    made._schema = schema
    return made


def collected(frame: DataFrame) -> pa.Table:
    """`DataFrame.toArrow`, for those who know the types that they want."""
    known: Any = frame
    return pa.Table.from_batches(known._collect_as_arrow(empty_list_if_zero_records=False))


@lru_cache(maxsize=1000)
def _schemas(schema: pa.Schema) -> tuple[StructType, pa.Schema, str]:
    """Arrow's types as Spark has them, as Arrow gives them to Spark, and as text."""
    found = from_arrow_schema(schema)
    return found, to_arrow_schema(found, timezone="UTC"), found.json()


def _column(wanted: NewColumn) -> Column:
    made = F.expr(wanted.text)
    return made.alias(wanted.name) if wanted.name else made


def _java(column: Column) -> Java:
    return column._jc


def _sequence(columns: Sequence[Column]) -> Java:
    jvm: Any = SparkSession.active()._jvm
    return jvm.PythonUtils.toSeq([_java(column) for column in columns])
