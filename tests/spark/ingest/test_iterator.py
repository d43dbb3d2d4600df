from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from headgate.model import HeadgateError
from headgate.spark.ingest.sources import iterator_source

from .builders import PLAIN, bad, column, waited


def test_records_and_tables_until_they_end() -> None:
    items = [{"id": 1}, '{"id": 2}', pa.table({"id": [3], "name": ["c"]}), pa.record_batch({"id": [4]}), {"id": "x"}]
    reader = iterator_source(items, PLAIN)
    batches = waited(reader, 5)
    assert column(batches, "id") == [1, 2, 3, 4]
    assert len(bad(batches)) == 1
    reader._thread.join(5.0)
    assert reader.done
    assert reader.due(0.0) == math.inf


def test_an_iterator_that_waits_does_not_hold_up_the_reader() -> None:
    go = threading.Event()

    def slow() -> Iterator[dict[str, object]]:
        yield {"id": 1}
        go.wait(10.0)
        yield {"id": 2}

    reader = iterator_source(slow(), PLAIN)
    assert column(waited(reader, 1), "id") == [1]
    assert reader.read(0.0) == []
    assert not reader.done
    go.set()
    assert column(waited(reader, 1), "id") == [2]


def test_an_endless_iterator_stops_when_it_is_closed() -> None:
    reader = iterator_source(({"id": number} for number in itertools.count()), PLAIN)
    assert column(waited(reader, 30_000), "id")[:3] == [0, 1, 2]
    reader.close()
    reader._thread.join(5.0)
    assert not reader._thread.is_alive()


def test_an_iterator_that_fails_is_told_after_its_items() -> None:
    def failing() -> Iterator[dict[str, object]]:
        yield {"id": 1}
        raise KeyError("gone")

    reader = iterator_source(failing(), PLAIN)
    assert column(waited(reader, 1), "id") == [1]
    reader._thread.join(5.0)
    assert not reader.done
    with pytest.raises(HeadgateError, match="KeyError"):
        reader.read(0.0)
    assert reader.done


def test_closed_before_it_began() -> None:
    reader = iterator_source([{"id": 1}], PLAIN)
    reader.close()
    assert reader.read(0.0) == []
    assert reader.done
