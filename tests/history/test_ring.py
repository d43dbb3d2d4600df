"""The ring of histories: bounded, readable while it is written, and after its writer died."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.history.records import Delivery, RunRecord, RunStart, Setting
from headgate.history.ring import FOLDER, HistoryRing, read_history
from headgate.model import HeadgateError


def run(number: int, ended: float) -> RunRecord:
    return RunRecord(number, 0, "u", "c", ("q",), 1, ended - 1, ended - 1, ended, ended)


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in (directory / FOLDER).iterdir())


def test_old_files_are_removed_and_each_begins_with_the_setting(tmp_path: Path) -> None:
    ring = HistoryRing(tmp_path / FOLDER, kept=30.0, each=10.0)
    ring.write(Setting(0.0, 0.0, {"policy": "rr"}))
    for second in range(100):
        ring.write(run(second, float(second)))
    ring.close()
    history = read_history(tmp_path)
    assert len(files(tmp_path)) <= 5
    assert history.runs[-1].id == 99
    assert 30 <= len(history.runs) <= 50
    assert len(history.settings) == len(files(tmp_path))


def test_it_is_read_while_it_is_written_and_a_line_cut_short_is_left_out(tmp_path: Path) -> None:
    ring = HistoryRing(tmp_path / FOLDER)
    ring.write(Setting(0.0, 0.0, {}))
    ring.write(run(1, 1.0))
    ring.flush()
    assert [record.id for record in read_history(tmp_path).runs] == [1]
    with open(tmp_path / FOLDER / files(tmp_path)[-1], "ab") as file:
        file.write(b'{"run": {"id": 2')
    assert [record.id for record in read_history(tmp_path).runs] == [1]
    ring.close()


def test_the_newest_start_counts_once_something_has_run(tmp_path: Path) -> None:
    for origin, number in ((100.0, 1), (200.0, None), (300.0, None)):
        ring = HistoryRing(tmp_path / FOLDER)
        ring.write(Setting(origin, origin, {}))
        if number is not None:
            ring.write(run(number, origin + 1))
        ring.close()
    assert read_history(tmp_path).origin == 100.0
    ring = HistoryRing(tmp_path / FOLDER)
    ring.write(Setting(400.0, 400.0, {}))
    ring.write(run(7, 401.0))
    ring.write(Delivery(402.0, "q", 3))
    ring.close()
    history = read_history(tmp_path)
    assert (history.origin, [record.id for record in history.runs], history.delivered("q", 3)) == (400.0, [7], 402.0)


def test_a_directory_without_a_history_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HeadgateError, match="there is no history here"):
        read_history(tmp_path)


def test_a_run_under_way_is_known_and_so_is_whether_its_engine_lives(tmp_path: Path) -> None:
    ring = HistoryRing(tmp_path / FOLDER)
    ring.write(Setting(0.0, 0.0, {}))
    ring.write(RunStart(1, 0, "u", "c", ("q",), 1, oldest=0.5, began=1.0))
    ring.flush()
    live = read_history(tmp_path)
    assert [start.id for start in live.under_way] == [1]
    assert live.until is not None
    assert live.now >= live.until > live.ended == 1.0
    ring.close()
    died = read_history(tmp_path)
    assert ([start.id for start in died.under_way], died.until, died.now) == ([1], None, 1.0)
    ring = HistoryRing(tmp_path / FOLDER)
    ring.write(Setting(9.0, 9.0, {}))
    ring.flush()
    again = read_history(tmp_path)  # nothing has run since: it tells of the start before, which is over
    assert (again.origin, again.until) == (0.0, None)
    ring.close()


def test_a_history_of_another_version_is_refused_until_there_is_one_of_this(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    former = '{"setting":{"at":1.0,"origin":1.0,"header":{}}}\n{"run":{"id":1}}\n'
    (tmp_path / FOLDER / "00000001.jsonl").write_text(former, encoding="utf-8")
    with pytest.raises(HeadgateError, match="the form of another version of Headgate: 1, not 2"):
        read_history(tmp_path)
    ring = HistoryRing(tmp_path / FOLDER)
    ring.write(Setting(2.0, 2.0, {}))
    ring.write(run(7, 3.0))
    ring.close()
    assert [record.id for record in read_history(tmp_path).runs] == [7]
