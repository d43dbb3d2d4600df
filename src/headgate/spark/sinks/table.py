"""The sink `table`: appends results to a table of Spark's catalog, at least once.

Progress is written after the append, as for a callback: after a crash between the two, the rows of one commit are
appended again. The table is created with the first result. How long it lasts depends on its catalog; that of an
embedded Spark is in memory.

Spark is imported only by the functions that use it: somebody who just reads results of other sinks (which asks the
registry, and so imports this module) need not wait for that.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from headgate.model import HeadgateError, Spec
from headgate.spark.sinks.base import Call
from headgate.spark.sinks.callback import CallbackSink
from headgate.spark.sinks.registry import DEFAULT, needs_function, parse_sink, register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,2}", re.ASCII)


def _check_name(spec: Spec) -> None:
    name = spec.settings.get("name")
    if name is None:
        raise HeadgateError("a table sink needs the name of a table", hint='write "table, name=db.alerts"')
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        hint = "letters, digits and _, with the database before it: db.alerts"
        raise HeadgateError(f"'{name}' is not a name of a table", hint=hint)


@register("table", settings=("name",), check=_check_name, needs_function=True)
def open_table(spec: Spec, folder: Path, call: Call) -> CallbackSink:
    """Open the sink; the function is a `TableAppender`."""
    return CallbackSink(folder, call)


@dataclass(frozen=True, slots=True)
class TableAppender:
    """The function that appends results to the table with a name."""

    spark: Callable[[], SparkSession]  # asked each time, as Spark may have been started again
    name: str

    def __call__(self, rows: pa.Table) -> None:
        from pyspark.errors import PySparkException

        from headgate.spark.compile.quick_frames import ship
        from headgate.spark.jvm.errors import spark_message

        spark = self.spark()
        check_table(spark, self.name, rows.schema)
        try:
            ship(spark, rows, max(1, rows.num_rows)).write.mode("append").saveAsTable(self.name)
        except PySparkException as error:
            hint = "see to the table, then resume the query: its results wait"
            raise HeadgateError(f"table '{self.name}' takes no rows: {spark_message(error)}", hint=hint) from None


def table_of(sink: str | None) -> str | None:
    """The table that a sink names; None for other sinks.

    >>> table_of("table, name=db.alerts"), table_of("jsonl"), table_of(None)
    ('db.alerts', None, None)
    """
    spec = parse_sink(sink or DEFAULT)
    return str(spec.settings["name"]) if spec.name == "table" else None


def needs_callback(text: str | None) -> bool:
    """Whether a sink gives results to a function of the user, which no directory can store.

    >>> needs_callback("callback"), needs_callback("table, name=t"), needs_callback(None)
    (True, False, False)
    """
    return needs_function(text) and table_of(text) is None


def check_sink(spark: SparkSession, sink: str | None, schema: pa.Schema) -> None:
    """Refuse a table that could not take a query's results."""
    name = table_of(sink)
    if name is not None:
        check_table(spark, name, schema)


def check_table(spark: SparkSession, name: str, schema: pa.Schema) -> None:
    """Refuse a table whose columns do not fit, and a new table in a database that does not exist."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import from_arrow_schema

    from headgate.spark.jvm.errors import spark_message

    database = name.rpartition(".")[0]
    try:
        if spark.catalog.tableExists(name):
            _compare(name, spark.table(name).schema, from_arrow_schema(schema))
        elif database and not spark.catalog.databaseExists(database):
            hint = f"create it: CREATE DATABASE {database}"
            raise HeadgateError(f"there is no database '{database}' for the table '{name}'", hint=hint)
    except PySparkException as error:
        raise HeadgateError(
            f"table '{name}' cannot be looked at: {spark_message(error)}", hint="check its name"
        ) from None


def _compare(name: str, table: StructType, query: StructType) -> None:
    has, gives = _columns(table), _columns(query)
    if has != gives:
        raise HeadgateError(
            f"the columns of table '{name}' do not fit: it has {_listed(has)}, and the query gives {_listed(gives)}",
            hint="select these columns, or name another table",
        )


def _columns(schema: StructType) -> list[tuple[str, str]]:
    """Names, in lower case as Spark ignores it, and types; whether a column may be null is left to the table."""
    return [(column.name.lower(), column.dataType.simpleString()) for column in schema]


def _listed(columns: list[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns)
