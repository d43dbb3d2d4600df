"""DataFrames built with few calls into the JVM.

A call takes about a tenth of a millisecond, and PySpark makes several to look up a function, a setting or a class, and
one for each column of a list. A run of a small train would make hundreds. Here what does not change from run to run
(columns, lists of columns, schemas) is made once and used again.

The cached objects live in the JVM: a `Columns` object maps a key, such as the SQL text, to the Java column or sequence
of columns, and `select` and `group_by` pass that object on with one call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

import pyarrow as pa
from pyspark.errors.exceptions.captured import unwrap_spark_exception
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.pandas.serializers import ArrowCollectSerializer, ArrowStreamSerializer
from pyspark.sql.types import StructType
from pyspark.util import _load_from_socket

from headgate.spark.compile.arrow_types import Note, notes, plain, to_spark
from headgate.spark.compile.rows_read import add_rows

Java = Any  # an object in the JVM


class SqlColumn(NamedTuple):
    """A column as SQL text, and its name where the text does not give it one."""

    text: str
    name: str = ""


class Columns:
    """The columns that a query's frames are made of, each made once. A column has no rows and belongs to no frame."""

    def __init__(self) -> None:
        self._cache: dict[object, Java] = {}

    def expression(self, text: str) -> Column:
        """A condition, or any other expression over one row."""
        return ClassicColumn(self._cached(text, lambda: _java(F.expr(text))))

    def listed(self, columns: Sequence[SqlColumn]) -> Java:
        """A list of columns, as `select` and `group_by` take it."""
        return self._cached(tuple(columns), lambda: _sequence([_column(column) for column in columns]))

    def aggregates(self, columns: Sequence[SqlColumn]) -> tuple[Java, Java]:
        """Aggregates, as `group_by` takes them: the first and the others."""
        first, *others = columns
        head = self._cached(("first", first), lambda: _java(_column(first)))
        return head, self._cached(("others", *others), lambda: _sequence([_column(column) for column in others]))

    def single(self, key: object, make: Callable[[], Column]) -> Column:
        """A column that is no plain SQL text, made by a function; the key must differ from those of other columns."""
        return ClassicColumn(self._cached(("single", key), lambda: _java(make())))

    def several(self, key: object, make: Callable[[], Sequence[Column]]) -> Java:
        """A list of such columns, as `select` takes it."""
        return self._cached(("several", key), lambda: _sequence(make()))

    def _cached(self, key: object, make: Callable[[], Java]) -> Java:
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]


def select(frame: DataFrame, columns: Java) -> DataFrame:
    """`DataFrame.select` of a list that is in the JVM already."""
    return ClassicDataFrame(frame._jdf.select(columns), frame.sparkSession)


def group_by(frame: DataFrame, keys: Java, aggregates: tuple[Java, Java]) -> DataFrame:
    """`DataFrame.groupBy(…).agg(…)` of lists that are in the JVM already."""
    return ClassicDataFrame(frame._jdf.groupBy(keys).agg(*aggregates), frame.sparkSession)


def ship(spark: SparkSession, table: pa.Table, rows: int) -> DataFrame:
    """`createDataFrame` of an Arrow table, with one partition for every `rows` rows."""
    add_rows(table.num_rows)
    frame = ClassicDataFrame(java_frame(spark, table, rows), spark)
    frame._schema = arrow_types(table.schema)[0]
    return frame


def empty_frame(spark: SparkSession, schema: StructType) -> DataFrame:
    """A frame without rows. `createDataFrame` would make the session the active one of the whole program."""
    private, jvm = cast(Any, spark), cast(Any, spark._jvm)
    kind = jvm.org.apache.spark.sql.types.DataType.fromJson(schema.json())
    return ClassicDataFrame(private._jsparkSession.createDataFrame(jvm.java.util.ArrayList(), kind), spark)


def java_frame(spark: SparkSession, table: pa.Table, rows: int) -> Java:
    """The same as Java's frame, and without counting the rows."""
    _, arrow, text = arrow_types(table.schema)
    batches = table.cast(arrow).combine_chunks().to_batches(max_chunksize=rows)
    jvm: Any = spark._jvm
    utilities = jvm.PythonSQLUtils
    sent = spark.sparkContext._serialize_to_jvm(
        batches, ArrowStreamSerializer(), utilities.readArrowStreamFromFile, lambda: jvm.ArrowIteratorServer()
    )
    return utilities.toDataFrame(sent, text, spark._jsparkSession)


def collect(frame: DataFrame) -> pa.Table:
    """`DataFrame.toArrow` without asking Spark for the types: the caller casts to those that it wants.

    It does what `DataFrame._collect_as_arrow` does, but does not tell Spark which line of Python has called it.
    """
    private: Any = frame
    address, secret, server = private._jdf.collectAsArrowToPython()
    try:
        with _load_from_socket((address, secret), ArrowCollectSerializer()) as received:
            batches = list(received)
    finally:
        with unwrap_spark_exception():
            server.getResult()  # raises what has failed in Java meanwhile
    return pa.Table.from_batches(batches) if batches else plain(frame.schema).empty_table()


def arrow_types(schema: pa.Schema) -> tuple[StructType, pa.Schema, str]:
    """An Arrow schema as Spark's schema, as the Arrow schema in which rows go to Spark, and as JSON text."""
    return _arrow_types(schema, notes(schema))


@lru_cache(maxsize=1000)
def _arrow_types(schema: pa.Schema, said: tuple[Note, ...]) -> tuple[StructType, pa.Schema, str]:
    spark_schema = to_spark(schema)
    return spark_schema, plain(spark_schema), spark_schema.json()


def _column(column: SqlColumn) -> Column:
    expression = F.expr(column.text)
    return expression.alias(column.name) if column.name else expression


def _java(column: Column) -> Java:
    return column._jc


def _sequence(columns: Sequence[Column]) -> Java:
    jvm: Any = SparkSession.active()._jvm
    return jvm.PythonUtils.toSeq([_java(column) for column in columns])
