"""Pushes: rows and records that are no rows come by one write, and a batch counts once, whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from tests.spark.chaos.faultydisk import Crash, FaultyDisk

from headgate.model import Stream
from headgate.spark.ingest.streams import Pushed, StreamIngest
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.disk import use

STREAM = Stream(name="s", schema=(("id", "bigint"), ("ts", "timestamp")), event_time="ts", watermark=1.0)
NOW = 1_000_000.0
BAD = [("{", "broken JSON"), ('{"id": "x"}', "column 'id': 'x' is not a whole number")]


def rows(*seconds: float | None) -> pa.Table:
    times = [None if second is None else round((NOW + second) * 1e6) for second in seconds]
    stamps = pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC"))
    return pa.table({"id": pa.array(range(len(times)), pa.int64()), "ts": stamps})


@contextmanager
def opened(path: Path) -> Iterator[StreamIngest]:
    with DataDirectory(path) as directory:
        ingest = StreamIngest(directory, lambda: NOW)
        ingest.add(STREAM)
        try:
            yield ingest
        finally:
            with suppress(Crash):
                ingest.close()


def test_what_became_of_the_rows_is_told_the_second_time_too(tmp_path: Path) -> None:
    batch = rows(5, None, 6)
    with opened(tmp_path) as ingest:
        first = ingest.push("s", batch, BAD, "one")
        assert first == Pushed(2, 3, 0)
        assert ingest.push("s", rows(0, 7), (), "two") == Pushed(2, 0, 1)
        assert ingest.push("s", batch, BAD, "one") == Pushed(2, 3, 0, repeated=True)
    with opened(tmp_path) as ingest:
        assert ingest.push("s", batch, BAD, "one") == Pushed(2, 3, 0, repeated=True)
        assert ingest.push("s", rows(0, 7), (), "two") == Pushed(2, 0, 1, repeated=True)
        assert ingest.push("s", batch, BAD) == Pushed(2, 3, 1)  # without an id it counts again
        assert (ingest.logs["s"].end, ingest.letters["s"].count()) == (6, 3 + 1 + 4)
        texts = [(letter.text, letter.reason) for letter in ingest.letters["s"].letters() if letter.text is not None]
        assert texts == BAD * 2


def test_only_bad_records_are_one_write_too(tmp_path: Path) -> None:
    with opened(tmp_path) as ingest:
        for repeated in (False, True):
            assert ingest.push("s", rows(), BAD, "one") == Pushed(0, 2, 0, repeated=repeated)
        assert ingest.letters["s"].count() == 2
        outcome = ingest.replay("s")
        assert (outcome.taken, outcome.dead_again.total()) == (0, 2)


@pytest.mark.parametrize("ending", ["kill", "cut", "reorder"])
def test_a_push_that_is_repeated_after_a_crash_counts_once(tmp_path: Path, ending: str) -> None:
    for after in count(1):
        root = tmp_path / str(after)
        root.mkdir()
        disk, path, died = FaultyDisk(root, after), root / "data", False
        with use(disk), suppress(Crash), opened(path) as ingest:
            disk.crash_at = disk.number + after
            died = True
            ingest.push("s", rows(5, None, 6), BAD, "one")
            died = False
        disk.crash_at = None
        disk.kill() if ending == "kill" else disk.crash(Random(after), reorder=ending == "reorder")
        with use(disk), opened(path) as ingest:
            pushed = ingest.push("s", rows(5, None, 6), BAD, "one")
            assert (pushed.accepted, pushed.rejected) == (2, 3)
            assert pushed.repeated or died
            assert ingest.logs["s"].read(0, 2)["id"].to_pylist() == [0, 2]
            assert (ingest.logs["s"].end, ingest.letters["s"].count()) == (2, 3)
        if not died:
            break
    assert after > 3
