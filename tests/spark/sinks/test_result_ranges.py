"""Results by row number: a row keeps its number whatever becomes of files and log, and who joins misses nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.store.builders import scratch
from tests.spark.store.steps import Steps, aside, table, watched

from headgate.model import ConflictError, HeadgateError
from headgate.spark.execution.committer import Committer
from headgate.spark.machine.tasks import WriteCommit
from headgate.spark.sinks import files as file_sinks
from headgate.spark.sinks import result_ranges
from headgate.spark.sinks.result_files import rows_in
from headgate.spark.sinks.followers import Followers
from headgate.spark.sinks.result_ranges import position_after, read_range
from headgate.spark.store.commits.records import Commit, Output
from headgate.spark.store.directory import DataDirectory

KINDS = pytest.mark.parametrize("kind", ["parquet", "jsonl"])
REPLACING = ("sink.compact.some", "sink.compact.removed")  # here readers wait for the lock, which this thread has
SCHEMA = table().schema


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DataDirectory]:
    monkeypatch.setattr(file_sinks, "FAN", 3)
    with DataDirectory(tmp_path / "data") as directory:
        yield directory


def rows(directory: DataDirectory, first: int, limit: int, durable: int | None = None) -> list[int]:
    found = read_range(directory.path, "q", first, limit, SCHEMA, durable=durable)
    values: list[int] = found.table["x"].to_pylist()
    assert found.next == first + len(values)
    assert found.total >= found.next or not values
    return values


def play(steps: Steps, chance: random.Random) -> None:
    match chance.randrange(7):
        case 0 | 1:
            steps.commit(*(chance.randrange(4) for _ in range(chance.randint(1, 3))))
        case 2:
            steps.commit(apart=chance.randint(1, 3))
        case 3 | 4:
            steps.deliver()
        case 5:
            steps.merge()
        case _:
            steps.shorten()


@KINDS
def test_a_row_keeps_its_number_at_any_point(directory: DataDirectory, kind: str) -> None:
    """In the middle of writing, delivering, merging and shortening too."""
    steps, chance, points = Steps(directory, kind), random.Random(5), set()

    def look(point: str) -> None:
        points.add(point)
        if point in REPLACING:
            return
        first, limit = chance.randrange(steps.rows + 2), chance.randrange(6)
        found = rows(directory, first, limit)
        least = list(range(first, min(first + limit, steps.rows)))
        assert found[: len(least)] == least, point  # more only if a commit is just being written
        assert found == list(range(first, first + len(found))), point
        commit, count = position_after(directory.path, "q", durable=steps.commits.number)
        assert (commit, count) >= (steps.commits.number, 0), point
        if commit == steps.commits.number and point != "commit.append.after":
            assert count == steps.rows, point

    with watched(look):
        for _ in range(60):
            play(steps, chance)
    assert {*REPLACING, "commit.compact.written", "sink.adopt.some", "sink.forward.after"} <= points


@KINDS
def test_files_before_the_first_row_are_not_read(
    directory: DataDirectory, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps(directory, kind)
    for _ in range(5):
        steps.commit(4)
        steps.deliver()
    assert rows(directory, 0, 100) == list(range(20))
    cut = Mock(side_effect=result_ranges._cut)
    counted = Mock(side_effect=rows_in)
    monkeypatch.setattr(result_ranges, "_cut", cut)
    monkeypatch.setattr(result_ranges, "rows_in", counted)
    assert rows(directory, 13, 5) == [13, 14, 15, 16, 17]
    assert [(begin, end) for _, _, begin, end in (call.args for call in cut.call_args_list)] == [(1, 4), (0, 2)]
    assert not counted.called  # a file's number of rows is looked up once


def test_large_files_are_read_by_row_groups(tmp_path: Path) -> None:
    pq.write_table(table(*range(10)), tmp_path / "part.parquet", row_group_size=3)
    for begin in range(10):
        for end in range(begin + 1, 11):
            assert result_ranges._row_groups(tmp_path / "part.parquet", begin, end)["x"].to_pylist() == list(
                range(begin, end)
            )


def test_what_is_not_durable_is_left_out(directory: DataDirectory) -> None:
    steps = Steps(directory, "parquet")
    steps.commit(2)
    durable = steps.commits.number
    steps.commit(3)
    assert rows(directory, 0, 10, durable) == [0, 1]
    assert position_after(directory.path, "q", durable=durable) == (durable, 2)
    steps.deliver()
    steps.shorten()  # from here on it is known that they are
    assert rows(directory, 0, 10, durable) == [0, 1, 2, 3, 4]


def test_wrong_questions_are_answered_in_words(directory: DataDirectory) -> None:
    steps = Steps(directory, "parquet")
    assert rows(directory, 7, 5) == []
    with pytest.raises(ConflictError, match=r"query 'other' gives its results to its sink 'memory'.*parquet or jsonl"):
        read_range(directory.path, "other", 0, 1)
    with pytest.raises(HeadgateError, match="unknown query 'none'"):
        read_range(directory.path, "none", 0, 1)
    with pytest.raises(HeadgateError, match="counted from 0"):
        read_range(directory.path, "q", -1, 1)
    steps.commits.append(Commit(queries={"q": None}))
    with pytest.raises(HeadgateError, match="unknown query 'p'"):
        position_after(directory.path, "p")
    assert position_after(directory.path, "q")[1] == 0  # its folder is there


# -- joining ---------------------------------------------------------------------------------------------------


class Listener:
    """Joins in steps between which anything may happen: begins to follow, asks where it stands, reads, goes on."""

    def __init__(self, followers: Followers, directory: DataDirectory, steps: FollowedSteps) -> None:
        self.rows: list[int] = []
        self._followers, self._directory, self._steps = followers, directory, steps
        self._course = self._join()

    def step(self) -> None:
        with suppress(StopIteration):
            next(self._course)

    def _join(self) -> Iterator[None]:
        inbox = self._followers.inbox("q", 1 << 20)  # an iterator would be over when nothing has come for a while
        yield
        newest, count = position_after(self._directory.path, "q", durable=self._steps.commits.number)
        yield
        while len(self.rows) < count:
            limit = min(3, count - len(self.rows))
            self.rows += rows(self._directory, len(self.rows), limit)
            yield
        while True:
            while (result := inbox.get_with_commit(timeout=0)) is not None:
                if result[0] > newest:
                    self.rows += result[1]["x"].to_pylist()
            yield

    def rest(self) -> None:
        for _ in range(len(self.rows) + self._steps.rows + 5):
            self.step()


class FollowedSteps(Steps):
    """Commits as the engine makes them; results that were ready before somebody came are not given with the task."""

    def __init__(self, directory: DataDirectory, kind: str, followers: Followers) -> None:
        super().__init__(directory, kind)
        nothing: Any = None
        self._committer = Committer(self.commits, nothing, followers, lambda: 0.0, directory.aside)

    def commit(self, *sizes: int, apart: int = 0) -> None:
        outputs = [Output.inline(self._next(size)) for size in sizes]
        if apart:
            outputs.append(aside(self.directory.aside, f"run-{self.rows}", *(self._next(2) for _ in range(apart))))
        written = self._committer.write([WriteCommit(outputs={"q": output}) for output in outputs])
        self.waiting += [(each.number, output) for each, output in zip(written, outputs, strict=True)]
        self.rows = self._made


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), kind=st.sampled_from(["parquet", "jsonl"]), joins=st.integers(1, 4))
def test_who_joins_at_any_moment_gets_every_row_once(seed: int, kind: str, joins: int) -> None:
    chance = random.Random(seed)
    with scratch() as folder, DataDirectory(Path(folder) / "data") as directory, patch.object(file_sinks, "FAN", 3):
        followers = Followers()
        steps = FollowedSteps(directory, kind, followers)
        listeners = [Listener(followers, directory, steps) for _ in range(joins)]
        for _ in range(40):
            if chance.random() < 0.5:
                chance.choice(listeners).step()
            else:
                play(steps, chance)
        for listener in listeners:
            listener.rest()
            assert listener.rows == list(range(steps.rows))


def test_whoever_wants_to_know_is_told_of_commits_and_of_the_end(directory: DataDirectory) -> None:
    followers = Followers()
    told: list[int | None] = []
    other: list[int | None] = []
    steps = FollowedSteps(directory, "parquet", followers)

    def fails(commit: int | None) -> None:
        raise ValueError

    followers.tell("q", fails)
    end = followers.tell("q", told.append)
    followers.tell("p", other.append)
    steps.commit(2, 0, 3)
    numbers = [number for number, output in steps.waiting if output.rows]
    assert told == numbers
    assert rows(directory, 0, 9, durable=told[-1]) == [0, 1, 2, 3, 4]
    end()
    steps.commit(1)
    assert told == numbers
    followers.tell("q", told.append)
    followers.end("q")
    assert told == [*numbers, None]
    followers.close()
    assert other == [None]
    followers.tell("q", other.append)
    assert other == [None, None]


def test_followers_without_numbers_get_the_same_tables() -> None:
    followers = Followers()
    plain, numbered = followers.follow("q"), followers.follow_commits("q")
    for commit in (3, 4):
        followers.give("q", pa.table({"x": [commit]}), commit)
    followers.end("q")
    assert [each["x"].to_pylist() for each in plain] == [[3], [4]]
    assert [(commit, each["x"].to_pylist()) for commit, each in numbered] == [(3, [3]), (4, [4])]
