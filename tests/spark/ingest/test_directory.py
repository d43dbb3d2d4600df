from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.spark.ingest.sources import open_source

from .builders import PLAIN, bad, column, drained


def test_files_come_in_the_order_of_their_names_and_end(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("id,name\n2,b\n")
    (tmp_path / "a.jsonl").write_text('{"id": 1, "name": "a"}\n')
    pq.write_table(pa.table({"id": pa.array([3], pa.int32()), "name": ["c"]}), tmp_path / "c.parquet")
    for ignored in (".d.jsonl", "_e.csv", "notes.txt"):
        (tmp_path / ignored).write_text("x\n")
    reader = open_source("directory, path=., end=true", PLAIN, tmp_path)
    batches = drained(reader)
    assert [batch.batch for batch in batches] == ["a.jsonl", "b.csv", "c.parquet"]
    assert column(batches, "id") == [1, 2, 3]
    assert reader.done
    assert reader.due(0.0) == math.inf


def test_a_new_file_is_picked_up(tmp_path: Path) -> None:
    inbox = tmp_path / "in"
    inbox.mkdir()
    reader = open_source("directory, path=in, pattern=*.jsonl, poll=50ms", PLAIN, tmp_path)
    assert reader.read(0.0) == []
    assert reader.due(0.0) == 0.05
    (inbox / "x.csv").write_text("id\n1\n")
    (inbox / "b.jsonl").write_text('{"id": 1}\n')
    assert [batch.batch for batch in reader.read(1.0)] == ["b.jsonl"]
    (inbox / "a.jsonl").write_text('{"id": 2}\n')
    assert [batch.batch for batch in reader.read(2.0)] == ["a.jsonl"]
    assert reader.read(3.0) == []
    assert not reader.done


def test_a_file_that_cannot_be_read_is_one_bad_tuple(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("this is not Parquet")
    (tmp_path / "b.jsonl").write_text('{"id": 1}\n{"id":\n')
    batches = drained(open_source("directory, path=., end=true", PLAIN, tmp_path))
    assert [batch.batch for batch in batches] == ["a.parquet", "b.jsonl"]
    assert [raw for raw, _ in bad(batches)] == ["a.parquet", '{"id":']
    assert column(batches, "id") == [1]


def test_an_empty_file_is_a_batch_without_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    batches = drained(open_source("directory, path=., end=true", PLAIN, tmp_path))
    assert [(batch.batch, batch.rows.num_rows) for batch in batches] == [("a.csv", 0)]
