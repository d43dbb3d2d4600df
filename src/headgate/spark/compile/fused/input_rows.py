"""The input of a fused job: rows that several members take are read once and shipped to Spark once."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.spark.compile.frames import BATCH, SMALL
from headgate.spark.compile.fused.tags import Bits
from headgate.spark.compile.leaf_rows import Range, ReadableLog
from headgate.spark.compile.quick_frames import ship


def read_union(log: ReadableLog, ranges: Iterable[Range], *, late: bool) -> pa.Table:
    """The rows of several ranges, each row once; windows take no late ones."""

    def read(first: int, last: int) -> pa.Table:
        return log.read(first, last) if late else log.read_window(first, last, -inf, inf)

    merged: list[tuple[int, int]] = []
    for first, last in sorted((offsets.first, offsets.last) for offsets in ranges if offsets.first < offsets.last):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    if len(merged) == 1:
        return read(*merged[0])
    return pa.concat_tables([read(first, last) for first, last in merged] or [read(log.start, log.start)])


def ship_rows(spark: SparkSession, table: pa.Table, *, meets: bool = False) -> DataFrame:
    """Rows of the driver as a frame; few rows in one partition if they `meet` each other in a join or a group."""
    few = table.num_rows <= SMALL
    frame = ship(spark, table, SMALL if few else BATCH)
    return frame.coalesce(1) if few and meets else frame


def micros_of(table: pa.Table, column: str) -> Bits:
    """A column of times in microseconds; null becomes the smallest number, before all times."""
    times: Bits = table[column].cast(pa.int64()).fill_null(np.iinfo(np.int64).min).to_numpy()
    return times
