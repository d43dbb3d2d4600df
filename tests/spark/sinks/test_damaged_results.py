"""Damage to the files of results is noticed, and the error names the file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from headgate.model import HeadgateError
from headgate.spark.sinks import files as file_sinks
from headgate.spark.sinks.committed_results import count_committed, read_committed
from headgate.spark.sinks.files import FileSink
from headgate.spark.sinks.result_index import INDEX, IndexEntry, ResultIndex
from headgate.spark.sinks.result_ranges import read_range
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit, Output
from headgate.spark.store.directory import DataDirectory

KINDS = pytest.mark.parametrize("kind", ["parquet", "jsonl"])
COMMITS = 6


def table(number: int) -> pa.Table:
    return pa.table({"x": [10 * number, 10 * number + 1], "text": [f"row {number}"] * 2})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data"


def filled(path: Path, kind: str, fan: int = 4) -> Path:
    """A directory whose log knows nothing of its results any more: merged-1-4, part-5 and part-6 have them."""
    with DataDirectory(path) as directory:
        log = CommitLog(directory.commits)
        log.append(Commit(queries={"q": {"sink": kind}}))
        sink = FileSink(directory.result("q"), kind)
        for number in range(2, COMMITS + 2):
            log.append(Commit(outputs={"q": Output.inline(table(number))}))
            sink.roll_forward(number, table(number))
            if number == fan + 1:
                sink.compact()
        sink.sync()
        log.compact(log.number)
        return directory.result("q")


@pytest.fixture(autouse=True)
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_sinks, "FAN", 4)


def of(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def remove(file: Path) -> None:
    file.unlink()


def empty(file: Path) -> None:
    file.write_bytes(b"")


def half(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def zeros(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


def flip(file: Path) -> None:
    """One bit, in the middle."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def double(file: Path) -> None:
    shutil.copy(file, file.with_name(file.name.replace("merged-", "merged-1").replace("part-0", "part-1")))


def double_before(file: Path) -> None:
    name = file.name.replace("merged-000000000002-000000000005", "part-000000000001-0000")
    shutil.copy(file, file.with_name(name.replace("-0000.", "-0007.") if name == file.name else name))


READS: tuple[Callable[[Path], object], ...] = (
    lambda path: read_committed(path, "q"),
    lambda path: read_range(path, "q", 0, 100).table,
    lambda path: read_range(path, "q", 2 * COMMITS - 1, 1),
    count_committed,
)
SAID: dict[Callable[[Path], None], str] = {
    remove: "a file of results is missing; restore it from a copy; if it was removed on purpose",
    empty: r"the file cannot be read: it has 0 bytes, and had \d+ when it was written; restore it from a copy",
    half: r"the file cannot be read: it has \d+ bytes, and had \d+ when it was written",
    double_before: "the file is none that Headgate has written here: 'files.index' does not have it; move it away",
}


@KINDS
@pytest.mark.parametrize("how", SAID, ids=lambda how: str(how.__name__))
@pytest.mark.parametrize("pattern", ["merged-*", "part-*06-*", "part-*07-*"])
def test_a_file_that_is_not_as_it_was_is_named(
    path: Path, kind: str, pattern: str, how: Callable[[Path], None]
) -> None:
    folder = filled(path, kind)
    kept = path.with_name("kept")
    shutil.copytree(folder, kept)
    file = of(folder, f"{pattern}.{kind}")
    how(file)
    named = file.name if how is not double_before else r"part-\d+-000\d\." + kind
    for read in READS:
        with pytest.raises(HeadgateError, match=rf"results/q/{named}: {SAID[how]}"):
            read(path)
    shutil.rmtree(folder)
    shutil.copytree(kept, folder)
    assert read_committed(path, "q")["x"].to_pylist() == wanted()


def wanted() -> list[int]:
    return [value for number in range(2, COMMITS + 2) for value in (10 * number, 10 * number + 1)]


@KINDS
@pytest.mark.parametrize("how", [zeros, flip], ids=lambda how: how.__name__)
def test_bytes_that_have_changed_are_noticed(path: Path, kind: str, how: Callable[[Path], None]) -> None:
    file = of(filled(path, kind), f"merged-*.{kind}")
    how(file)
    with pytest.raises(HeadgateError, match=rf"results/q/{file.name}: the file (cannot be read|is damaged)"):
        read_committed(path, "q")
    with pytest.raises(HeadgateError, match=file.name):
        read_range(path, "q", 0, 100)


@KINDS
def test_a_copy_under_the_name_of_a_later_commit_counts_for_nothing(path: Path, kind: str) -> None:
    folder = filled(path, kind)
    double(of(folder, f"merged-*.{kind}"))
    assert read_committed(path, "q")["x"].to_pylist() == wanted()
    with DataDirectory(path) as directory:
        sink = FileSink(directory.result("q"), kind)
        sink.roll_forward(COMMITS + 2, table(COMMITS + 2))
        assert sink.read()["x"].to_pylist() == [*wanted(), 80, 81]


@KINDS
def test_damaged_files_are_not_merged_with_others(path: Path, kind: str) -> None:
    folder = filled(path, kind, fan=100)
    file = of(folder, f"part-*03-*.{kind}")
    flip(file)
    names = sorted(file.name for file in folder.iterdir())
    sink = FileSink(folder, kind)
    with pytest.raises(HeadgateError, match=rf"{file.name}: the file (cannot be read|is damaged)"):
        sink.compact()
    assert sorted(file.name for file in folder.iterdir()) == names


@KINDS
def test_a_folder_of_an_earlier_version_gets_an_index(path: Path, kind: str) -> None:
    folder = filled(path, kind)
    (folder / INDEX).unlink()
    assert read_committed(path, "q")["x"].to_pylist() == wanted()
    FileSink(folder, kind)
    assert read_committed(path, "q")["x"].to_pylist() == wanted()
    remove(of(folder, "part-*06-*"))
    with pytest.raises(HeadgateError, match="a file of results is missing"):
        read_committed(path, "q")


def test_a_line_that_is_taken_out_gives_a_file_up(path: Path) -> None:
    folder = filled(path, "jsonl")
    file = of(folder, "part-*06-*")
    remove(file)
    index = folder / INDEX
    index.write_bytes(b"".join(line for line in index.read_bytes().splitlines(True) if file.name.encode() not in line))
    assert read_committed(path, "q")["x"].to_pylist() == [value for value in wanted() if value // 10 != 6]


@pytest.mark.parametrize("rest", [b"", b"part-0000", b"\0" * 300, b"part-00\0\0\0"])
def test_the_end_of_an_index_that_was_not_forced_to_disk(tmp_path: Path, rest: bytes) -> None:
    index = ResultIndex(tmp_path)
    files = [IndexEntry(f"part-{number:012}-0000.jsonl", number, number) for number in range(3)]
    index.add(*files)
    (tmp_path / INDEX).write_bytes((tmp_path / INDEX).read_bytes() + rest)
    again = ResultIndex(tmp_path)
    assert list(again.files.values()) == files
    again.add(further := IndexEntry("part-000000000009-0000.parquet", 9))
    assert list(ResultIndex(tmp_path).files.values()) == [*files, further]


def test_an_index_with_other_bytes_is_refused(tmp_path: Path) -> None:
    ResultIndex(tmp_path).add(
        IndexEntry("part-000000000001-0000.jsonl", 5, 1), IndexEntry("part-000000000002-0000.jsonl", 5, 1)
    )
    path = tmp_path / INDEX
    path.write_bytes(path.read_bytes().replace(b"5", b"6", 1))
    with pytest.raises(HeadgateError, match=r"files\.index: the file is damaged"):
        ResultIndex(tmp_path)


def test_lines_of_files_that_are_gone_are_dropped(tmp_path: Path) -> None:
    index = ResultIndex(tmp_path)
    for number in range(400):
        index.add(IndexEntry(f"part-{number:012}-0000.jsonl", 1, 1))
        index.forget([f"part-{number - 1:012}-0000.jsonl"])
    assert len((tmp_path / INDEX).read_bytes().splitlines()) < 110
    assert list(ResultIndex(tmp_path).files)[-1] == "part-000000000399-0000.jsonl"


@KINDS
def test_a_schema_that_has_changed_is_named(path: Path, kind: str) -> None:
    flip(filled(path, kind) / "schema.arrow")
    with pytest.raises(HeadgateError, match=r"results/q/schema\.arrow: the file is damaged"):
        read_committed(path, "q")


def test_a_commit_log_with_another_record_is_named(path: Path) -> None:
    filled(path, "jsonl")
    (log,) = (path / "commits").glob("*.log")
    log.write_bytes(2 * log.read_bytes())
    with pytest.raises(HeadgateError, match=r"commits/\d+\.log: a record is damaged"):
        read_committed(path, "q")
