"""Large results: executors write them as files, the driver learns their names."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from headgate.spark.compile.event_times import quoted
from headgate.spark.compile.executor_reads import located


@dataclass(frozen=True, slots=True)
class Written:
    """Results in Parquet files, named as seen from the folder that they were to go to."""

    files: tuple[str, ...]
    rows: int


def write(frame: DataFrame, columns: Sequence[str], aside: Path) -> Written:
    """One Spark job: some columns of a frame into files of a new folder in `aside`. A failure leaves nothing there."""
    folder = aside / uuid4().hex  # never that of an earlier run, whose files may wait there for a sink
    try:
        frame.select(*(quoted((name,)) for name in columns)).write.parquet(located(folder))
        rows = {path: pq.read_metadata(path).num_rows for path in sorted(folder.glob("*.parquet"))}
        found = [path for path, count in rows.items() if count]
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    if not found:
        shutil.rmtree(folder)
    return Written(tuple(f"{folder.name}/{path.name}" for path in found), sum(rows.values()))
