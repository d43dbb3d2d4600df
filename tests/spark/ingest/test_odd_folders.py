"""Folders as they are found: links that lead nowhere, odd names, files and folders that are away for a while."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from fastapi.responses import JSONResponse
from tests.spark.ingest.builders import PLAIN
from tests.spark.ingest.feed import SCHEMA, Feed, append, feed, few, place, text

from headgate.contained_files import open_file
from headgate.model import HeadgateError, Table
from headgate.server.event_stream import json_event
from headgate.spark.engine.table_files import TableFiles
from headgate.spark.ingest.listing import Files
from headgate.spark.ingest.sources import directory
from headgate.spark.ingest.sources.directory import CHANGED
from headgate.spark.store.log import files as log_files
from headgate.spark.store.log.stream_log import StreamLog

__all__ = ["feed", "few"]

ROW = '{"id": 1}\n'


@pytest.fixture(scope="module", autouse=True)
def running() -> None:
    """Nothing here needs Spark."""


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
    log = StreamLog.open(tmp_path / "log", PLAIN, SCHEMA)
    for number in range(10):
        log.append(SCHEMA.empty_table(), 1.0, f"push {number}")
        log.seal()
        log.drop_before(log.end)
    before = list(log.batches)
    log.close()
    assert before == list(StreamLog.open(tmp_path / "log", PLAIN, SCHEMA).batches)


def test_a_table_whose_path_ends_in_dots(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "rows.csv").write_text("id\n1\n")
    TableFiles(tmp_path / "aside")(Table(name="t", path=f"{tmp_path}/in/deep/..", within=f"{tmp_path}/in"))
    assert (next((tmp_path / "aside").iterdir()) / "files" / "rows.csv").exists()


def test_a_folder_may_go_and_come_back(feed: Feed) -> None:
    place(feed.folder / "a.jsonl", text(1))
    assert feed.look() == [1]
    for _ in range(2):
        feed.folder.rename(feed.root / "away")
        for _ in range(2):
            assert feed.look() == []
            assert feed.note == f"the folder '{feed.folder}' cannot be looked at: No such file or directory"
        (feed.root / "away").rename(feed.folder)
        assert feed.look() == []
        assert feed.note == ""
    place(feed.folder / "b.jsonl", text(2))
    assert feed.look() == [2]


def test_changes_are_seen_although_the_folder_was_away(feed: Feed) -> None:
    for name in "abcd":
        place(feed.folder / f"{name}.jsonl", text(ord(name)))
    feed.look()
    append(feed.folder / "d.jsonl", 1)
    feed.look()
    away = feed.folder.rename(feed.root / "away")
    feed.look()
    assert "cannot be looked at" in feed.note
    assert "1 file is not read: d.jsonl" in feed.note
    append(away / "a.jsonl", 2)
    place(away / "b.jsonl", text(3))
    (away / "c.jsonl").unlink()
    away.rename(feed.folder)
    assert feed.look() == [3]
    assert CHANGED in feed.note
    assert {"a.jsonl", "d.jsonl"} <= set(feed.note.replace(",", "").split())


def test_another_folder_may_take_the_place_of_the_first(feed: Feed) -> None:
    place(feed.folder / "a.jsonl", text(1))
    place(feed.folder / "b.jsonl", text(2))
    feed.look()
    feed.folder.rename(feed.root / "former")
    feed.folder.write_text("no folder")
    assert feed.look() == []
    assert feed.note.endswith("cannot be looked at: Not a directory")
    feed.folder.unlink()
    feed.folder.mkdir()
    place(feed.folder / "a.jsonl", text(1))
    place(feed.folder / "b.jsonl", text(3))
    assert feed.look() == [3]
    assert feed.note == ""


def test_a_source_with_an_end_waits_for_its_folder(tmp_path: Path) -> None:
    feed = Feed(tmp_path, ", end=true")
    feed.folder.rename(tmp_path / "away")
    for _ in range(3):
        assert feed.look() == []
    assert not feed.reader.done
    (tmp_path / "away").rename(feed.folder)
    place(feed.folder / "a.jsonl", text(1))
    assert feed.look() == [1]
    feed.look()
    assert feed.reader.done
    feed.end()


def test_a_folder_below_may_go_and_come_back(tmp_path: Path) -> None:
    feed = Feed(tmp_path, ", pattern=**/*.jsonl")
    (feed.folder / "x").mkdir()
    place(feed.folder / "x" / "a.jsonl", text(1))
    assert feed.look() == [1]
    (feed.folder / "x").rename(tmp_path / "away")
    assert feed.look() == []
    (tmp_path / "away").rename(feed.folder / "x")
    assert feed.look() == []
    (feed.folder / "x").rename(feed.folder / "y")
    assert feed.look() == [1]
    assert [str(batch.batch).split()[1] for batch in feed.batches] == ["y/a.jsonl"]
    feed.end()


@pytest.mark.parametrize("ends", [False, True])
def test_a_file_that_cannot_be_read_is_named_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    reason, feed = "Permission denied", Feed(tmp_path, ", end=true" if ends else "")

    def refuse(path: Path, within: Path | None = None) -> BinaryIO:
        if path.name == "b.jsonl":
            raise PermissionError(13, reason, str(path))
        return open_file(path, within)

    for number, name in enumerate("abc"):
        place(feed.folder / f"{name}.jsonl", text(number))
    with monkeypatch.context() as patch:
        patch.setattr(directory, "open_file", refuse)
        assert feed.look() == [0, 2]
        assert not feed.reader.done
        assert feed.look() == []
        assert feed.note == f"1 file is not read: b.jsonl in '{feed.folder}'; {reason}"
    assert feed.reader.done == ends
    if not ends:
        assert feed.look() == [1]
        assert feed.note == ""
    feed.end()


@pytest.mark.parametrize("how", ["removed", "renamed", "a folder", "a pipe", "a link to nothing", "replaced"])
def test_what_happens_between_the_look_and_the_reading(feed: Feed, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    file, changed = feed.folder / "a.jsonl", list[str]()
    place(file, text(1))

    def change_first(path: Path, within: Path | None = None) -> BinaryIO:
        if not changed:
            changed.append(how)
            file.unlink()
            match how:
                case "renamed":
                    place(feed.folder / "b.jsonl", text(1))
                case "a folder":
                    file.mkdir()
                case "a pipe":
                    os.mkfifo(file)
                case "a link to nothing":
                    file.symlink_to("none")
                case "replaced":
                    place(file, text(2))
        return open_file(path, within)

    monkeypatch.setattr(directory, "open_file", change_first)
    assert feed.look() == ([2] if how == "replaced" else [])
    assert feed.look() == ([1] if how == "renamed" else [])
    assert feed.note == ""
    if file.is_dir():
        file.rmdir()
    place(file, text(3))
    assert feed.look() == [3]


def test_long_files_wait_for_the_next_reading(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "MOST_BYTES", 1)
    for number in range(4):
        place(feed.folder / f"{number}.jsonl", text(number))
    assert feed.look() == [0]
    assert feed.reader.due(5.0) == 5.0
    place(feed.folder / "0.jsonl", text(7))
    place(feed.folder / "1.jsonl", text(8))
    (feed.folder / "2.jsonl").unlink()
    assert [feed.look() for _ in range(5)] == [[8], [3], [7], [], []]
    assert feed.reader.due(5.0) > 5.0
    feed.restart()
    assert [feed.look() for _ in range(4)] == [[], [], [], []]
    assert feed.note == ""


def test_links_are_files_with_the_contents_of_what_they_lead_to(feed: Feed) -> None:
    for number in (1, 2):
        place(feed.root / f"{number}.jsonl", text(number))
    link = feed.folder / "newest.jsonl"
    link.symlink_to("../1.jsonl")
    assert feed.look() == [1]
    (feed.folder / ".next").symlink_to("../2.jsonl")
    (feed.folder / ".next").replace(link)
    assert feed.look() == [2]
    feed.restart()
    assert feed.look() == []
    append(feed.root / "2.jsonl", 3)
    assert feed.look() == []
    assert feed.says_changed("newest.jsonl")
