from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.model import HeadgateError, Stream
from headgate.spark.ingest.parsing.records import schema_of
from headgate.spark.ingest.sources import open_source
from headgate.spark.ingest.sources.base import MOST_ROWS

from .builders import PLAIN, STREAM, bad, column, drained

BEGAN = 1_700_000_000.0


@pytest.mark.parametrize(
    "text", ["poisson, rate=500", "constant, rate=500", "onoff, rate=500", "steps, rates=[100, 900], every=1s"]
)
def test_a_feeder_feeds_at_its_rate_with_moments_of_arrival(text: str) -> None:
    batches = drained(open_source(text, STREAM, Path(), began=BEGAN), BEGAN, BEGAN + 20.0)
    moments = [moment.timestamp() for moment in column(batches, "ts")]
    assert len(moments) == pytest.approx(10_000, rel=0.35)
    assert moments == sorted(moments)
    assert moments[0] >= BEGAN
    assert all(batch.rows.schema == schema_of(STREAM) for batch in batches)


def test_values_are_as_promised() -> None:
    batches = drained(open_source("constant, rate=1000, rows=5000", STREAM, Path()))
    ids = set(column(batches, "id"))
    assert ids <= set(range(1000))
    assert len(ids) > 950
    assert 0.0 <= min(column(batches, "temp")) < 1.0 < 99.0 < max(column(batches, "temp")) < 100.0
    assert len(set(column(batches, "name"))) == 5
    assert set(column(batches, "ok")) == {True, False}


def test_a_column_can_be_set() -> None:
    text = "constant, rate=1000, rows=2000, id=[5, 6], temp=[-1, 0], name=[a, b], ok=1"
    batches = drained(open_source(text, STREAM, Path()))
    assert set(column(batches, "id")) == {5, 6}
    assert -1.0 <= min(column(batches, "temp")) <= max(column(batches, "temp")) < 0.0
    assert set(column(batches, "name")) == {"a", "b"}
    assert set(column(batches, "ok")) == {True}


def test_a_column_named_like_a_setting_is_left_alone() -> None:
    stream = Stream(name="s", schema=(("rate", "double"), ("rows", "int"), ("b", "tinyint"), ("d", "date")))
    rows = drained(open_source("constant, rate=100, rows=3", stream, Path()))[0].rows
    assert rows["rate"].null_count == rows["b"].null_count == rows["d"].null_count == 0


def test_the_same_seed_gives_the_same_rows_however_they_are_read() -> None:
    def rows(seed: int, step: float) -> pa.Table:
        reader = open_source("poisson, rate=700, rows=3000", STREAM, Path(), seed)
        batches = [batch for number in range(math.ceil(10 / step)) for batch in reader.read(number * step)]
        return pa.concat_tables([batch.rows for batch in batches])

    assert rows(1, 0.013).equals(rows(1, 3.0))
    assert not rows(1, 1.0).equals(rows(2, 1.0))


def test_it_ends_after_so_many_rows() -> None:
    reader = open_source("constant, rate=100, batch=7, rows=20", PLAIN, Path())
    assert len(column(drained(reader), "id")) == 20
    assert reader.done
    assert reader.due(5.0) == math.inf
    assert reader.read(50.0) == []


@pytest.mark.parametrize("began", [0.0, BEGAN])
def test_arrivals_of_a_tick_are_one_batch(began: float) -> None:
    reader = open_source("constant, rate=1000, tick=100ms, rows=1000", PLAIN, Path(), began=began)
    sizes = [batch.rows.num_rows for batch in drained(reader, began, began + 2.0)]
    assert len(sizes) <= 11
    assert max(sizes) <= 101


def test_nothing_comes_before_it_is_due_and_something_when_it_is() -> None:
    for tick in ("0", "1ms", "20ms", "70ms"):
        reader = open_source(f"poisson, rate=30, tick={tick}, rows=100", PLAIN, Path(), began=BEGAN)
        now = BEGAN
        while not reader.done:
            now = reader.due(now)
            assert reader.read(now - 1e-4) == []
            assert len(reader.read(now)) == 1


def test_a_feeder_far_behind_catches_up_in_parts() -> None:
    reader = open_source("constant, rate=100000", PLAIN, Path())
    assert [batch.rows.num_rows for batch in reader.read(10.0)] == [MOST_ROWS]
    assert reader.due(10.0) < 10.0


def write(path: Path) -> Path:
    table = pa.table({"id": list(range(5)), "name": [f"n{number}" for number in range(5)]})
    match path.suffix:
        case ".parquet":
            pq.write_table(table, path)
        case ".csv":
            path.write_text("name,id\n" + "".join(f"n{number},{number}\n" for number in range(5)))
        case _:
            path.write_text("".join(f'{{"id": {number}, "name": "n{number}"}}\n' for number in range(5)))
    return path


@pytest.mark.parametrize("name", ["d.csv", "d.jsonl", "d.parquet"])
def test_rows_of_a_file_in_order_until_it_ends(tmp_path: Path, name: str) -> None:
    write(tmp_path / name)
    reader = open_source(f"constant, rate=10, file={name}", PLAIN, tmp_path)
    batches = drained(reader)
    assert column(batches, "id") == [0, 1, 2, 3, 4]
    assert column(batches, "name") == ["n0", "n1", "n2", "n3", "n4"]
    assert reader.done
    reader.close()


def test_a_file_repeated(tmp_path: Path) -> None:
    write(tmp_path / "d.csv")
    reader = open_source("constant, rate=10, file=d.csv, repeat=true, rows=12", STREAM, tmp_path, began=BEGAN)
    batches = drained(reader, BEGAN, BEGAN + 10)
    assert column(batches, "id") == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]
    assert [round(moment.timestamp() - BEGAN, 3) for moment in column(batches, "ts")][-1] == 1.1
    reader.close()


def test_an_empty_file_repeated_ends(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,name\n")
    reader = open_source("constant, rate=10, file=d.csv, repeat=true", PLAIN, tmp_path)
    assert drained(reader) == []
    assert reader.done


def test_bad_tuples_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(b"id,name\n1,a\nx,b\n2\n1_0,c\n3,d,e\n4,\xff\n5.0,\n")
    reader = open_source("constant, rate=10, file=d.csv", PLAIN, tmp_path)
    batches = drained(reader)
    assert column(batches, "id") == [1, 5]
    assert column(batches, "name") == ["a", None]
    assert len(bad(batches)) == 5


def test_a_file_of_nothing_but_bad_tuples(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text("x\n\ny\n")
    reader = open_source("constant, rate=10, file=d.jsonl", PLAIN, tmp_path)
    assert [raw for raw, _ in bad(drained(reader))] == ["x", "y"]
    assert reader.done


def test_times_of_a_file_stay(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"id": 1, "ts": 5}\n{"id": 2}\n')
    reader = open_source("constant, rate=10, file=d.jsonl", STREAM, tmp_path, began=BEGAN)
    times = [moment.timestamp() for moment in column(drained(reader, BEGAN, BEGAN + 5), "ts")]
    assert times == [5.0, pytest.approx(BEGAN + 0.1)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("poison, rate=5", "did you mean 'poisson'?"),
        ("poisson, rat=5", "did you mean 'rate' or 'repeat'?"),
        ("poisson", "needs rate"),
        ("poisson, rate=5, rows=1.5", "whole number"),
        ("poisson, rate=5, tick=20", "no unit"),
        ("poisson, rate=5, file=none.csv", "no file"),
        ("poisson, rate=5, repeat=true", "repeat"),
        ("poisson, rate=5, id=[9, 1]", "range"),
        ("poisson, rate=5, ts=[9, 1]", "takes no setting"),
        ("iterator", "iterator_source"),
        ("directory", "needs path"),
        ("directory, path=nowhere", "no directory"),
        ("directory, path=., pattern=*.txt", "format"),
        ("directory, path=., pattern=../*", "leaves"),
        ("directory, path=., end=yes", "true or false"),
        ("directory, path=., patern=*", "did you mean 'pattern'"),
        ("socket", "needs port"),
        ("socket, port=70000", "65535"),
    ],
)
def test_wrong_texts(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(HeadgateError) as caught:
        open_source(text, STREAM, tmp_path)
    assert said in str(caught.value)
    assert str(caught.value).startswith("source of 's': ")
