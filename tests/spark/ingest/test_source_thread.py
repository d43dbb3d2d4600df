"""The thread that reads all sources: a source that fails is given up, the others are read on. Without Spark."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from typing import cast

import pyarrow as pa
import pytest

from headgate.spark.engine.engine import Engine
from headgate.spark.ingest.source_thread import SourceThread
from headgate.spark.ingest.sources import Batch, Reader

PATIENCE = 30.0
ROWS = pa.table({"id": [1, 2]})


class FakeEngine:
    """Takes what it is given."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()
        self.logs: dict[str, object] = defaultdict(object)
        self.finished: list[str] = []
        self.ends = threading.Semaphore(0)

    def now(self) -> float:
        return time.monotonic()

    def lagging_query(self, stream: str) -> str | None:
        return None

    def append(self, stream: str, rows: pa.Table, batch: str | None) -> int:
        self.taken[stream] += rows.num_rows
        return int(rows.num_rows)

    def finish(self, stream: str) -> None:
        self.finished.append(stream)
        self.ends.release()


class Some(Reader):
    """A source of some batches that fails in one of its methods."""

    def __init__(self, batches: int, fails: str = "") -> None:
        self.left, self.fails, self.closed = batches, fails, 0

    @property
    def done(self) -> bool:
        self._perhaps("done")
        return not self.left

    def read(self, now: float) -> list[Batch]:
        self._perhaps("read")
        self.left -= 1
        return [Batch(ROWS)]

    def due(self, now: float) -> float:
        self._perhaps("due")
        return now

    def close(self) -> None:
        self.closed += 1
        self._perhaps("close")

    def _perhaps(self, method: str) -> None:
        if self.fails == method:
            raise RuntimeError(f"{method}\nfailed")


def fed(**sources: Reader) -> tuple[FakeEngine, SourceThread]:
    engine = FakeEngine()
    source_thread = SourceThread(cast(Engine, engine))
    for stream, reader in sources.items():
        source_thread.add(stream, reader)
    return engine, source_thread


@pytest.mark.parametrize(("method", "rows"), [("read", 0), ("done", 2), ("due", 2)])
def test_a_source_that_fails_is_given_up_alone(method: str, rows: int) -> None:
    bad, good = Some(5, method), Some(50)
    engine, source_thread = fed(bad=bad, good=good)
    assert engine.ends.acquire(timeout=PATIENCE)
    source_thread.close()
    assert source_thread.errors == {"bad": f"{method} failed"}
    assert (engine.taken["bad"], engine.taken["good"]) == (rows, 100)
    assert (engine.finished, source_thread.ended) == (["good"], True)
    assert (bad.closed, good.closed) == (1, 1)


def test_a_source_that_fails_to_close_has_given_everything() -> None:
    engine, source_thread = fed(bad=Some(1, "close"), good=Some(50))
    assert all(engine.ends.acquire(timeout=PATIENCE) for _ in range(2))
    source_thread.close()
    assert source_thread.errors == {"bad": "close failed"}
    assert (engine.taken, sorted(engine.finished)) == ({"bad": 2, "good": 100}, ["bad", "good"])


def test_closing_closes_every_source() -> None:
    endless = [Some(-1, "close"), Some(-1, "close"), Some(-1)]
    _, source_thread = fed(**{str(number): reader for number, reader in enumerate(endless)})
    source_thread.close()
    assert [reader.closed for reader in endless] == [1, 1, 1]
    assert source_thread.errors == {"0": "close failed", "1": "close failed"}
