"""Stored tables that queries join with: read once when they are declared, kept in memory as one partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from uuid import uuid4

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from headgate.model import HeadgateError, Operator, Table, TableJoin, walk
from headgate.spark.compile.quick_frames import empty_frame
from headgate.spark.compile.schemas import spark_schema
from headgate.spark.jvm.errors import first_line
from headgate.spark.jvm.settings import own_session

_FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet", ".orc": "orc"}


Check = Callable[[Iterable[str]], None]  # refuses files that are not to be read as a table


def all_welcome(files: Iterable[str]) -> None:
    """Refuse no files."""


def read_table(spark: SparkSession, table: Table, check: Check = all_welcome) -> DataFrame:
    """A table from its path (Parquet, ORC, CSV with a header, JSON lines), or Spark's own table of that name.

    `check` is given the files that Spark has found.
    """
    hint = "give the path of a file or folder, or create a Spark table of that name"
    with _readable(table.name, hint):
        frame = _read_anew(spark, table)
        if table.path is not None:
            check(frame.inputFiles())
        return _kept(_as_declared(frame, table))


def stored(frame: DataFrame, name: str = "") -> DataFrame:
    """The rows of a DataFrame as they are now, in memory."""
    if frame.isStreaming:
        hint = "write it to a table first, or declare a stream"
        raise HeadgateError(f"table '{name}' cannot be read: it is a streaming DataFrame", hint=hint)
    with _readable(name, "correct the DataFrame"):
        return _kept(frame)


@contextmanager
def _readable(name: str, hint: str) -> Iterator[None]:
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise HeadgateError(f"table '{name}' cannot be read: {first_line(error)}", hint=hint) from error


def _kept(frame: DataFrame) -> DataFrame:
    """One partition in memory, so that a small train is joined with it without a shuffle."""
    kept = frame.coalesce(1).persist()
    try:
        kept.count()
    except BaseException:
        kept.unpersist()
        raise
    return kept


def without_rows(spark: SparkSession, plan: Operator, tables: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """The tables that a plan reads, without rows: an analysed plan over them holds only what the query says."""
    named = {node.table for node in walk(plan) if isinstance(node, TableJoin)}
    return {name: empty_frame(spark, tables[name].schema) for name in sorted(named)}


def _read_anew(spark: SparkSession, table: Table) -> DataFrame:
    """The rows as they are now: with a filter that lets all of them pass, and that no other reading has.

    Otherwise Spark would recognise the plan of an earlier reading, and give the rows that it has kept of that.
    """
    reading = F.lit(uuid4().hex)
    return _read(spark, table).where(reading == reading)


def _read(spark: SparkSession, table: Table) -> DataFrame:
    if table.path is None:
        return spark.table(f"`{table.name}`")
    kind = _format(table.name, table.path)
    reader = own_session(spark).read.format(kind)
    if table.schema and kind in ("csv", "json"):
        reader = reader.schema(spark_schema(table))
    return reader.option("header", True).load(table.path) if kind == "csv" else reader.load(table.path)


def _format(name: str, path: str) -> str:
    """A format by the path's ending, or by the endings of a local folder's files; Parquet if nothing else is said."""
    if (kind := _ending(path)) is not None:
        return kind
    folder = Path(path.removeprefix("file://"))
    inside = folder.rglob("*") if folder.is_dir() else ()
    files = (path for path in inside if path.name[0] not in "._" and path.is_file())
    kinds = sorted({kind for file in files if (kind := _ending(file.name)) is not None})
    if len(kinds) > 1:
        raise HeadgateError(
            f"table '{name}' cannot be read: the folder holds {' and '.join(kinds)}", where=path, hint="name one kind"
        )
    return kinds[0] if kinds else "parquet"


def _ending(path: str) -> str | None:
    """The format that an ending stands for, also before the ending of a compression: rooms.csv.gz."""
    return next((_FORMATS[suffix] for suffix in reversed(PurePosixPath(path).suffixes) if suffix in _FORMATS), None)


def _as_declared(frame: DataFrame, table: Table) -> DataFrame:
    if not table.schema:
        return frame
    columns = spark_schema(table)
    return frame.select([F.col(f"`{column.name}`").cast(column.dataType).alias(column.name) for column in columns])
