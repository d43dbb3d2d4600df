from __future__ import annotations

import time
from typing import Any

from headgate.model import Stream
from headgate.spark.ingest.parsing.records import Bad
from headgate.spark.ingest.sources import Batch, Reader

STREAM = Stream(
    name="s",
    schema=(("id", "bigint"), ("temp", "double"), ("name", "string"), ("ok", "boolean"), ("ts", "timestamp")),
    event_time="ts",
)
PLAIN = Stream(name="p", schema=(("id", "bigint"), ("name", "string")))


def drained(reader: Reader, now: float = 0.0, until: float = 100.0) -> list[Batch]:
    """Everything that comes while a clock jumps from one due moment to the next."""
    batches: list[Batch] = []
    while not reader.done and now <= until:
        batches += reader.read(now)
        now = max(now, reader.due(now))
    return batches


def waited(reader: Reader, count: int, seconds: float = 10.0) -> list[Batch]:
    """What comes in real time, until there are that many rows and bad tuples."""
    batches: list[Batch] = []
    end = time.monotonic() + seconds
    while sum(batch.rows.num_rows + len(batch.bad) for batch in batches) < count:
        assert time.monotonic() < end, f"only {batches} after {seconds} s"
        batches += reader.read(time.time())
        time.sleep(0.002)
    return batches


def column(batches: list[Batch], name: str) -> list[Any]:
    return [value for batch in batches for value in batch.rows[name].to_pylist()]


def bad(batches: list[Batch]) -> list[Bad]:
    return [bad_tuple for batch in batches for bad_tuple in batch.bad]
