"""A Spark table as a sink: committed results are appended to it, at least once.

Progress is written after the append, as for a callback: a crash between the two appends one commit's rows again. The
table is made at the first result. How long it lasts is its catalog's affair: that of an embedded Spark is in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from headgate.model import HeadgateError
from headgate.spark.jvm.errors import told
from headgate.spark.sinks.registry import parse_sink


@dataclass(frozen=True, slots=True)
class TableAppender:
    """Appends results to the table of a name."""

    spark: Callable[[], SparkSession]  # the one that there is: it may be started again
    name: str

    def __call__(self, rows: pa.Table) -> None:
        spark = self.spark()
        check_table(spark, self.name, rows.schema)
        try:
            spark.createDataFrame(rows).coalesce(1).write.mode("append").saveAsTable(self.name)
        except PySparkException as error:
            hint = "see to the table, then resume the query: its results wait"
            raise HeadgateError(f"table '{self.name}' takes no rows: {told(error)}", hint=hint) from None


def table_of(sink: str | None) -> str | None:
    """The table that a sink names, if it names one.

    >>> table_of("table, name=db.alerts"), table_of("jsonl"), table_of(None)
    ('db.alerts', None, None)
    """
    spec = parse_sink(sink or "parquet")
    return str(spec.settings["name"]) if spec.name == "table" else None


def check_sink(spark: SparkSession, sink: str | None, schema: pa.Schema) -> None:
    """Refuse a table that could not take a query's results."""
    name = table_of(sink)
    if name is not None:
        check_table(spark, name, schema)


def check_table(spark: SparkSession, name: str, schema: pa.Schema) -> None:
    """Refuse a table whose columns do not fit, and one that is to be made in a database that does not exist."""
    database = name.rpartition(".")[0]
    try:
        if spark.catalog.tableExists(name):
            _compare(name, spark.table(name).schema, from_arrow_schema(schema))
        elif database and not spark.catalog.databaseExists(database):
            hint = f"create it: CREATE DATABASE {database}"
            raise HeadgateError(f"there is no database '{database}' for the table '{name}'", hint=hint)
    except PySparkException as error:
        raise HeadgateError(f"table '{name}' cannot be looked at: {told(error)}", hint="check its name") from None


def _compare(name: str, found: StructType, given: StructType) -> None:
    has, gives = _columns(found), _columns(given)
    if has != gives:
        raise HeadgateError(
            f"the columns of table '{name}' do not fit: it has {_listed(has)}, and the query gives {_listed(gives)}",
            hint="select these columns, or name another table",
        )


def _columns(schema: StructType) -> list[tuple[str, str]]:
    """Names, which Spark compares without case, and types; whether there may be nulls is the table's affair."""
    return [(column.name.lower(), column.dataType.simpleString()) for column in schema]


def _listed(columns: list[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns)
