from __future__ import annotations

import math
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.store.builders import DELAY, PLAIN, SCHEMA, STREAM, ids, opened, rows

from headgate.model import HeadgateError, Stream
from headgate.spark.store.log.late_rows import AFTER_THE_END, NO_EVENT_TIME
from headgate.spark.store.log.stream_log import StreamLog


def test_rows_come_back_with_offsets_and_arrivals(tmp_path: Path) -> None:
    log = opened(tmp_path)
    assert (log.append(rows([1, 2]), 0.5).first, log.append(rows([3], 2), 1.5).last) == (0, 3)
    table = log.read(1, 3)
    assert table.column_names == ["id", "name", "ts", "_offset", "_arrival", "_late"]
    assert (ids(table), table["_offset"].to_pylist(), table["_arrival"].to_pylist()) == ([1, 2], [1, 2], [0.5, 1.5])
    assert log.arrivals(0, 3) == [(0.5, 2), (1.5, 1)]
    assert log.read(3, 3).schema == table.schema


def test_one_fsync_makes_an_append_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = opened(tmp_path)
    fsync = Mock(wraps=os.fsync)
    monkeypatch.setattr(os, "fsync", fsync)
    log.append(rows([1, 2, 3]), 0.0)
    assert fsync.call_count == 1
    assert ids(opened(tmp_path).read(0, 3)) == [0, 1, 2]


def test_late_is_strictly_below_what_came_before(tmp_path: Path) -> None:
    log = opened(tmp_path)
    assert log.append(rows([100, 5]), 0.0).late == ()  # within one append nothing is late
    done = log.append(rows([100 - DELAY, 100 - DELAY - 1, None, 200], 10), 1.0)
    assert [(ids(table), reason) for table, reason in done.rejected] == [([12], NO_EVENT_TIME)]
    assert (done.late, log.end) == (((3, "late by 1 us"),), 5)
    for seal in (False, True):
        if seal:
            log.seal()
        for reader in (log, opened(tmp_path)):
            table = reader.read(2, 5)
            assert (ids(table), table["_late"].to_pylist()) == ([10, 11, 13], [False, True, False])
            assert ids(reader.read_window(0, 5, -math.inf, math.inf)) == [0, 1, 10, 13]
            assert (reader.late(0, 5), reader.late(0, 3), reader.late(3, 4)) == (1, 0, 1)


def test_late_rows_never_move_the_frontier_nor_what_windows_read(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append(rows([100]), 0.0)
    log.append(rows([5, 1], 1), 1.0)
    for low in (None, 100):
        segment = log.segments(1, 3)[-1]
        assert (segment.late, segment.low, segment.high) == (2, low, low)
        assert (log.frontier_at(1), log.frontier_at(3)) == (100 - DELAY, 100 - DELAY)
        assert ids(log.read_window(0, 3, 0, 50)) == []
        log.seal()
    log.drop_before(3)
    assert opened(tmp_path).frontier_at(3) == 100 - DELAY


FAR = "ahead of its arrival, the stream allows"


@pytest.mark.parametrize(
    ("ahead", "taken", "reasons"),
    [
        (2.0, [0, 1, 5], {f"3 s {FAR} 2 s": [2], f"1 h {FAR} 2 s": [3, 4]}),
        (0.0, [0, 5], {f"2 s {FAR} 0 s": [1], f"3 s {FAR} 0 s": [2], f"1 h {FAR} 0 s": [3, 4]}),
        (math.inf, [0, 1, 2, 3, 4, 5], {}),
        (1e300, [0, 1, 2, 3, 4, 5], {}),
    ],
)
def test_only_the_future_is_bounded(tmp_path: Path, ahead: float, taken: list[int], reasons: Any) -> None:
    """One row from far ahead would make all after it late; it is rejected with its row, and moves nothing."""
    arrival = 7.5
    times = [0, *(round((arrival + seconds) * 1e6) for seconds in (2.0, 3.0, 3600.0, 3605.0)), -(10**15)]
    log = opened(tmp_path, replace(STREAM, ahead=ahead))
    done = log.append(rows(times), arrival)
    assert (ids(log.read(0, log.end)), {reason: ids(table) for table, reason in done.rejected}) == (taken, reasons)
    assert log.frontier_at(log.end) == max(times[index] for index in taken) - DELAY


def test_how_far_ahead_rows_may_be_can_change(tmp_path: Path) -> None:
    for ahead in (3600.0, math.inf, 5.0):
        opened(tmp_path, replace(STREAM, ahead=ahead)).close()
        assert StreamLog.reopen(tmp_path / "s").stream.ahead == ahead


def test_without_event_time_nothing_is_late(tmp_path: Path) -> None:
    log = opened(tmp_path, PLAIN)
    log.append(rows([100]), 0.0)
    assert log.append(rows([1, None]), 0.0).rejected == ()
    assert log.frontier_at(3) is None


def test_a_batch_is_appended_once(tmp_path: Path) -> None:
    log = opened(tmp_path, seal_rows=3)
    first = log.append(rows([100, 50, 60]), 0.0, batch="a")
    log.append(rows([1, None]), 0.0, batch="late")
    again = log.append(rows([1]), 0.0, batch="late")  # the newest one again: what is told of its rows too
    assert (again.late, len(again.rejected)) == (((3, "late by 89 us"),), 1)
    log.seal()
    for reader in (log, opened(tmp_path)):
        again = reader.append(rows([1, 2, 3]), 9.0, batch="a")
        assert ((again.first, again.last), reader.end) == ((first.first, first.last), 4)
        assert reader.append(rows([500]), 9.0, batch="late").last == 4
    log.drop_before(4)
    assert opened(tmp_path).append(rows([1]), 0.0, batch="a").last == 3


def test_the_end_takes_an_offset_and_closes_everything(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append(rows([100]), 0.0)
    assert (log.finish(2.0), log.finish(3.0), log.end) == (1, 1, 2)
    for reader in (log, opened(tmp_path)):
        assert (reader.frontier_at(1), reader.frontier_at(2)) == (100 - DELAY, math.inf)
        assert (reader.read(0, 2).num_rows, reader.arrivals(0, 2)) == (1, [(0.0, 1)])
    log.append(rows([10**9], 1), 3.0)
    for reader in (log, opened(tmp_path)):
        assert reader.newest is not None
        assert reader.newest.late == ((2, AFTER_THE_END),)
        assert (ids(reader.read(0, 3)), ids(reader.read_window(0, 3, -math.inf, math.inf))) == ([0, 1], [0])
    log.seal()
    assert (log.frontier_at(1), log.frontier_at(3), log.segments(0, 3)[0].high) == (100 - DELAY, math.inf, 100)
    log.drop_before(3)
    assert (log.start, log.frontier_at(3), opened(tmp_path).frontier_at(3)) == (3, math.inf, math.inf)


def test_rows_behind_the_end_of_a_stream_without_event_time(tmp_path: Path) -> None:
    log = opened(tmp_path, PLAIN)
    log.append(rows([1, 2]), 0.0)
    log.finish()
    log.append(rows([3, 4], 2), 1.0)
    for _ in range(2):
        assert [ids(log.read(first, 5)) for first in range(6)] == [[0, 1, 2, 3], [1, 2, 3], [2, 3], [2, 3], [3], []]
        assert [ids(log.read(0, last)) for last in (2, 3, 4)] == [[0, 1], [0, 1], [0, 1, 2]]
        log.seal()


def test_sealing_leaves_one_parquet_file_that_others_can_read(tmp_path: Path) -> None:
    log = opened(tmp_path, seal_rows=4)
    for start in range(0, 10, 2):
        log.append(rows([start, start + 1], start), float(start))
    sealed, *rest = log.segments(0, 10)
    assert sealed.path is not None
    assert (sealed.first, sealed.end, sealed.low, sealed.high, sealed.rows) == (0, 4, 0, 3, 4)
    assert [(segment.first, segment.end, segment.sealed) for segment in rest] == [(4, 8, True), (8, 10, False)]
    assert pq.read_table(sealed.path).replace_schema_metadata(None).equals(log.read(0, 4))
    assert ids(log.read(0, 10)) == ids(opened(tmp_path).read(0, 10)) == list(range(10))
    assert log.arrivals(1, 4) == [(0.0, 1), (2.0, 2)]
    assert len(list((tmp_path / "s").glob("*.tail"))) == 1


def test_many_small_appends_are_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.spark.store.log.stream_log.SEAL_APPENDS", 4)
    log = opened(tmp_path)
    for number in range(10):
        log.append(rows([number], number), float(number))
    assert [(segment.first, segment.end) for segment in log.segments(0, 10) if segment.sealed] == [(0, 4), (4, 8)]
    assert ids(log.read(0, 10)) == ids(opened(tmp_path).read(0, 10)) == list(range(10))


def test_windows_read_only_the_segments_they_touch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = opened(tmp_path, memory_budget=0)
    for start in range(0, 100, 10):
        log.append(rows(range(start, start + 10), start), 0.0)
    load = Mock(wraps=log._index.load)
    monkeypatch.setattr(log._index, "load", load)
    assert ids(log.read_window(0, 100, 15, 31)) == list(range(15, 32))
    assert [call.args[0].first for call in load.call_args_list] == [10, 20, 30]
    assert ids(log.read_window(0, 100, -math.inf, math.inf)) == list(range(100))
    assert ids(log.read_window(18, 22, 19, 20)) == [19, 20]


def test_memory_stays_within_the_budget(tmp_path: Path) -> None:
    budget = 200_000
    log = opened(tmp_path, memory_budget=budget, seal_rows=5000)
    for start in range(0, 30_000, 500):
        log.append(rows(range(start, start + 500), start), 0.0)
        assert log.cached_bytes <= budget
    assert log.cached_bytes > budget / 2
    before = pa.total_allocated_bytes()
    for first in range(0, 30_000, 700):
        assert ids(log.read(first, first + 10)) == list(range(first, first + 10))
        assert log.cached_bytes <= budget
        assert pa.total_allocated_bytes() - before < 2 * budget
    small = rows(range(100_000))
    log.append(small.slice(0, 1), 0.0)
    assert log.cached_bytes <= budget


def test_inside_an_append_its_rows_do_not_move_the_frontier(tmp_path: Path) -> None:
    """They were all let in by what came before: a later one of them may be far behind an earlier one."""
    log = opened(tmp_path)
    log.append(rows([100, 150]), 0.0)
    log.append(rows([900, 140, 500], 2), 0.0)
    for seal in (False, True):
        if seal:
            log.seal()
        for reader in (log, opened(tmp_path)):
            frontiers = [reader.frontier_at(offset) for offset in range(6)]
            assert frontiers == [None, None, 150 - DELAY, 150 - DELAY, 150 - DELAY, 900 - DELAY]


def test_dropping_keeps_the_frontier_and_refuses_old_offsets(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append(rows([500, 100]), 0.0)
    log.seal()
    log.append(rows([495, 600], 2), 1.0)
    log.drop_before(1)
    assert log.start == 0  # only whole segments go
    log.drop_before(3)
    for reader in (log, opened(tmp_path)):
        assert (reader.start, reader.end, reader.frontier_at(2), reader.frontier_at(3)) == (2, 4, 490, 490)
        assert ids(reader.read(2, 4)) == [2, 3]
        with pytest.raises(HeadgateError, match=r"offsets 1 to 4.*holds 2 to 4"):
            reader.read(1, 4)
        with pytest.raises(HeadgateError, match="holds 2 to 4"):
            reader.frontier_at(1)
    log.require(4)
    with pytest.raises(HeadgateError, match=r"ends at offset 4, but it was read up to 5: 1 acknowledged row"):
        log.require(5)


@pytest.mark.slow
def test_readers_beside_the_appender_see_whole_prefixes(tmp_path: Path) -> None:
    log = opened(tmp_path, memory_budget=2000, seal_rows=40)
    wrong: list[Any] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            end = log.end
            first = max(log.start, end - 60)
            try:
                if ids(log.read(first, end)) != list(range(first, end)):
                    wrong.append((first, end))
                log.frontier_at(end - 1 if end > first else end)
            except HeadgateError as error:
                if log.start <= first:
                    wrong.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for start in range(0, 800, 5):
        log.append(rows(range(start, start + 5), start), 0.0)
        log.drop_before(start - 200)
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(
    ("stream", "schema", "says"),
    [
        (Stream(name="s", event_time="when"), SCHEMA, "'when' is not a column; name one of id, name, ts"),
        (Stream(name="s", event_time="id"), SCHEMA, "'id' has the type int64; give the column the type timestamp"),
        (PLAIN, pa.schema([("_offset", pa.int64())]), "'_offset' is taken"),
        (PLAIN, pa.schema([("_late", pa.int64())]), "'_late' is taken"),
    ],
)
def test_streams_that_cannot_be_logged(tmp_path: Path, stream: Stream, schema: Any, says: str) -> None:
    with pytest.raises(HeadgateError, match=says):
        StreamLog.open(tmp_path / "s", stream, schema)


def test_a_stream_that_has_changed_is_refused(tmp_path: Path) -> None:
    opened(tmp_path)
    with pytest.raises(HeadgateError, match=r"stream.json: stream 's' was stored with watermark 1e-05, now it has 2.0"):
        opened(tmp_path, Stream(name="s", event_time="ts", watermark=2.0))
    with pytest.raises(HeadgateError, match="columns"):
        StreamLog.open(tmp_path / "s", PLAIN, pa.schema([("id", pa.string())]))


def test_rows_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    log = opened(tmp_path)
    for wrong in (pa.table({"id": [1]}), rows([1]).set_column(0, "id", pa.array(["x"]))):
        with pytest.raises(HeadgateError, match=r"do not fit.*bring id int64, name string"):
            log.append(wrong, 0.0)
    assert log.end == 0


@pytest.mark.parametrize("undone", [True, False])
def test_a_failed_write_leaves_the_log_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undone: bool) -> None:
    log = opened(tmp_path)
    log.append(rows([1]), 0.0)

    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    for name in ("pwrite",) if undone else ("pwrite", "ftruncate"):
        monkeypatch.setattr(os, name, fail)
    with pytest.raises(HeadgateError, match=r"cannot write: No space left"):
        log.append(rows([2]), 0.0)
    monkeypatch.undo()
    if undone:
        assert log.append(rows([2], 1), 0.0).first == 1
    else:
        with pytest.raises(HeadgateError, match="an earlier write failed and could not be undone"):
            log.append(rows([2]), 0.0)
        assert opened(tmp_path).append(rows([2], 1), 0.0).first == 1


def test_the_rate_counts_what_came_lately_also_after_a_seal(tmp_path: Path) -> None:
    log = StreamLog.open(tmp_path / "s", PLAIN, pa.schema([("id", pa.int64())]))
    for arrival, count in ((80.0, 50), (95.0, 20), (100.0, 10)):
        log.append(pa.table({"id": list(range(count))}), arrival)
    log.seal()
    assert (log.rate(now=100.0), log.rate(now=107.0), log.rate(now=200.0)) == (3.0, 1.0, 0.0)
