"""A directory source knows its files by their contents: what was read does not come again, what replaces it does."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.ingest.builders import PLAIN
from tests.spark.ingest.feed import SCHEMA, Feed, append, feed, few, place, text
from tests.spark.store.builders import scratch

from headgate.spark.ingest.sources import directory
from headgate.spark.ingest.sources.directory import CHANGED, UNKNOWN, Contents, batch_id
from headgate.spark.store.log import files as log_files
from headgate.spark.store.log.stream_log import StreamLog

__all__ = ["feed", "few"]


@pytest.fixture(scope="module", autouse=True)
def running() -> None:
    """Nothing here needs Spark."""


def test_a_file_that_replaces_another_is_a_new_batch(feed: Feed) -> None:
    file = feed.folder / "a.jsonl"
    for ids in ([1], [2], [3, 4], [], [5]):  # of the same size, a longer one, an empty one
        place(file, text(*ids))
        assert feed.look() == ids
        assert feed.look() == []
    assert feed.ids() == [1, 2, 3, 4, 5]
    assert feed.note == ""


def test_a_file_that_replaces_another_may_begin_as_that_did(feed: Feed) -> None:
    place(feed.folder / "a.jsonl", text(1))
    assert feed.look() == [1]
    place(feed.folder / "a.jsonl", text(1, 2))
    assert feed.look() == [1, 2]


def test_a_file_with_the_same_contents_is_no_new_batch(feed: Feed) -> None:
    file = feed.folder / "a.jsonl"
    place(file, text(1))
    assert feed.look() == [1]
    for change in (
        lambda: place(file, text(1)),
        lambda: file.write_text(text(1)),
        lambda: os.utime(file, (1, 1)),
        lambda: file.chmod(0o600),
        lambda: os.link(file, feed.folder / ".other"),
        lambda: (file.rename(feed.root / "away"), (feed.root / "away").rename(file)),
    ):
        change()
        assert feed.look() == []
        assert feed.batches == []
    assert feed.note == ""


def test_contents_that_a_name_has_had_do_not_come_again(feed: Feed) -> None:
    for ids in ([1], [2], [1], [2]):
        place(feed.folder / "a.jsonl", text(*ids))
        feed.look()
    assert feed.ids() == [1, 2]
    feed.restart(lambda: place(feed.folder / "a.jsonl", text(1)))
    assert feed.look() == []
    assert feed.note == ""


def test_the_same_contents_under_another_name_are_another_batch(feed: Feed) -> None:
    for name in ("a.jsonl", "b.jsonl", "a.ndjson"):
        place(feed.folder / name, text(1))
        assert feed.look() == [1]
    (feed.folder / "b.jsonl").rename(feed.folder / "c.jsonl")
    assert feed.look() == [1]
    assert [batch.batch for batch in feed.batches] == [batch_id("c.jsonl", Contents.of(text(1).encode()))]


CHANGES: dict[str, Callable[[Path], object]] = {
    "appended": lambda file: append(file, 7),
    "rewritten": lambda file: file.write_text(text(7, 8, 9)),
    "rewritten in the same size": lambda file: file.write_text(text(7, 8)),
    "cut": lambda file: os.truncate(file, 3),
    "emptied": lambda file: os.truncate(file, 0),
    "no rows any more": lambda file: file.write_bytes(b"\0" * 100),
}


@pytest.mark.parametrize("how", CHANGES)
def test_a_file_that_changes_after_it_was_read_is_left_alone_and_named(
    feed: Feed, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    place(feed.folder / "a.jsonl", text(1, 2))
    place(feed.folder / "b.jsonl", text(3))
    assert feed.look() == [1, 2, 3]
    CHANGES[how](feed.folder / "a.jsonl")
    with caplog.at_level("WARNING", "headgate"):
        for _ in range(3):
            assert feed.look() == []
            assert feed.says_changed("a.jsonl")
    assert [record.getMessage().count("a.jsonl") for record in caplog.records] == [1]
    append(feed.folder / "a.jsonl", 10)
    append(feed.folder / "b.jsonl", 11)
    assert feed.look() == []
    assert feed.says_changed("a.jsonl", "b.jsonl")


@pytest.mark.parametrize(("how", "restarts"), [*((how, False) for how in CHANGES), ("appended", True)])
def test_a_file_that_was_changed_is_no_more_named_once_it_is_as_before_or_gone(
    feed: Feed, how: str, restarts: bool
) -> None:
    file = feed.folder / "a.jsonl"
    place(file, text(1, 2))
    feed.look()
    for end in (
        lambda: file.write_text(text(1, 2)),
        lambda: place(file, text(1, 2)),
        lambda: place(file, text(3)),
        file.unlink,
    ):
        CHANGES[how](file)
        feed.look()
        if restarts:
            feed.restart()
            feed.look()
        assert feed.says_changed("a.jsonl")
        end()
        feed.look()
        assert feed.note == ""
    assert feed.ids() == [1, 2, 3]


def test_a_file_that_was_changed_may_be_replaced(feed: Feed) -> None:
    file = feed.folder / "a.jsonl"
    place(file, text(1))
    feed.look()
    append(file, 2)
    feed.look()
    place(file, text(1, 2))
    assert feed.look() == [1, 2]
    assert feed.note == ""
    append(file, 3)
    assert feed.look() == []
    assert feed.says_changed("a.jsonl")


class Sealed(io.FileIO):
    """A file that may be looked at, and not read."""

    def read(self, size: int | None = -1) -> bytes:
        raise AssertionError("it is read")


def test_a_file_that_has_grown_is_not_read(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    place(feed.folder / "a.jsonl", text(1))
    feed.look()
    monkeypatch.setattr(directory, "open_file", lambda path, within: Sealed(path))
    for number in (2, 3):
        append(feed.folder / "a.jsonl", number)
        assert feed.look() == []
        assert feed.says_changed("a.jsonl")


def test_a_source_with_an_end_ends_although_a_file_has_changed(tmp_path: Path) -> None:
    feed = Feed(tmp_path, ", end=true")
    place(feed.folder / "a.jsonl", text(1))
    assert feed.look() == [1]
    append(feed.folder / "a.jsonl", 2)
    for _ in range(3):
        assert feed.look() == []
    assert feed.reader.done
    assert feed.reader.due(0.0) == math.inf
    assert feed.says_changed("a.jsonl")
    feed.end()


def test_an_empty_file_may_get_contents_later(feed: Feed) -> None:
    for name, later in (("a.jsonl", append), ("b.jsonl", lambda file, ids: place(file, text(ids)))):
        file = feed.folder / name
        file.touch()
        assert feed.look() == []
        assert len(feed.batches) == 1
        later(file, 1)
        assert feed.look() == [1]
        append(file, 2)
        assert feed.look() == []
        assert feed.says_changed(name)
        file.unlink()


def test_an_empty_file_may_get_contents_while_nobody_looks(feed: Feed) -> None:
    (feed.folder / "a.jsonl").touch()
    feed.look()
    feed.restart()
    assert feed.look() == []
    feed.restart(lambda: append(feed.folder / "a.jsonl", 1))
    assert feed.look() == [1]
    feed.restart(lambda: append(feed.folder / "a.jsonl", 2))
    assert feed.look() == []
    assert feed.says_changed("a.jsonl")


def test_files_are_not_read_twice_after_a_restart(feed: Feed) -> None:
    for number in range(5):
        place(feed.folder / f"{number}.jsonl", text(number))
    assert feed.look() == [0, 1, 2, 3, 4]
    for _ in range(2):
        feed.restart()
        assert feed.look() == []
        assert feed.batches == []
    place(feed.folder / "2.jsonl", text(7))
    place(feed.folder / "5.jsonl", text(5))
    assert feed.look() == [7, 5]
    assert feed.note == ""


def test_what_happens_to_a_file_while_nobody_looks(feed: Feed) -> None:
    for name in "abcdef":
        place(feed.folder / f"{name}.jsonl", text(ord(name)))
    feed.look()

    def change() -> None:
        append(feed.folder / "a.jsonl", 1)
        place(feed.folder / "b.jsonl", text(2))
        (feed.folder / "c.jsonl").write_text(text(3))
        (feed.folder / "d.jsonl").unlink()
        place(feed.folder / "e.jsonl", text(ord("e")))
        place(feed.folder / "g.jsonl", text(4))

    feed.restart(change)
    assert feed.look() == [2, 3, 4]
    assert feed.says_changed("a.jsonl")
    place(feed.folder / "a.jsonl", text(5))
    assert feed.look() == [5]
    assert feed.note == ""


def test_a_file_that_was_changed_stays_left_alone_after_restarts(feed: Feed) -> None:
    place(feed.folder / "a.jsonl", text(1))
    feed.look()
    append(feed.folder / "a.jsonl", 2)
    for more in (3, 4):
        assert feed.look() == []
        assert feed.says_changed("a.jsonl")
        feed.restart()
        assert feed.look() == []
        assert feed.says_changed("a.jsonl")
        append(feed.folder / "a.jsonl", more)
    place(feed.folder / "a.jsonl", text(9))
    assert feed.look() == [9]


def test_a_file_whose_batch_was_not_appended_before_a_crash_comes_again(feed: Feed) -> None:
    place(feed.folder / "a.jsonl", text(1))
    place(feed.folder / "b.jsonl", text(2))
    first = feed.reader.read(0.0)[0]
    feed.log.append(first.rows, 1.0, first.batch)
    feed.restart()
    assert feed.look() == [2]


def test_all_former_contents_of_a_name_are_known_after_a_restart(feed: Feed) -> None:
    file = feed.folder / "a.jsonl"
    for ids in ([1], [2, 3], [4]):
        place(file, text(*ids))
        feed.look()
    for ids in ([1], [2, 3], [4]):
        feed.restart(lambda ids=ids: place(file, text(*ids)))  # type: ignore[misc]
        assert feed.look() == []
        assert feed.note == ""
        feed.restart(lambda ids=ids: place(file, text(*ids, 9)))  # type: ignore[misc]
        assert feed.look() == []
        assert feed.says_changed("a.jsonl")


@pytest.mark.parametrize("looked", [True, False])
def test_files_are_not_read_twice_when_the_log_has_dropped_them(feed: Feed, few: int, looked: bool) -> None:
    names = [f"{number}.jsonl" for number in range(3 * few)]
    for number, name in enumerate(names):
        place(feed.folder / name, text(number))
    feed.look()
    for _ in range(3):
        feed.add_others(3 * few)
        feed.drop()
        feed.restart()
        if looked:
            assert feed.look() == []
            assert feed.batches == []
    assert feed.look() == []
    append(feed.folder / "0.jsonl", 7)
    feed.restart()
    assert feed.look() == []
    assert feed.says_changed("0.jsonl")


def test_former_contents_are_remembered_as_long_as_a_file_has_that_name(feed: Feed, few: int) -> None:
    for number in range(3 * few):
        place(feed.folder / "a.jsonl", text(number))
        feed.look()
    feed.add_others(3 * few)
    feed.drop()
    place(feed.folder / "a.jsonl", text(0))
    assert feed.look() == []
    feed.restart(lambda: place(feed.folder / "a.jsonl", text(1)))
    assert feed.look() == []


def test_a_log_remembers_files_while_no_source_is_open(feed: Feed, few: int) -> None:
    for number in range(3 * few):
        place(feed.folder / f"{number}.jsonl", text(number))
    feed.look()
    feed.end()
    feed.log = StreamLog.open(feed.root / "log", PLAIN, SCHEMA)
    feed.add_others(3 * few)
    feed.drop()
    feed.restart()
    assert feed.look() == []


def test_a_log_forgets_files_that_are_gone(feed: Feed, few: int) -> None:
    for number in range(5 * few):
        place(feed.folder / f"{number}.jsonl", text(number))
        feed.look()
        if number:
            (feed.folder / f"{number}.jsonl").unlink()
    feed.look()
    feed.drop()
    feed.restart()
    remembered = [batch.split()[1] for batch in feed.log.batches]
    assert remembered == ["0.jsonl", *(f"{number}.jsonl" for number in range(5 * few)[-few:])]


def test_files_are_remembered_while_their_folder_is_away(feed: Feed, few: int) -> None:
    for number in range(3 * few):
        place(feed.folder / f"{number}.jsonl", text(number))
    feed.look()
    feed.folder.rename(feed.root / "away")
    feed.look()
    feed.add_others(3 * few)
    feed.drop()
    (feed.root / "away").rename(feed.folder)
    assert feed.look() == []
    feed.restart()
    assert feed.look() == []


def test_files_of_former_versions_are_known_by_their_names_alone(feed: Feed, few: int) -> None:
    names = ["a.jsonl", "b.csv.gz", "deep/c.jsonl", "gone.jsonl", "file d.jsonl"]
    for name in names:
        feed.log.append(SCHEMA.empty_table(), 1.0, name)
    (feed.folder / "deep").mkdir()
    for number, name in enumerate(["a.jsonl", "deep/c.jsonl", "file d.jsonl", "new.jsonl"]):
        place(feed.folder / name, text(number))
    feed.options = ", pattern=**/*"
    feed.restart()
    assert feed.look() == [3]
    batches = list(feed.log.batches)
    assert [batch for batch in batches if batch.startswith("file ")][-1].startswith("file new.jsonl ")
    feed.add_others(3 * few)
    feed.drop()
    feed.restart()
    assert not set(names[:3]) & set(feed.log.batches)
    assert feed.look() == []
    append(feed.folder / "a.jsonl", 8)
    place(feed.folder / "deep" / "c.jsonl", text(9))
    assert feed.look() == [9]
    assert feed.says_changed("a.jsonl")


def test_a_file_of_a_former_version_is_recognized_once(feed: Feed) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        feed.log.append(SCHEMA.empty_table(), 1.0, name)
        place(feed.folder / name, text(1))
    feed.restart()
    assert feed.look() == []
    place(feed.folder / "a.jsonl", text(2))
    (feed.folder / "b.jsonl").unlink()
    assert feed.look() == [2]
    place(feed.folder / "b.jsonl", text(3))
    assert feed.look() == [3]
    feed.restart(lambda: place(feed.folder / "a.jsonl", text(4)))
    assert feed.look() == [4]


def test_ids_that_programs_give_are_no_files(feed: Feed) -> None:
    feed.log.append(SCHEMA.empty_table(), 1.0, "push 1.jsonl")
    for number, name in enumerate(("1.jsonl", "push 1.jsonl")):
        place(feed.folder / name, text(number))
    feed.restart()
    assert feed.look() == [0, 1]


NAMES = [
    b"\xff\xfe.jsonl", b"caf\xe9 5-00.jsonl", "é.jsonl".encode(), b"a b.jsonl", b"a\nb.jsonl", b"a'\"b.jsonl",
    b"file x 3-0123456789abcdef0123456789abcdef.jsonl", b"push 1.jsonl", b"a\\xffb.jsonl", b"\\.jsonl",
    b"x" * 248 + b".json",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_known_again(feed: Feed, few: int, name: bytes) -> None:
    file = feed.folder / os.fsdecode(name)
    with file.open("w") as opened:
        opened.write(text(1))
    assert feed.look() == [1]
    feed.restart()
    assert feed.look() == []
    feed.add_others(3 * few)
    feed.drop()
    feed.restart()
    assert feed.look() == []
    append(file, 2)
    assert feed.look() == []
    assert CHANGED in feed.note
    feed.restart()
    assert feed.look() == []
    assert CHANGED in feed.note


def test_names_that_are_no_text_are_told_apart(feed: Feed) -> None:
    for number, name in enumerate((b"\xff.jsonl", b"\xfe.jsonl", b"\xc3\xbf.jsonl")):
        with open(os.path.join(os.fsencode(feed.folder), name), "w") as file:
            file.write(text(7))
        assert feed.look() == [7], number
    feed.restart()
    assert feed.look() == []


def test_a_file_with_an_unknown_suffix_does_not_hide_one_that_has_changed(feed: Feed) -> None:
    place(feed.folder / "a.jsonl", text(1))
    place(feed.folder / "b.txt", "x")
    feed.look()
    append(feed.folder / "a.jsonl", 2)
    feed.look()
    told = sorted(feed.note.split("1 file is ")[1:])
    assert told[0].startswith("not read: a.jsonl in ")
    assert told[1].startswith("not read: b.txt in ")
    assert CHANGED in feed.note
    assert UNKNOWN in feed.note


@dataclass
class Expected:
    """What users are told of a directory source, as simply as it can be said."""

    there: dict[str, tuple[int, str]] = field(default_factory=dict)  # which file has a name, and what is in it
    read: dict[str, tuple[int, str]] = field(default_factory=dict)  # likewise, when it was read; by this session
    had: dict[str, list[str]] = field(default_factory=dict)  # contents that the log has, by name
    changed: set[str] = field(default_factory=set)

    def look(self) -> str:
        """The contents that become batches."""
        self.read = {name: read for name, read in self.read.items() if name in self.there}
        self.changed &= set(self.there)
        return "".join(self._look_at(name) for name in sorted(self.there))

    def _look_at(self, name: str) -> str:
        file, contents = self.there[name]
        had = self.had.setdefault(name, [])
        if name in self.read:
            before, base = self.read[name]
            left_alone = base if before == file and base not in ("", contents) else None
        else:
            left_alone = next(
                (text for text in had if text and contents.startswith(text) and contents not in had), None
            )
        self.read[name] = file, contents if left_alone is None else left_alone
        if left_alone is not None:
            self.changed.add(name)
            return ""
        self.changed.discard(name)
        if contents in had:
            return ""
        had.append(contents)
        return contents


STEPS = ("place", "place again", "append", "rewrite", "empty", "touch", "move and back", "remove", "nothing")


@settings(max_examples=80)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(STEPS), st.sampled_from("ab"), st.sampled_from(["look", "restart", "drop", "both"])),
        max_size=12,
    )
)
def test_whatever_is_done_to_files_no_row_is_lost_and_none_comes_twice(steps: list[tuple[str, str, str]]) -> None:
    with scratch() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_files, "REMEMBERED", 2)
        feed, expected, came = Feed(Path(name)), Expected(), list[int]()
        for number, (step, letter, then) in enumerate(steps):
            rows = change(feed.folder, expected, step, f"{letter}.jsonl", number)
            if then in ("drop", "both"):
                feed.add_others(3)
                feed.drop()
            if then in ("restart", "both"):
                feed.restart()
                expected.read.clear()
            batches, ids = expected.look(), feed.look()
            assert text(*ids) == batches
            assert step != "place" or rows in batches
            assert (feed.note == "") == (not expected.changed)
            assert feed.note == "" or feed.says_changed(*sorted(expected.changed, key=feed.note.index))
            came += ids
        feed.end()
        assert len(came) == len(set(came))


def change(folder: Path, expected: Expected, step: str, name: str, number: int) -> str:
    """Do something to a file; gives the rows that are new in it."""
    file, rows, there = folder / name, text(number), expected.there
    match step:
        case "place":
            place(file, rows)
            there[name] = number, rows
            return rows
        case "append":
            append(file, number)
            which, before = there.get(name, (number, ""))
            there[name] = which, before + rows
            return rows
        case "rewrite" | "empty":
            rows = rows if step == "rewrite" else ""
            file.write_text(rows)
            there[name] = there.get(name, (number, ""))[0], rows
            return rows
    if name in there:
        match step:
            case "place again" if name not in expected.changed:
                place(file, there[name][1])
                there[name] = number, there[name][1]
            case "touch":
                file.touch()
            case "move and back":
                file.rename(folder / ".away").rename(file)
            case "remove":
                file.unlink()
                del there[name]
    return ""
