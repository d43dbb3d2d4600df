"""Folders as they are found: links that lead nowhere, odd names, files that are away for a while."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from fastapi.responses import JSONResponse

from headgate.model import HeadgateError, Stream, Table
from headgate.server.event_stream import json_event
from headgate.spark.engine.table_files import TableFiles
from headgate.spark.ingest.listing import Files
from headgate.spark.ingest.sources import open_source
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.log import files as log_files
from headgate.spark.store.log.stream_log import StreamLog
from headgate.spark.store.own_files import check_table_files, check_table_path

STREAM = Stream(name="p", schema=(("id", "bigint"),))
SCHEMA = pa.schema([("id", pa.int64())])
ROW = '{"id": 1}\n'
RESULT = "part-000000000017-0000.jsonl"


def nested(folder: Path, depth: int) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)


def remove(folder: Path) -> None:
    """Python's own way is not deep enough."""
    subprocess.run(["rm", "-rf", str(folder)], check=True)


class Feed:
    """A `directory` source and the log of its stream."""

    def __init__(self, root: Path, options: str = "") -> None:
        self.root, self.options = root, options
        (root / "in").mkdir(exist_ok=True)
        self.begin()

    def begin(self) -> None:
        self.log = StreamLog.open(self.root / "log", STREAM, SCHEMA)
        self.reader = open_source(f"directory, path=in{self.options}", STREAM, self.root)
        self.reader.resume(self.log)

    def look(self) -> list[int]:
        before = self.log.end
        for batch in self.reader.read(0.0):
            self.log.append(batch.rows, 1.0, batch.batch, batch.bad)
        found: list[int] = self.log.read(before, self.log.end)["id"].to_pylist()
        return found


@pytest.mark.parametrize("target", ["circle.jsonl", "a.jsonl/x", "x" * 300])
@pytest.mark.parametrize("within", [False, True])
def test_a_link_that_leads_nowhere_does_not_hide_other_files(tmp_path: Path, target: str, within: bool) -> None:
    (tmp_path / "a.jsonl").write_text(ROW)
    (tmp_path / "circle.jsonl").symlink_to(target)
    assert list(Files(tmp_path, "*", tmp_path if within else None).listed().files) == ["a.jsonl"]


def test_a_table_of_a_folder_with_the_data_directory_in_it(tmp_path: Path) -> None:
    (tmp_path / "in" / "data" / "aside").mkdir(parents=True)
    (tmp_path / "in" / "rows.csv").write_text("id\n1\n")
    table = Table(name="t", path=f"{tmp_path}/in", within=f"{tmp_path}/in")
    with pytest.raises(HeadgateError, match="the data directory is in it"):
        TableFiles(tmp_path / "in" / "data" / "aside")(table)
    assert not list((tmp_path / "in" / "data" / "aside").iterdir())


def test_a_table_that_leads_out_is_refused_before_it_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to("/")
    walked: list[object] = []

    def walk(top: object, **more: object) -> Iterator[None]:
        walked.append(top)
        return iter(())

    monkeypatch.setattr(os, "walk", walk)
    with pytest.raises(HeadgateError):
        TableFiles(tmp_path / "aside")(Table(name="t", path=f"{tmp_path}/in/link", within=f"{tmp_path}/in"))
    assert walked == []


def test_a_broken_file_whose_name_is_no_text_is_a_bad_tuple(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    with open(os.fsencode(tmp_path) + b"/in/\xff.parquet", "wb") as file:
        file.write(b"no parquet")
    assert feed.look() == []
    assert len(feed.log.batches) == 1


def test_the_note_can_be_told_whatever_names_files_have(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    with open(os.fsencode(tmp_path) + b"/in/\xff.txt", "wb"):
        pass
    feed.look()
    json_event("state", {"note": feed.reader.note})
    JSONResponse({"source_note": feed.reader.note})  # neither raises


def test_folders_in_folders_in_folders(tmp_path: Path) -> None:
    nested(tmp_path, 1000)
    (tmp_path / "a.jsonl").write_text(ROW)
    try:
        assert list(Files(tmp_path, "**/*").listed().files) == ["a.jsonl"]
    finally:
        remove(tmp_path / "d")


def test_a_table_with_folders_in_folders_in_folders(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    nested(tmp_path / "in", 1200)
    try:
        with pytest.raises(HeadgateError):
            TableFiles(tmp_path / "aside")(Table(name="t", path=f"{tmp_path}/in", within=f"{tmp_path}/in"))
        assert not list((tmp_path / "aside").iterdir())
    finally:
        remove(tmp_path / "in")


@pytest.mark.parametrize("how", ["a folder below", "an empty place of mounting"])
def test_a_folder_that_was_away_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setattr(log_files, "REMEMBERED", 3)
    below = how == "a folder below"
    feed = Feed(tmp_path, ", pattern=**/*.jsonl")
    folder = tmp_path / "in" / "x" if below else tmp_path / "in"
    folder.mkdir(exist_ok=True)
    for number in range(6):
        (folder / f"{number}.jsonl").write_text(f'{{"id": {number}}}\n')
    assert len(feed.look()) == 6
    folder.rename(tmp_path / "away")
    if not below:
        folder.mkdir()
    assert feed.look() == []
    feed.log.seal()
    feed.log.drop_before(feed.log.end)
    if not below:
        folder.rmdir()
    (tmp_path / "away").rename(folder)
    assert feed.look() == []


def test_a_file_that_is_away_while_it_is_appended_to(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    file = tmp_path / "in" / "a.jsonl"
    file.write_text(ROW)
    assert feed.look() == [1]
    file.rename(tmp_path / "a.jsonl")
    feed.look()
    (tmp_path / "a.jsonl").write_text(ROW + '{"id": 2}\n')
    (tmp_path / "a.jsonl").rename(file)
    assert feed.look() == []  # as after a restart, and named in the note


def test_files_that_are_written_into_a_hidden_folder_first(tmp_path: Path) -> None:
    feed = Feed(tmp_path, ", pattern=**/*.jsonl")
    (tmp_path / "in" / "_temporary" / "0").mkdir(parents=True)
    file = tmp_path / "in" / "_temporary" / "0" / "part-00000.jsonl"
    file.write_text(ROW)
    came = feed.look()
    file.rename(tmp_path / "in" / "part-00000.jsonl")
    assert came + feed.look() == [1]


def test_two_names_that_are_spelled_alike(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    for name in (b"\xff.jsonl", b"\\xff.jsonl"):
        with open(os.fsencode(tmp_path) + b"/in/" + name, "w") as file:
            file.write(ROW)
        assert feed.look() == [1]


def test_a_file_with_a_header_alone_is_replaced_while_nobody_looks(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    (tmp_path / "in" / "a.csv").write_text("id\n")
    assert feed.look() == []
    feed.log.close()
    (tmp_path / "in" / ".a.csv").write_text("id\n1\n")
    (tmp_path / "in" / ".a.csv").replace(tmp_path / "in" / "a.csv")
    feed.begin()
    assert feed.look() == [1]


def test_the_log_forgets_the_same_at_once_and_after_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_files, "REMEMBERED", 3)
    log = StreamLog.open(tmp_path / "log", STREAM, SCHEMA)
    for number in range(10):
        log.append(SCHEMA.empty_table(), 1.0, f"push {number}")
        log.seal()
        log.drop_before(log.end)
    before = list(log.batches)
    log.close()
    assert before == list(StreamLog.open(tmp_path / "log", STREAM, SCHEMA).batches)


@pytest.fixture(scope="module", autouse=True)
def running() -> None:
    """Nothing here needs Spark."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with DataDirectory(tmp_path / "data") as directory:
        results = directory.result("q")
    results.mkdir()
    (results / "schema.arrow").touch()
    (results / RESULT).write_text(ROW)
    directory.letters("s").write_text(ROW)
    (tmp_path / "work").mkdir()
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("name", "target", "pattern"),
    [
        ("letters", "deadletters", "*/*.jsonl"),
        ("letters.jsonl", "deadletters/s.jsonl", "*.jsonl"),
        ("rows.jsonl", f"results/q/{RESULT}", "*.jsonl"),
    ],
)
def test_a_link_in_a_folder_to_headgates_files_is_no_source(data: Path, name: str, target: str, pattern: str) -> None:
    (data.parent / "work" / name).symlink_to(data / target)
    with pytest.raises(HeadgateError):
        Files(data.parent / "work", pattern).listed()


@pytest.mark.parametrize(
    "path",
    ["file://{}/data/results/q", "file:{}/data/results/q", "{}/data/results/{{q,r}}", "{}/data/results/empty"],
)
def test_results_are_no_table(data: Path, path: str) -> None:
    (data / "results" / "empty").mkdir()
    with pytest.raises(HeadgateError):
        check_table_path(path.format(data.parent))


def test_files_that_links_lead_to_are_no_table(data: Path) -> None:
    (data.parent / "work" / "day=1").symlink_to(data / "results" / "q")
    (data.parent / "work" / "rows.jsonl").symlink_to(data / "results" / "q" / RESULT)
    for found in (f"day=1/{RESULT}", "rows.jsonl"):  # as Spark names them
        with pytest.raises(HeadgateError):
            check_table_files([(data.parent / "work" / found).as_uri()])


def test_a_table_whose_path_ends_in_dots(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "rows.csv").write_text("id\n1\n")
    TableFiles(tmp_path / "aside")(Table(name="t", path=f"{tmp_path}/in/deep/..", within=f"{tmp_path}/in"))
    assert (next((tmp_path / "aside").iterdir()) / "files" / "rows.csv").exists()
