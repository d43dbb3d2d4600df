"""Reading on gives what reading the whole gives, whatever was written, removed or cut off in between."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.history.history import History
from headgate.history.reading import HistoryReader, history_files
from headgate.history.records import Answer, Arrivals, Delivery, RunRecord, RunStart, Setting
from headgate.history.ring import FOLDER, HistoryRing, read_history
from headgate.model import HeadgateError, Why

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["begin", "begin", "end", "end", "arrivals", "delivery", "setting", "restart", "read", "cut"]),
        st.floats(0.0, 8.0),
    ),
    max_size=60,
)


class Engine:
    """Writes a history as an engine does, on a clock of its own."""

    def __init__(self, directory: Path) -> None:
        self.folder, self.now = directory / FOLDER, 100.0
        self.ring = HistoryRing(self.folder)
        self.restart()

    def restart(self) -> None:
        """Die, and begin again."""
        self.ring.close()
        self.ring, self.origin = HistoryRing(self.folder, kept=30.0, each=10.0), self.now
        self.under_way: list[RunStart] = []
        self.number = 0
        self.setting()

    def setting(self) -> None:
        self.ring.write(Setting(self.now, self.origin, {"policy": f"rr at {self.now}"}))

    def begin(self) -> None:
        self.number += 1
        why = Why("rr", "turn", f"run {self.number} of {self.origin}")
        made = RunStart(self.number, 0, "u", "c", ("q",), 5, self.now - 1.0, self.now, recorded_why=why)
        self.under_way.append(made)
        self.ring.write(made)

    def end(self) -> None:
        if self.under_way:
            start, answers = self.under_way.pop(0), {"q": Answer(2, self.now - 2.0, self.now - 3.0)}
            self.ring.write(RunRecord.of_start(start, self.now, self.now, answers=answers, recorded_why=None))

    def arrivals(self) -> None:
        self.ring.write(Arrivals(self.now, "s", ((self.now, 3),)))

    def delivery(self) -> None:
        self.ring.write(Delivery(self.now, "q", self.number))

    def cut(self) -> None:
        """Something is written in part, and then the engine dies."""
        self.ring.flush()
        with open(history_files(self.folder)[-1], "ab") as file:
            file.write(b'{"run":{"id":1,"wor')
        self.restart()


def comparable(history: History) -> Any:
    decisions = [run.why for run in history.runs] + [start.why for start in history.under_way]
    return replace(history, until=None), decisions


@settings(max_examples=80, deadline=None)
@given(STEPS)
def test_reading_on_is_reading_the_whole(steps: list[tuple[str, float]]) -> None:
    with TemporaryDirectory() as directory:
        engine, reader = Engine(Path(directory)), HistoryReader.of_directory(directory)
        for step, pause in steps:
            engine.now += pause
            if step == "read":
                engine.ring.flush()
                reader.read()
            else:
                getattr(engine, step)()
        engine.ring.flush()
        on, whole = reader.history(), read_history(directory)
        engine.ring.close()
        found, expected = comparable(on), comparable(whole)
        assert found[0] == expected[0]
        # A decision may outlive the file that it was in, with the run that it led to.
        assert all(mine == other or other is None for mine, other in zip(found[1], expected[1], strict=True))


def test_nothing_is_read_twice(tmp_path: Path) -> None:
    engine, reader = Engine(tmp_path), HistoryReader.of_directory(tmp_path)
    for _ in range(3):
        engine.begin()
        engine.end()
    engine.ring.flush()
    assert reader.read()
    assert not reader.read()
    first = reader.newest().runs
    engine.begin()
    engine.end()
    engine.ring.close()
    assert reader.read()
    assert all(mine is before for mine, before in zip(reader.newest().runs, first, strict=False))
    assert [run.id for run in reader.newest().runs] == [1, 2, 3, 4]


def test_a_line_counts_once_it_is_whole(tmp_path: Path) -> None:
    engine, reader = Engine(tmp_path), HistoryReader.of_directory(tmp_path)
    engine.begin()
    engine.end()
    engine.ring.close()
    (path,) = history_files(tmp_path / FOLDER)
    data = path.read_bytes()
    for size in range(0, len(data), 7):
        path.write_bytes(data[:size])
        reader.read()
    path.write_bytes(data)
    assert [run.id for run in reader.history().runs] == [1]


def test_a_file_that_has_become_shorter_is_another_one(tmp_path: Path) -> None:
    engine, reader = Engine(tmp_path), HistoryReader.of_directory(tmp_path)
    for _ in range(5):
        engine.begin()
        engine.end()
    engine.ring.close()
    assert len(reader.history().runs) == 5
    (path,) = history_files(tmp_path / FOLDER)
    path.unlink()
    engine.restart()
    engine.begin()
    engine.ring.close()
    assert (len(reader.history().runs), len(reader.history().under_way)) == (0, 1)


def test_without_a_folder_it_says_so_until_there_is_one(tmp_path: Path) -> None:
    reader = HistoryReader.of_directory(tmp_path)
    with pytest.raises(HeadgateError, match="there is no history here"):
        reader.read()
    Engine(tmp_path).ring.close()
    assert reader.read()
