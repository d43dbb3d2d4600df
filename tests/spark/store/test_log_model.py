"""Whatever is done to a stream log in whatever order, it gives the same answers as a plain list."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.store.builders import STREAM, opened, rows, scratch
from tests.spark.store.naive import NaiveLog

from headgate.spark.store.log.stream_log import StreamLog

times = st.lists(st.none() | st.integers(-20, 60), max_size=6)
batches = st.none() | st.sampled_from(["a", "b", "c", "d", "e"])
operations = st.one_of(
    st.tuples(st.just("append"), times, batches),
    st.tuples(st.just("append"), times, st.none()),
    st.tuples(st.sampled_from(["seal", "reopen"])),
    st.tuples(st.just("drop"), st.floats(0, 1)),
)
endings = st.lists(st.one_of(operations, st.tuples(st.just("finish"))), max_size=6)


class Both:
    """The real log and the list, side by side."""

    def __init__(self, folder: Path, budget: int, seal_rows: int, ahead: float) -> None:
        self.folder, self.budget, self.seal_rows = folder, budget, seal_rows
        self.stream = replace(STREAM, ahead=ahead / 1e6)
        self.log, self.naive = self._open(), NaiveLog(ahead=ahead)
        self.ids = count()

    def _open(self) -> StreamLog:
        return opened(self.folder, self.stream, memory_budget=self.budget, seal_rows=self.seal_rows)

    def do(self, arrival: float, kind: str, *arguments: Any) -> None:
        getattr(self, kind)(*((arrival, *arguments) if kind == "append" else arguments))

    def append(self, arrival: float, times: list[int | None], batch: str | None) -> None:
        shift = 3 * int(arrival * 1e6)
        table = rows([time if time is None else time + shift for time in times], next(self.ids) * 100)
        in_log = batch in self.naive.batches
        done = self.log.append(table, arrival, batch)
        first, last, rejected = self.naive.append(table, arrival, batch)
        assert (done.first, done.last) == (first, last)
        if not in_log:
            assert sorted(number for rows, _ in done.rejected for number in rows["id"].to_pylist()) == rejected
            assert [offset for offset, _ in done.late] == [at for _, at, late in self.naive.read(first, last) if late]

    def seal(self) -> None:
        self.log.seal()

    def finish(self) -> None:
        self.log.finish()
        self.naive.finish()

    def reopen(self) -> None:
        before = self.log.newest
        self.log.close()
        self.log = self._open()
        if before is not None and self.log.newest is not None:
            assert self.log.newest.late == before.late

    def drop(self, part: float) -> None:
        offset = round(part * self.log.end)
        self.log.drop_before(offset)
        assert self.log.start <= max(offset, self.naive.start)
        self.naive.start = self.log.start

    def check(self, first: int, last: int, low: int, high: int) -> None:
        log, naive = self.log, self.naive
        assert marked(log.read(first, last)) == naive.read(first, last)
        assert marked(log.read_window(first, last, low, high)) == naive.window(first, last, low, high)
        assert log.late(first, last) == sum(late for _, _, late in naive.read(first, last))
        assert log.arrivals(first, last) == naive.arrivals(first, last)
        for offset in (first, last):
            assert log.frontier_at(offset) == naive.frontier(offset)
        assert sum(segment.rows for segment in log.segments(log.start, log.end)) == len(naive.read(log.start, log.end))


def marked(table: pa.Table) -> list[tuple[int, int, bool]]:
    return list(zip(*(table[name].to_pylist() for name in ("id", "_offset", "_late")), strict=True))


@settings(max_examples=150)
@given(
    operations=st.tuples(st.lists(operations, max_size=25), endings).map(lambda both: both[0] + both[1]),
    budget=st.sampled_from([0, 400, 1 << 20]),
    seal_rows=st.integers(1, 30),
    ahead=st.sampled_from([math.inf, 40.0, 0.0]),
    data=st.data(),
)
def test_the_log_answers_like_a_list(
    operations: list[Any], budget: int, seal_rows: int, ahead: float, data: st.DataObject
) -> None:
    with scratch() as folder:
        both = Both(Path(folder), budget, seal_rows, ahead)
        for arrival, operation in enumerate(operations):
            both.do(arrival // 2 / 1e6, *operation)
            assert both.log.end == len(both.naive.rows)
            assert both.log.cached_bytes <= budget
        for _ in range(3):
            first = data.draw(st.integers(both.log.start, both.log.end))
            last = data.draw(st.integers(first, both.log.end))
            both.check(first, last, data.draw(st.integers(-30, 120)), data.draw(st.integers(-30, 120)))
        both.reopen()
        both.check(both.log.start, both.log.end, -1000, 1000)
