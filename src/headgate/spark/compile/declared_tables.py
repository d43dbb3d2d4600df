"""The stored tables that a session has declared; they are read again when Spark or the session is restarted."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headgate.model import HeadgateError, Table
from headgate.spark.compile.schemas import spark_schema
from headgate.spark.compile.stored_tables import Check, all_welcome, read_table, stored
from headgate.spark.jvm.errors import one_line

FEW = 100_000  # rows of a DataFrame that are also kept outside of Spark, to make it anew after a restart


@dataclass(frozen=True, slots=True)
class DeclaredTable:
    """A table: stored under a path or a name, or given as a DataFrame with these rows."""

    frame: DataFrame | None  # None: it was not read in this session
    schema: StructType
    table: Table | None
    rows: pa.Table | None
    kept: DataFrame | None = None  # what Spark keeps in memory; `frame` may have fewer columns
    lost: str = ""  # why it cannot be read now, as "was lost when Spark died: …"; empty: it is there
    copy: Path | None = None  # of its files, if Spark reads one

    def only(self, names: Sequence[str]) -> DeclaredTable:
        """The table with these of its columns: a file may have got more since it was declared."""
        assert self.frame is not None
        if list(names) == self.frame.columns:
            return self
        frame = self.frame.select([f"`{name}`" for name in names])
        return replace(self, frame=frame, schema=frame.schema)


class Tables(Mapping[str, DataFrame]):
    """Tables by name. One that is lost keeps its name and columns, but cannot be read until it is declared again.

    With `keep`, the rows of small DataFrames are also kept outside of Spark. `located` says where the files of a table
    are to be read: in their place, or in a copy; `check` refuses some of the files that are found.
    """

    def __init__(
        self, *, keep: bool, located: Callable[[Table], Table] = lambda table: table, check: Check = all_welcome
    ) -> None:
        self._keep, self._located, self._check = keep, located, check
        self._declared: dict[str, DeclaredTable] = {}
        self._former: dict[str, DeclaredTable] = {}  # the rows of tables before they were read anew

    def __getitem__(self, name: str) -> DataFrame:
        declared = self._declared[name]
        if declared.lost:
            hint = "declare it again, then resume the queries that read it"
            raise HeadgateError(f"table '{name}' {declared.lost}", hint=hint)
        assert declared.frame is not None
        return declared.frame

    def __contains__(self, name: object) -> bool:
        return name in self._declared  # also one that is lost, which cannot be read

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)

    def described(self, name: str) -> Table:
        """A table, even a lost one, with its columns and their types."""
        return described_table(name, self._declared[name].schema)

    def lost(self, name: str) -> bool:
        """Whether a table of this name was lost and must be declared again."""
        return self.why_lost(name) != ""

    def why_lost(self, name: str) -> str:
        """Why a table cannot be read now, as "was lost when Spark died: …"; empty if it can."""
        return self._declared[name].lost if name in self._declared else ""

    def read(self, spark: SparkSession, table: Table, frame: DataFrame | None) -> DeclaredTable:
        """The rows of a table as they are now."""
        if frame is None:
            return self._read(spark, table)
        kept = stored(frame, table.name)
        return DeclaredTable(kept, kept.schema, None, self._rows(kept), kept)

    def _read(self, spark: SparkSession, table: Table) -> DeclaredTable:
        at = self._located(table)
        copy = None if at.path is None or at.path == table.path else Path(at.path)
        try:
            kept = read_table(spark, at, self._check)
        except HeadgateError as error:
            _remove(copy)
            raise error if copy is None else _named(error, str(copy), str(table.path)) from None
        return DeclaredTable(kept, kept.schema, at, None, kept, copy=copy)

    def put(self, name: str, declared: DeclaredTable) -> DeclaredTable | None:
        """Keep a table, and return the one that had its name before."""
        former = self._declared.get(name)
        self._declared[name] = declared
        return former

    def remove(self, name: str) -> None:
        """Forget a table, and release its rows: no query reads it."""
        for gone in (self._declared.pop(name, None), self._former.pop(name, None)):
            _release(gone)

    def renew(self, name: str, declared: DeclaredTable) -> None:
        """Keep newer rows of a table. The former ones stay until the next time: a run may be reading them."""
        former = self.put(name, declared)
        _release(self._former.pop(name, None))
        if former is not None:
            self._former[name] = former

    def put_back(self, name: str, former: DeclaredTable | None) -> None:
        """Undo `put`."""
        if former is None:
            self._declared.pop(name, None)
        else:
            self._declared[name] = former

    def put_absent(self, table: Table, reason: str) -> None:
        """Keep the name and columns of a table of an earlier session that cannot be read now."""
        stored = None if table.path is None else table
        self._declared[table.name] = DeclaredTable(None, spark_schema(table), stored, None, lost=reason)

    def read_again(self, spark: SparkSession) -> dict[str, str]:
        """Read every table anew after a restart of Spark; gives those that are lost, and why."""
        for name, declared in list(self._declared.items()):
            try:
                again = self._read_again(spark, name, declared)
                self._declared[name] = again.only(declared.schema.names)
            except Exception as error:  # whatever it is, the other tables come back
                why = error.message if isinstance(error, HeadgateError) else one_line(error)
                self._declared[name] = replace(declared, lost=f"was lost when Spark died: {why}")
        return {name: declared.lost for name, declared in self._declared.items() if declared.lost}

    def _read_again(self, spark: SparkSession, name: str, declared: DeclaredTable) -> DeclaredTable:
        if declared.table is not None:
            again, copy = self._read(spark, declared.table), declared.copy
            return replace(
                declared, frame=again.frame, kept=again.kept, table=again.table, copy=copy or again.copy, lost=""
            )
        if declared.rows is None:
            raise HeadgateError("it was a DataFrame of that Spark" if declared.frame is not None else declared.lost)
        frame = stored(spark.createDataFrame(declared.rows, declared.schema), name)
        return replace(declared, frame=frame, kept=frame, lost="")

    def _rows(self, frame: DataFrame) -> pa.Table | None:
        if not self._keep:
            return None
        try:
            rows = frame.limit(FEW + 1).toArrow()
        except (PySparkException, Py4JError, pa.ArrowException):  # a type that Arrow lacks
            return None
        return rows if rows.num_rows <= FEW else None


def _release(declared: DeclaredTable | None) -> None:
    """Let Spark forget rows that nobody reads any more."""
    if declared is not None and declared.kept is not None:
        with suppress(PySparkException, Py4JError):  # of a Spark that has died since
            declared.kept.unpersist()
    if declared is not None:
        _remove(declared.copy)


def _remove(copy: Path | None) -> None:
    """Remove the copy of a table's files, which is in a folder of its own."""
    if copy is not None:
        shutil.rmtree(copy.parent, ignore_errors=True)


def _named(error: HeadgateError, copy: str, path: str) -> HeadgateError:
    """The error with the path that the user knows."""
    return type(error)(error.message.replace(copy, path), where=error.where.replace(copy, path), hint=error.hint)


def described_table(name: str, schema: StructType) -> Table:
    """A table with its columns and their types, as SQL is planned over it."""
    return Table(name=name, schema=tuple((column.name, column.dataType.simpleString()) for column in schema))
