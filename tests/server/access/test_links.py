"""Links below an allowed folder: what they lead to outside is not read, whenever they are put there."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import LongType, StructField, StructType
from tests.spark.ingest.builders import bad, column, drained

from headgate.model import HeadgateError, Stream, Table
from headgate.server.access.resources import Resources
from headgate.server.access.roles import LOCAL
from headgate.server.problems import ForbiddenError
from headgate.sim.recorded_times import recorded_times
from headgate.spark.engine import table_files
from headgate.spark.engine.catalog_entries import (
    SourceText,
    stored_source,
    stored_stream,
    stored_table,
    stream_entry,
    table_entry,
)
from headgate.spark.engine.table_files import TableFiles
from headgate.spark.ingest.sources import Reader, open_source
from headgate.spark.ingest.sources.directory import DirectoryReader

STREAM = Stream(name="p", schema=(("id", "bigint"),))
TIMED = Stream(name="t", schema=(("ts", "timestamp"),))  # a source puts the time of arrival there
OUT = "it leads out of the allowed folder"
INSIDE, SECRET = 1, 666

FOLDERS = ("directory", "table of a folder")
FILES = ("rows", "trace", "table of a file")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An allowed folder `in`, and beside it one that is not."""
    for name, number in (("in", INSIDE), ("out", SECRET)):
        (tmp_path / name / "deep").mkdir(parents=True)
        for inner in ("", "deep"):
            (tmp_path / name / inner / "rows.csv").write_text(f"id\n{number}\n")
    return tmp_path


def allowed(root: Path) -> Resources:
    return Resources((root / "other", root / "in"))


def text_of(use: str, path: Path) -> str:
    return {
        "directory": f"directory, path={path}, end=true",
        "rows": f"constant, rate=10, file={path}",
        "trace": f"trace, file={path}, column=id",
    }[use]


def ask(root: Path, use: str, path: Path) -> Path | None:
    """What the server decides of a path that somebody names over the network."""
    if use.startswith("table"):
        return allowed(root).check_table(str(path), LOCAL)
    return allowed(root).check_source(text_of(use, path), LOCAL)


def read(root: Path, use: str, path: Path, within: Path | None) -> list[int]:
    """All ids that come of a path."""
    if use.startswith("table"):
        return copied(TableFiles(root / "aside")(Table(name="t", path=str(path), within=str(within))))
    stream, until = (TIMED, 1000.0) if use == "trace" else (STREAM, 2.0)
    batches = drained(open_source(text_of(use, path), stream, Path(), within=within), until=until)
    return [int(time.timestamp()) for time in column(batches, "ts")] if use == "trace" else column(batches, "id")


def tried(call: Callable[[], list[int]]) -> tuple[list[int], str]:
    """What a call gives, or its error."""
    try:
        return call(), ""
    except HeadgateError as error:
        return [], str(error)


def copied(table: Table) -> list[int]:
    """The ids in the files that Spark is told to read."""
    assert table.within is None
    at = Path(str(table.path))
    files = sorted(path for path in at.rglob("*") if path.is_file()) if at.is_dir() else [at]
    assert not [path for path in at.rglob("*") if path.is_symlink()]
    return [int(line) for file in files for line in file.read_text().split()[1:]]


def copies(root: Path) -> list[Path]:
    """What is left of tables' copies."""
    return list((root / "aside").iterdir()) if (root / "aside").exists() else []


def error_of(call: Callable[[], object]) -> str:
    """The error that a call raises; it must not wait for anything."""
    raised: list[str] = []

    def run() -> None:
        try:
            raised.append(f"no error: {call()}")
        except HeadgateError as error:
            raised.append(str(error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(10)
    assert raised, "it waits"
    assert not raised[0].startswith("no error"), raised
    assert str(SECRET) not in raised[0]
    return raised[0]


def link(path: Path, target: Path | str) -> None:
    """Put a link in the place of whatever is there."""
    path.with_name(".link").symlink_to(target)
    if path.is_dir() and not path.is_symlink():
        path.rename(path.with_name(".away"))
    path.with_name(".link").replace(path)


def called(root: Path, use: str, name: str = "") -> tuple[Path, str]:
    """A path for a use, and what it may lead to: a folder or a file."""
    last = "deep" if use in FOLDERS else "rows.csv"
    return root / "in" / (name if use in FOLDERS else f"{name}.csv"), last


@pytest.mark.parametrize("use", [*FOLDERS, *FILES])
@pytest.mark.parametrize("target", ["{last}", "{root}/in/{last}", "deep/../{last}", "../in/{last}", ".second"])
def test_links_that_stay_below_the_folder_work(root: Path, use: str, target: str) -> None:
    path, last = called(root, use, "link")
    (root / "in" / ".second").symlink_to(last)
    path.symlink_to(target.format(root=root, last=last))
    for same in (path, root / "in" / "deep" / ".." / path.name):
        within = ask(root, use, same)
        assert within == root / "in"
        assert read(root, use, same, within) == [INSIDE]


@pytest.mark.parametrize("use", [*FOLDERS, *FILES])
@pytest.mark.parametrize("target", ["../out/{last}", "{root}/out/{last}", "deep/../../out/{last}", ".second", ".."])
def test_links_that_lead_out_are_refused_at_the_door_and_behind_it(root: Path, use: str, target: str) -> None:
    path, last = called(root, use, "link")
    (root / "in" / ".second").symlink_to(f"../out/{last}")
    path.symlink_to(target.format(root=root, last=last))
    with pytest.raises(ForbiddenError):
        ask(root, use, path)
    assert OUT in error_of(lambda: read(root, use, path, root / "in"))
    assert copies(root) == []


@pytest.mark.parametrize("use", [*FOLDERS, *FILES])
def test_a_path_out_of_the_folder_is_refused_at_the_door_and_behind_it(root: Path, use: str) -> None:
    _, last = called(root, use)
    for path in (
        root / "out" / last,
        root / "in" / ".." / "out" / last,
        root / "in" / "deep" / ".." / ".." / "out" / last,
    ):
        with pytest.raises(ForbiddenError):
            ask(root, use, path)
        assert OUT in error_of(lambda path=path: read(root, use, path, root / "in"))  # type: ignore[misc]


@pytest.mark.parametrize("use", [*FOLDERS, *FILES])
@pytest.mark.parametrize("above", [False, True])
def test_a_link_that_is_put_there_after_the_question_is_not_followed(root: Path, use: str, above: bool) -> None:
    _, last = called(root, use)
    shutil.copytree(root / "in" / "deep", root / "in" / "deep" / "deep")
    shutil.copytree(root / "out" / "deep", root / "out" / "deep" / "deep")
    path = root / "in" / "deep" / last
    within = ask(root, use, path)
    place = path.parent if above else path
    link(place, root / "out" / place.relative_to(root / "in"))
    assert OUT in error_of(lambda: read(root, use, path, within))
    assert copies(root) == []


@contextmanager
def changed_after_the_check(change: Callable[[], object], calls: int = 1) -> Iterator[None]:
    """Change the folder when a path was resolved for that many times, and nothing was opened after that."""
    resolve, left = os.path.realpath, [change]

    def then_change(path: str | os.PathLike[str]) -> str:
        nonlocal calls
        found = resolve(path)
        calls -= "/in/" in str(path)
        if left and not calls:
            left.pop()()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headgate.contained_files.os.path.realpath", then_change)
        yield


@pytest.mark.parametrize("use", [*FOLDERS, *FILES])
@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize("calls", range(1, 6))
def test_a_link_that_is_put_there_between_check_and_use_is_not_followed(
    root: Path, use: str, above: bool, calls: int
) -> None:
    _, last = called(root, use)
    for name in ("in", "out"):
        shutil.copytree(root / name / "deep", root / name / "deep" / "deep")
    path = root / "in" / "deep" / last
    within, place = ask(root, use, path), path.parent if above else path
    with changed_after_the_check(partial(link, place, root / "out" / place.relative_to(root / "in")), calls):
        ids, error = tried(lambda: read(root, use, path, within))
    assert set(ids) <= {INSIDE}
    assert str(SECRET) not in error
    assert not error or copies(root) == []


@pytest.mark.parametrize("use", [*FOLDERS, *FILES])
@pytest.mark.parametrize("what", ["a pipe", "a link to a pipe", "a device", "the other kind", "nothing"])
def test_what_is_of_another_kind_is_refused_at_once(root: Path, use: str, what: str) -> None:
    path, _ = called(root, use, "x")
    os.mkfifo(root / "in" / "pipe")
    match what:
        case "a pipe":
            (root / "in" / "pipe").rename(path)
        case "a link to a pipe":
            path.symlink_to("pipe")
        case "a device":
            path.symlink_to("/dev/zero")
        case "the other kind" if use == "directory":
            shutil.copy(root / "in" / "rows.csv", path)
        case "the other kind" if use in FILES and not use.startswith("table"):
            path.mkdir()
        case "the other kind":
            path.symlink_to("pipe")
    error_of(lambda: read(root, use, path, root / "in"))
    assert copies(root) == []


def names_in(reader: Reader) -> set[str]:
    return {word.strip(",;") for word in reader.note.split()}


def test_links_in_the_folder_of_a_source(root: Path) -> None:
    (root / "in" / "again.csv").symlink_to("deep/rows.csv")
    (root / "in" / "bad.csv").symlink_to("../out/rows.csv")
    (root / "in" / "worse.csv").symlink_to("/etc/passwd")
    (root / "in" / "deep.csv").symlink_to("../out")
    reader = opened(root, "directory, path={}, end=true")
    assert column(drained(reader), "id") == [INSIDE, INSIDE]
    assert reader.note.startswith("2 files are not read: ")
    assert reader.note.endswith(f" in '{root}/in'; {OUT}")
    assert {"bad.csv", "worse.csv"} <= names_in(reader)


def opened(root: Path, text: str) -> Reader:
    whole = text.format(root / "in")
    return open_source(whole, STREAM, Path(), within=allowed(root).check_source(whole, LOCAL))


@pytest.mark.parametrize("pattern", ["*/*.csv", "**/*.csv", "*/*/*.csv", "deep/*", "[d]*/rows.csv"])
def test_links_to_folders_in_a_pattern_lead_nowhere(root: Path, pattern: str) -> None:
    for name in ("in/d", "in/deep/d"):
        (root / name).symlink_to(root / "out")
    (root / "in" / "dd").symlink_to("..")
    reader = opened(root, f"directory, path={{}}, pattern={pattern}, end=true")
    assert set(column(drained(reader), "id")) <= {INSIDE}


def test_a_source_that_runs_reads_no_link_that_comes_later(root: Path) -> None:
    reader = opened(root, "directory, path={}")
    assert column(reader.read(0.0), "id") == [INSIDE]
    link(root / "in" / "rows.csv", "../out/rows.csv")
    link(root / "in" / "new.csv", "../out/rows.csv")
    for now in (1.0, 2.0):
        assert reader.read(now) == []
        assert {"rows.csv", "new.csv"} <= names_in(reader)
        assert OUT in reader.note
    link(root / "in" / "new.csv", "deep/rows.csv")
    assert column(reader.read(3.0), "id") == [INSIDE]
    assert "new.csv" not in names_in(reader)


def test_a_source_waits_while_its_folder_leads_out(root: Path) -> None:
    reader = opened(root, "directory, path={}/deep")
    assert column(reader.read(0.0), "id") == [INSIDE]
    link(root / "in" / "deep", root / "out")
    for now in (1.0, 2.0):
        assert reader.read(now) == []
        assert reader.note == f"the folder '{root}/in/deep' cannot be looked at: {OUT}"
    (root / "in" / "deep").unlink()
    (root / "in" / ".away").rename(root / "in" / "deep")
    (root / "in" / "deep" / "more.csv").write_text("id\n2\n")
    assert column(reader.read(3.0), "id") == [2]
    assert reader.note == ""


def test_a_file_that_becomes_a_link_between_look_and_reading_is_not_read(root: Path) -> None:
    reader = opened(root, "directory, path={}")
    assert isinstance(reader, DirectoryReader)
    with changed_after_the_check(partial(link, root / "in" / "rows.csv", "../out/rows.csv")):
        assert reader.read(0.0) == []
    assert reader.read(1.0) == []
    assert OUT in reader.note


@pytest.mark.parametrize("options", ["", ", repeat=true"])
def test_rows_of_a_file_that_becomes_a_link_are_not_read(root: Path, options: str) -> None:
    reader = opened(root, "constant, rate=10, file={}/rows.csv" + options)
    link(root / "in" / "rows.csv", "../out/rows.csv")
    batches = drained(reader, until=1.0)
    assert column(batches, "id") == []
    assert set(bad(batches)) <= {("rows.csv", f"the file cannot be read: {OUT}")}


def test_a_file_that_repeats_is_not_read_again_through_a_link(root: Path) -> None:
    reader = opened(root, "constant, rate=10, file={}/rows.csv, repeat=true")
    assert set(column(drained(reader, until=1.0), "id")) == {INSIDE}
    link(root / "in" / "rows.csv", "../out/rows.csv")
    assert set(column(drained(reader, 2.0, until=300.0), "id")) <= {INSIDE}


def test_times_of_a_trace_are_not_read_through_a_link_that_comes_later(root: Path) -> None:
    file = root / "in" / "deep" / "rows.csv"
    assert recorded_times(file, "id", root / "in").tolist() == [INSIDE]
    for path in (root / "in" / "deep" / "rows.csv", root / "out" / "deep" / "rows.csv"):
        path.write_text(path.read_text().replace("666", "  6"))
        os.utime(path, (1, 1))
    link(file.parent, "../out/deep")
    with pytest.raises(HeadgateError, match=OUT):
        recorded_times(file, "id", root / "in")
    assert recorded_times(file, "id").tolist() == [6]
    with pytest.raises(HeadgateError, match=OUT):
        recorded_times(file, "id", root / "in")


@pytest.mark.parametrize("suffix", [".csv", ".txt", ".json", ".parquet", ".csv.gz", ".TL"])
def test_a_trace_of_any_format_is_not_read_through_a_link(root: Path, suffix: str) -> None:
    path = root / "in" / f"link{suffix}"
    path.symlink_to("../out/rows.csv")
    error = error_of(lambda: recorded_times(path, "id", root / "in"))
    assert OUT in error


def table(root: Path, path: str = "") -> list[int]:
    return read(
        root, "table of a folder", root / "in" / path, allowed(root).check_table(str(root / "in" / path), LOCAL)
    )


def test_links_in_the_folder_of_a_table(root: Path) -> None:
    (root / "in" / "again.csv").symlink_to("deep/rows.csv")
    assert table(root) == [INSIDE] * 3
    (root / "in" / ".hidden.csv").symlink_to("../out/rows.csv")
    os.mkfifo(root / "in" / "pipe.csv")
    assert table(root) == [INSIDE] * 3
    before = len(copies(root))
    for name, target in (
        ("bad.csv", "../out/rows.csv"),
        ("d", "../out"),
        ("deep/x.csv", "../../out/rows.csv"),
        ("e", "deep"),
    ):
        (root / "in" / name).symlink_to(target)
        error = error_of(lambda: table(root))
        assert f"{root}/in/{name}: table 't' cannot be read: {OUT if name != 'e' else 'it is not a file'}" in error
        assert "put plain files below" in error
        (root / "in" / name).unlink()
    assert len(copies(root)) == before
    assert table(root) == [INSIDE] * 3


@pytest.mark.parametrize(
    ("function", "place", "target"),
    [
        ("inner_file", "rows.csv", "../out/rows.csv"),
        ("inner_file", "deep/rows.csv", "../../out/rows.csv"),
        ("inner_folder", "deep", "../out/deep"),
        ("open_file", "again.csv", "../out/rows.csv"),
        ("opened_folder", "deep", "../out/deep"),
    ],
)
def test_a_link_that_is_put_there_while_a_table_is_copied_is_not_followed(
    root: Path, monkeypatch: pytest.MonkeyPatch, function: str, place: str, target: str
) -> None:
    (root / "in" / "again.csv").symlink_to("rows.csv")
    call, times = getattr(table_files, function), 0

    def swap_first(*arguments: Any, **named: Any) -> Any:
        nonlocal times
        times += 1
        link(root / "in" / place, target) if times == 1 else None
        return call(*arguments, **named)

    monkeypatch.setattr(table_files, function, swap_first)
    ids, error = tried(lambda: table(root))
    assert times
    assert set(ids) == (set() if error else {INSIDE})
    assert str(SECRET) not in error
    assert not error or copies(root) == []


def test_a_copy_of_a_table_stays_as_it_is(root: Path) -> None:
    locate = TableFiles(root / "aside")
    declared = Table(name="t", path=f"{root}/in/rows.csv", within=f"{root}/in")
    first = locate(declared)
    assert Path(str(first.path)).is_relative_to(root / "aside")
    assert Path(str(first.path)).name == "rows.csv"
    (root / "in" / "rows.csv").write_text("id\n2\n")
    second = locate(declared)
    link(root / "in" / "rows.csv", "../out/rows.csv")
    assert (copied(first), copied(second)) == ([INSIDE], [2])
    assert OUT in error_of(lambda: locate(declared))


def test_a_table_that_may_be_anywhere_is_not_copied(root: Path) -> None:
    (root / "in" / "link").symlink_to("../out")
    declared = Table(name="t", path=f"{root}/in/link")
    assert TableFiles(root / "aside")(declared) is declared
    assert copies(root) == []


def test_the_allowed_folder_may_itself_be_a_link(root: Path) -> None:
    (root / "short").symlink_to("in")
    resources = Resources((root / "short",))
    for path in (root / "short" / "deep", root / "in" / "deep"):
        assert resources.check_table(str(path), LOCAL) == root / "in"
        assert read(root, "table of a folder", path, root / "in") == [INSIDE]
        assert read(root, "directory", path, root / "in") == [INSIDE]


def test_of_several_folders_the_first_counts_in_which_a_path_lies(root: Path) -> None:
    resources = Resources((root / "in" / "deep", root / "in", root / "out"))
    assert resources.check_table(f"{root}/in/deep/rows.csv", LOCAL) == root / "in" / "deep"
    assert resources.check_table(f"{root}/in/rows.csv", LOCAL) == root / "in"
    (root / "in" / "link").symlink_to("../out")
    assert resources.check_table(f"{root}/in/link", LOCAL) == root / "out"


def test_the_catalog_keeps_the_folder(root: Path) -> None:
    for within in (root / "in", None):
        source = SourceText(f"directory, path={root}/in", Path(), within)
        entry = stream_entry(STREAM, source)
        assert stored_source(entry) == source
        assert stored_stream("p", entry).source == source.text
        declared = Table(name="t", path=f"{root}/in", within=None if within is None else str(within))
        kept = table_entry(declared, StructType([StructField("id", LongType())]), given=False)
        assert stored_table("t", kept).within == declared.within
