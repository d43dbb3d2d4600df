"""Reading committed results, wherever they are just then: in the commit log, aside, or in files."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pytest
from tests.spark.store.steps import Died, Steps, aside, plainly, table, watched

from headgate.model import ConflictError, HeadgateError
from headgate.spark.sinks import committed_results
from headgate.spark.sinks import files as file_sinks
from headgate.spark.sinks.base import deliver
from headgate.spark.sinks.committed_results import count_committed, known_queries, read_committed
from headgate.spark.sinks.files import FileSink
from headgate.spark.sinks.registry import open_sink
from headgate.spark.sinks.result_files import ResultFile, checked, load, read
from headgate.spark.store.commits import records
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit, Output
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.frame_file import read_frames
from headgate.spark.store.log.segments import from_arrow

KINDS = pytest.mark.parametrize("kind", ["parquet", "jsonl"])
REPLACING = ("sink.compact.some", "sink.compact.removed")  # here readers wait, and others may miss rows


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DataDirectory]:
    monkeypatch.setattr(file_sinks, "FAN", 3)
    with DataDirectory(tmp_path / "data") as directory:
        yield directory


def seen(directory: DataDirectory, query: str = "q") -> list[int]:
    table = read_committed(directory.path, query)
    values: list[int] = table["x"].to_pylist() if table.num_columns else []
    return values


def play(steps: Steps, chance: random.Random, count: int) -> None:
    for _ in range(count):
        match chance.randrange(8):
            case 0 | 1 | 2:
                steps.commit(*(chance.randrange(3) for _ in range(chance.randint(1, 3))))
            case 3:
                steps.commit(apart=chance.randint(1, 3))
            case 4 | 5:
                steps.deliver()
            case 6:
                steps.merge()
            case _:
                steps.shorten()


@pytest.mark.slow
@KINDS
def test_every_read_is_whole_at_any_point(directory: DataDirectory, kind: str) -> None:
    """Between the steps of everything that happens: what was acknowledged, perhaps what is just being committed."""
    steps, points = Steps(directory, kind), set()

    def look(point: str) -> None:
        points.add(point)
        if point not in REPLACING:
            values = seen(directory)
            assert values == list(range(len(values))), point
            assert len(values) >= steps.rows, point
            assert count_committed(directory.path)["q"] == len(values)

    with watched(look):
        play(steps, random.Random(7), 100)
    assert {*REPLACING, "commit.compact.written", "sink.adopt.some", "sink.forward.after"} <= points


@pytest.mark.slow
@KINDS
def test_every_read_is_a_prefix_while_another_thread_writes(directory: DataDirectory, kind: str) -> None:
    steps, done = Steps(directory, kind), threading.Event()
    failed: list[BaseException] = []

    def work() -> None:
        try:
            play(steps, random.Random(8), 400)
        except BaseException as error:
            failed.append(error)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    before = 0
    while True:
        last, acknowledged = done.is_set(), steps.rows
        values = seen(directory)
        assert values == list(range(len(values)))
        assert len(values) >= max(before, acknowledged)
        before = len(values)
        if last:
            break
    thread.join()
    assert failed == []
    assert before == steps.rows > 400


@KINDS
def test_a_plain_listing_has_no_row_twice_while_files_are_merged(directory: DataDirectory, kind: str) -> None:
    steps, points = Steps(directory, kind), []
    folder = directory.result("q")
    for _ in range(5):
        steps.commit(2)
        steps.deliver()

    def look(point: str) -> None:
        points.append(point)
        values = plainly(folder, kind)
        assert len(values) == len(set(values)), point
        assert point in REPLACING or values == list(range(10)), point

    with watched(look):
        steps.merge()
    assert points == [
        *(f"sink.compact.{step}" for step in ("before", "half", "written")),
        *["sink.compact.some"] * 5,
        *(f"sink.compact.{step}" for step in ("removed", "after")),
    ]
    assert plainly(folder, kind) == list(range(10))


@KINDS
@pytest.mark.parametrize("ends", range(1, 11))
def test_a_merge_that_ends_anywhere_is_completed(directory: DataDirectory, kind: str, ends: int) -> None:
    steps, passed = Steps(directory, kind), 0
    folder = directory.result("q")
    for _ in range(5):
        steps.commit(2)
        steps.deliver()
    steps.shorten()  # files are all there is

    def die(point: str) -> None:
        nonlocal passed
        passed += 1
        if passed == ends:
            raise Died

    with watched(die), pytest.raises(Died):
        steps.merge()
    values = plainly(folder, kind)
    assert len(values) == len(set(values))
    assert seen(directory) == list(range(10))
    assert read(folder)["x"].to_pylist() == list(range(10))
    again = FileSink(folder, kind)
    assert plainly(folder, kind) == list(range(10))
    assert {path.suffix for path in folder.iterdir()} == {f".{kind}", ".arrow", ".index"}
    again.compact()
    assert len(list(folder.glob("*-*"))) == 1
    assert seen(directory) == list(range(10))


@KINDS
@pytest.mark.parametrize("moved", [1, 2, 3])
def test_a_commit_whose_files_are_being_moved_is_seen_whole(directory: DataDirectory, kind: str, moved: int) -> None:
    steps, passed = Steps(directory, kind), 0
    steps.commit(2)
    steps.commit(apart=3)
    steps.commit(2)

    def die(point: str) -> None:
        nonlocal passed
        passed += point == "sink.adopt.some"
        if passed == moved:
            raise Died

    with watched(die), pytest.raises(Died):
        steps.deliver()
    assert len(list(directory.result("q").glob("part-*3-*"))) == moved
    assert seen(directory) == list(range(10))
    assert count_committed(directory.path) == {"q": 10}


def test_files_that_are_moved_while_they_are_read(directory: DataDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything moves on between the listing and the reading: the second attempt finds it."""
    steps = Steps(directory, "parquet")
    for _ in range(3):
        steps.commit(1, apart=1)
    turns: list[Path] = []

    def late(path: Path, schema: pa.Schema | None) -> pa.Table:
        turns.append(path)
        if len(turns) == 1:
            steps.deliver()
            steps.merge()
            steps.shorten()
        return load(path, schema)

    monkeypatch.setattr(committed_results, "load", late)
    assert seen(directory) == list(range(9))
    assert [path.name for path in turns] == ["part-0.parquet", f"merged-{2:012}-{7:012}.parquet"]


@pytest.mark.parametrize("moved", [1, 2, 3])
@pytest.mark.parametrize("forgotten", [False, True])
def test_what_comes_between_reading_the_log_and_listing_the_files(
    directory: DataDirectory, monkeypatch: pytest.MonkeyPatch, moved: int, forgotten: bool
) -> None:
    """Of a commit that the log did not have yet, some files are in place; the older ones are merged, or not."""
    steps, passed = Steps(directory, "parquet"), 0
    for _ in range(3):
        steps.commit(1)
        steps.deliver()

    def die(point: str) -> None:
        nonlocal passed
        passed += point == "sink.adopt.some"
        if passed == moved:
            raise Died

    def late(folder: Path, logged: int) -> list[ResultFile]:
        if forgotten:
            steps.merge()
            steps.shorten()
        steps.commit(apart=3)
        with watched(die), pytest.raises(Died):
            steps.deliver()
        return checked(folder, logged)

    monkeypatch.setattr(committed_results, "checked", late)
    assert seen(directory) == list(range(3))
    monkeypatch.undo()
    assert seen(directory) == list(range(9))


def test_a_log_that_is_shortened_while_it_is_opened(directory: DataDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, opened = Steps(directory, "parquet"), []
    steps.commit(3)

    def late(path: Path) -> Iterator[bytes]:
        opened.append(path.stem[-1])
        if len(opened) == 1:
            steps.deliver()
            steps.shorten()
            steps.commit(2)
        return read_frames(path)

    monkeypatch.setattr(committed_results, "read_frames", late)
    assert seen(directory) == list(range(5))
    assert opened == ["1", "2"]


def test_results_of_a_former_query_stay_and_other_sinks_have_none(directory: DataDirectory) -> None:
    log = CommitLog(directory.commits)
    lives = [("jsonl", 1), ("memory, rows=3", 2), ("parquet, behind=5s", 3), ("callback", 4)]
    for sink, value in lives:
        waiting = Commit(outputs={"q#1.0": Output.inline(table(9)), "q": Output.inline(table())})
        log.append_all([Commit(queries={"q": {"sink": sink}}, outputs={"q": Output.inline(table(value))}), waiting])
        log.append(Commit(queries={"q": None}))
    assert seen(directory) == [1, 3]
    assert count_committed(directory.path) == {"q": 2}
    deliver(FileSink(directory.result("q"), "jsonl"), [(1, Output.inline(table(1)))], directory.aside)
    assert seen(directory) == [1, 3]
    log.append(Commit(queries={"quiet": {"sink": "jsonl"}, "silent": {"sink": "blackhole"}}))
    assert known_queries(directory.path) == ["q", "quiet"]
    assert count_committed(directory.path) == {"q": 2, "quiet": 0}
    log.append(
        Commit(queries={"alerts": {"sink": "table, name=db.alerts"}}, outputs={"alerts": Output.inline(table(5))})
    )
    open_sink("table, name=db.alerts", directory.result("alerts"), Mock()).roll_forward(1, table(5))
    assert known_queries(directory.path) == ["q", "quiet"]  # its folder has only what it has taken
    for query, told in (
        ("alerts", r"'table, name=db\.alerts': .*spark\.table\('db\.alerts'\)"),
        ("silent", "blackhole"),
    ):
        with pytest.raises(ConflictError, match=f"query '{query}' gives its results to its sink .*{told}"):
            read_committed(directory.path, query)


def test_results_of_other_queries_are_not_decoded(directory: DataDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    log = CommitLog(directory.commits)
    for value in range(20):
        other = {f"other{n}": Output(1, b"no Arrow") for n in range(5)}
        log.append(Commit(outputs={**other, "q": Output.inline(table(value))} if value % 5 == 0 else other))
    decoding = Mock(wraps=from_arrow)
    monkeypatch.setattr(records, "from_arrow", decoding)
    assert seen(directory) == [0, 5, 10, 15]
    assert decoding.call_count == 4


def test_columns_without_rows(directory: DataDirectory) -> None:
    columns = pa.schema([("x", pa.int64())])
    assert read_committed(directory.path, "q").num_columns == 0  # there is no commit log
    assert read_committed(directory.path, "q", columns).schema == columns
    steps = Steps(directory, "parquet")
    steps.commit(0)
    assert read_committed(directory.path, "q").num_columns == 0
    assert read_committed(directory.path, "q", columns).schema == columns
    steps.deliver()
    assert read_committed(directory.path, "q").schema == columns


def test_what_is_missing_or_damaged_is_named(directory: DataDirectory) -> None:
    log = CommitLog(directory.commits)
    log.append(Commit(outputs={"q": aside(directory.aside, "run", table(1), table(2))}))
    (directory.aside / "run" / "part-1.parquet").unlink()
    with pytest.raises(HeadgateError, match=r"run/part-1\.parquet: a file of results is missing"):
        read_committed(directory.path, "q")
    (path,) = directory.commits.iterdir()
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)
    with pytest.raises(HeadgateError, match=r"commits/.*\.log: the record at byte \d+ is damaged"):
        read_committed(directory.path, "q")
