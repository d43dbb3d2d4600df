"""Stored tables: read when a query starts, kept as one small cached partition."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from headgate.model import HeadgateError, Operator, Table, TableJoin, walk
from headgate.spark.jobs.problems import told
from headgate.spark.jobs.schemas import spark_schema

_FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet", ".orc": "orc"}


def read_table(spark: SparkSession, table: Table) -> DataFrame:
    """A table from its path (Parquet, ORC, CSV with a header, JSON lines), or Spark's own table of that name."""
    try:
        found = _read(spark, table)
        return stored(_declared(found, table))
    except PySparkException as error:
        hint = "give it a path, or create a Spark table of that name"
        raise HeadgateError(f"table '{table.name}' cannot be read: {told(error)}", hint=hint) from None


def stored(found: DataFrame) -> DataFrame:
    """The rows as they are now, in memory: one partition, so that a small train meets them without a shuffle."""
    kept = found.coalesce(1).persist()
    kept.count()
    return kept


def without_rows(spark: SparkSession, plan: Operator, tables: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """The tables that a plan reads, of the same types but empty: a plan over them holds only what the query says."""
    named = {node.table for node in walk(plan) if isinstance(node, TableJoin)}
    return {name: spark.createDataFrame([], tables[name].schema) for name in sorted(named)}


def _read(spark: SparkSession, table: Table) -> DataFrame:
    if table.path is None:
        return spark.table(table.name)
    kind = _FORMATS.get(PurePosixPath(table.path).suffix, "parquet")
    reader = spark.read.format(kind)
    if table.schema and kind in ("csv", "json"):
        reader = reader.schema(spark_schema(table))
    return reader.option("header", True).load(table.path) if kind == "csv" else reader.load(table.path)


def _declared(found: DataFrame, table: Table) -> DataFrame:
    if not table.schema:
        return found
    return found.select([F.col(f"`{one.name}`").cast(one.dataType).alias(one.name) for one in spark_schema(table)])
