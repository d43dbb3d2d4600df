"""The stored tables of a session, and how they come back when Spark is started again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headgate.model import HeadgateError, Table
from headgate.spark.compile.stored_tables import read_table, stored
from headgate.spark.jvm.errors import one_line

FEW = 100_000  # rows of a DataFrame that are kept here too, so that it can be made anew


@dataclass(frozen=True, slots=True)
class _Declared:
    """A table: stored under a path or a name, or once given as a DataFrame with these rows."""

    frame: DataFrame
    schema: StructType
    table: Table | None
    rows: pa.Table | None
    lost: str = ""  # why it is not there any more


class Tables(Mapping[str, DataFrame]):
    """Tables by name. One that was lost with its Spark is still known, but cannot be read until it is declared again.

    With `keep`, the rows of small DataFrames are kept outside of Spark.
    """

    def __init__(self, *, keep: bool) -> None:
        self._keep = keep
        self._known: dict[str, _Declared] = {}

    def __getitem__(self, name: str) -> DataFrame:
        known = self._known[name]
        if known.lost:
            hint = "declare it again, then resume the queries that read it"
            raise HeadgateError(f"table '{name}' was lost when Spark died: {known.lost}", hint=hint)
        return known.frame

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def schema(self, name: str) -> StructType:
        """The columns of a table, there or lost."""
        return self._known[name].schema

    def lost(self, name: str) -> bool:
        """Whether a table of this name was there, and must be declared again."""
        return name in self._known and self._known[name].lost != ""

    def read(self, spark: SparkSession, table: Table, frame: DataFrame | None) -> _Declared:
        """The rows of a table as they are now."""
        if frame is None:
            found = read_table(spark, table)
            return _Declared(found, found.schema, table, None)
        found = stored(frame, table.name)
        return _Declared(found, found.schema, None, self._rows(found))

    def put(self, name: str, declared: _Declared) -> None:
        self._known[name] = declared

    def read_again(self, spark: SparkSession) -> dict[str, str]:
        """Read every table anew, with a Spark that was started again; which ones are lost, and why."""
        for name, known in list(self._known.items()):
            try:
                self._known[name] = replace(known, frame=_again(spark, name, known), lost="")
            except Exception as error:  # whatever it is, the other tables come back
                why = error.message if isinstance(error, HeadgateError) else one_line(error)
                self._known[name] = replace(known, lost=why)
        return {name: known.lost for name, known in self._known.items() if known.lost}

    def _rows(self, frame: DataFrame) -> pa.Table | None:
        if not self._keep:
            return None
        try:
            found = frame.limit(FEW + 1).toArrow()
        except (PySparkException, Py4JError, pa.ArrowException):  # a type that Arrow lacks
            return None
        return found if found.num_rows <= FEW else None


def _again(spark: SparkSession, name: str, known: _Declared) -> DataFrame:
    if known.table is not None:
        return read_table(spark, known.table)
    if known.rows is None:
        raise HeadgateError("it was a DataFrame of that Spark")
    return stored(spark.createDataFrame(known.rows, known.schema), name)
