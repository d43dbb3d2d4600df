"""Large results: executors write them as Parquet files, the driver learns only the names."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType

from headgate.spark.compile.arrow_types import plain
from headgate.spark.compile.event_time_columns import quoted
from headgate.spark.compile.executor_reads import located
from headgate.spark.compile.schemas import parts_of


@dataclass(frozen=True, slots=True)
class Written:
    """Results in Parquet files, whose paths are relative to the folder in which they were to be written."""

    files: tuple[str, ...]
    rows: int


def write(frame: DataFrame, columns: Sequence[str], aside: Path) -> Written:
    """One Spark job: some columns of a frame into files of a new folder in `aside`. A failure leaves nothing there."""
    folder = aside / uuid4().hex  # never that of an earlier run, whose files may wait there for a sink
    try:
        _writable(frame.select(*(quoted((name,)) for name in columns))).write.parquet(located(folder))
        rows = {path: pq.read_metadata(path).num_rows for path in sorted(folder.glob("*.parquet"))}
        filled = [path for path, count in rows.items() if count]
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    if not filled:
        shutil.rmtree(folder)
    return Written(tuple(f"{folder.name}/{path.name}" for path in filled), sum(rows.values()))


def _writable(frame: DataFrame) -> DataFrame:
    """The frame with plain texts in the place of collated ones: Spark writes no files of maps with such keys."""
    columns = []
    for column, plainly in zip(frame.schema, from_arrow_schema(plain(frame.schema)), strict=True):
        collated = any(isinstance(part, StringType) and part != StringType() for part in parts_of(column.dataType))
        own = F.col(quoted((column.name,)))
        columns.append(own.cast(plainly.dataType).alias(column.name) if collated else own)
    return frame.select(*columns)
