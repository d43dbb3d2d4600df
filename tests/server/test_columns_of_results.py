"""Results of several commits go into one file, also if only some of them may have nulls."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from headgate.spark.sinks.files import FileSink


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_commits_whose_columns_differ_in_nulls_alone_are_delivered_together(tmp_path: Path, kind: str) -> None:
    """Jobs of one query and jobs of several say differently whether a count may be null."""
    sink = FileSink(tmp_path / "q", kind)
    tables = [
        pa.table({"n": [number]}, pa.schema([pa.field("n", pa.int64(), nullable=number != 2)])) for number in (1, 2, 3)
    ]
    sink.roll_forward_all(list(enumerate(tables, 1)))
    assert sink.read().to_pylist() == [{"n": 1}, {"n": 2}, {"n": 3}]
    sink.close()
