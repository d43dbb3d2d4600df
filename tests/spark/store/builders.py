from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.model import Stream
from headgate.spark.store.log.stream_log import StreamLog

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("ts", pa.timestamp("us", "UTC"))])
STREAM = Stream(name="s", event_time="ts", watermark=1e-5)  # ten microseconds
DELAY = 10
PLAIN = Stream(name="s")


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder in memory where there is one: killing a process loses nothing there that a disk would keep."""
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None)


def rows(times: Sequence[int | None], first_id: int = 0) -> pa.Table:
    ids = range(first_id, first_id + len(times))
    columns = {"id": list(ids), "name": [f"n{number}" for number in ids], "ts": times}
    return pa.table(columns, schema=pa.schema([("id", pa.int64()), ("name", pa.string()), ("ts", pa.int64())])).cast(
        SCHEMA
    )


def opened(folder: Path, stream: Stream = STREAM, **settings: Any) -> StreamLog:
    return StreamLog.open(folder / "s", stream, SCHEMA, **settings)


def ids(table: pa.Table) -> list[int]:
    values: list[int] = table["id"].to_pylist()
    return values
