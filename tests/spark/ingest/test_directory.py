from __future__ import annotations

import gzip
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.spark.ingest.sources import open_source
from headgate.spark.ingest.sources.base import Batch

from .builders import PLAIN, bad, column, drained


def names(batches: list[Batch]) -> list[str]:
    """The files of which batches are, by their ids."""
    return [str(batch.batch).removeprefix("file ").rpartition(" ")[0] for batch in batches]


def test_files_come_in_the_order_of_their_names_and_end(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("id,name\n2,b\n")
    (tmp_path / "a.jsonl").write_text('{"id": 1, "name": "a"}\n')
    pq.write_table(pa.table({"id": pa.array([3], pa.int32()), "name": ["c"]}), tmp_path / "c.parquet")
    for ignored in (".d.jsonl", "_e.csv", "notes.txt"):
        (tmp_path / ignored).write_text("x\n")
    reader = open_source("directory, path=., end=true", PLAIN, tmp_path)
    batches = drained(reader)
    assert names(batches) == ["a.jsonl", "b.csv", "c.parquet"]
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
    assert names(reader.read(1.0)) == ["b.jsonl"]
    (inbox / "a.jsonl").write_text('{"id": 2}\n')
    assert names(reader.read(2.0)) == ["a.jsonl"]
    assert reader.read(3.0) == []
    assert not reader.done


def test_a_file_that_cannot_be_read_is_one_bad_tuple(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("this is not Parquet")
    (tmp_path / "b.jsonl").write_text('{"id": 1}\n{"id":\n')
    batches = drained(open_source("directory, path=., end=true", PLAIN, tmp_path))
    assert names(batches) == ["a.parquet", "b.jsonl"]
    assert [raw for raw, _ in bad(batches)] == ["a.parquet", '{"id":']
    assert column(batches, "id") == [1]


def test_an_empty_file_is_a_batch_without_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    batches = drained(open_source("directory, path=., end=true", PLAIN, tmp_path))
    assert [batch.rows.num_rows for batch in batches] == [0]
    assert names(batches) == ["a.csv"]


LINES = '{"id": 1, "name": "a"}\n{"id": 2, "name": "b"}\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", LINES),
        ("a.json", '[{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]'),
        ("a.json", '[\n  {\n    "id": 1,\n    "name": "a"\n  },\n  {"id": 2, "name": "b"}\n]\n'),
        ("a.ndjson", LINES),
        ("a.JSONL", LINES),
        ("a.jsonl.gz", LINES),
        ("a.json.gz", '[{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]'),
        ("a.csv.gz", "id,name\n1,a\n2,b\n"),
        ("2026-01-01T10.00.csv", "id,name\n1,a\n2,b\n"),
        ("a.tsv", "id\tname\n1\ta\n2\tb\n"),
    ],
)
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_format_by_its_suffix(tmp_path: Path, name: str, text: str, mark: bytes) -> None:
    content = mark + text.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    for source in ("directory, path=., end=true", f"constant, rate=10, file={name}"):
        batches = drained(open_source(source, PLAIN, tmp_path))
        assert (column(batches, "id"), column(batches, "name"), bad(batches)) == ([1, 2], ["a", "b"], [])


@pytest.mark.parametrize(
    ("text", "good", "lost"),
    [
        ('{"id": 1}\n{"id":\n{"id": 2}\n', [1, 2], ['{"id":']),
        ('{"id":\n{"id": 1}\n', [1], ['{"id":']),
        ('[{"id": 1}, {"id": }, {"id": 2}]', [1], ['{"id": }, {"id": 2}]']),
        ('[{"id": 1}, 7, {"id": 2}]', [1, 2], ["7"]),
        ('[{"id": 1} {"id": 2}]', [1], ['{"id": 2}]']),
        ('[{"id": 1}]\n[{"id": 2}]', [1], ['[{"id": 2}]']),
        ('[{"id": 1}, {"id": 2}', [1, 2], []),
        ('{\n  "id": 1\n}\n', [1], []),
        ("[]", [], []),
        ("", [], []),
    ],
)
def test_json_that_is_broken_loses_nothing(tmp_path: Path, text: str, good: list[int], lost: list[str]) -> None:
    (tmp_path / "a.json").write_text(text)
    batches = drained(open_source("directory, path=., end=true", PLAIN, tmp_path))
    assert column(batches, "id") == good
    assert [raw for raw, _ in bad(batches)] == lost


def test_a_compressed_file_that_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"id,name\n1,a\n")[:-6])
    batches = drained(open_source("directory, path=., end=true", PLAIN, tmp_path))
    assert [reason for _, reason in bad(batches)] == [
        "the file cannot be read: Compressed file ended before the end-of-stream marker was reached"
    ]


def test_files_that_are_not_read_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("a.csv", "b.xml", "notes.txt", ".hidden.xml"):
        (tmp_path / name).write_text("id\n1\n")
    reader = open_source("directory, path=.", PLAIN, tmp_path)
    assert reader.note == ""
    with caplog.at_level("WARNING", "headgate"):
        for now in range(3):
            reader.read(float(now))
    assert reader.note.startswith(
        f"2 files are not read: b.xml, notes.txt in '{tmp_path}'; names must end in .csv, .tsv"
    )
    assert [record.getMessage().count("b.xml, notes.txt") for record in caplog.records] == [1]
    for number in range(10):
        (tmp_path / f"{number}.log").touch()
    reader.read(9.0)
    assert "12 files are not read: b.xml, notes.txt, 0.log, 1.log, 2.log, … in" in reader.note
    assert open_source("directory, path=., pattern=*.csv", PLAIN, tmp_path).read(0.0)
