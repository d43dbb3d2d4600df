from __future__ import annotations

from pathlib import Path

import pytest
from tests.spark.store.builders import SCHEMA, ids, opened, rows

from headgate.model import HeadgateError
from headgate.spark.store import dead_letters
from headgate.spark.store.dead_letters import DeadLetters, Letter
from headgate.spark.store.log.late_rows import NO_EVENT_TIME

LATE = "late by 89 us"


def test_what_an_append_rejects_is_kept_once(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append(rows([100]), 0.0)
    log.append(rows([1, None, 2], 1), 1.0)
    assert log.newest is not None
    for expected in (3, 0):
        letters = DeadLetters(tmp_path / "s.jsonl")
        assert letters.keep(log.newest) == expected
        assert (letters.count(), letters.by_query()) == (3, {})
    first, late, _ = letters.letters()
    assert (first.reason, first.arrival, first.offset, first.append) == (NO_EVENT_TIME, 1.0, None, 2)
    assert first.row == {"id": 2, "name": "n2", "ts": None}
    assert (late.reason, late.offset, late.row, late.append) == (LATE, 1, None, 2)  # its row is in the log


def test_a_crash_before_keeping_loses_nothing(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append(rows([100]), 0.0)
    log.append(rows([1, 2], 1), 1.0)
    newest = opened(tmp_path).newest
    assert newest is not None
    assert DeadLetters(tmp_path / "s.jsonl").keep(newest) == 2


def test_a_torn_line_is_cut_and_completed(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append(rows([100]), 0.0)
    done = log.append(rows([1, 2, 3], 1), 1.0)
    path = tmp_path / "s.jsonl"
    DeadLetters(path).keep(done)
    whole = path.read_bytes()
    header = whole.index(b"\n") + 1
    for cut in range(header, len(whole)):
        path.write_bytes(whole[:cut])
        DeadLetters(path).keep(done)
        assert path.read_bytes() == whole


def test_letters_are_taken_replayed_and_settled(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    log = opened(tmp_path)
    log.append(rows([100]), 0.0)
    letters = DeadLetters(path)
    letters.keep(log.append(rows([None, None], 1), 1.0))
    letters.add([Letter("broken JSON", 2.0, text='{"id": ')])
    assert letters.unsettled() is None
    taken = letters.take()
    assert taken is not None
    assert ids(taken.rows(SCHEMA)) == [1, 2]
    assert taken.rows(SCHEMA).schema == SCHEMA
    assert [letter.text for letter in taken.letters] == [None, None, '{"id": ']
    for reader in (letters, DeadLetters(path)):
        assert (reader.count(), reader.unsettled(), reader.take()) == (0, taken, taken)
    again = DeadLetters(path)
    assert log.newest is not None
    assert again.keep(log.newest) == 0  # also the one taken is known
    again.settle(taken)
    again.settle(taken)
    assert (DeadLetters(path).unsettled(), DeadLetters(path).take()) == (None, None)
    again.add([Letter("late", 3.0, row={"id": 3})])
    following = DeadLetters(path).take()
    assert following is not None
    assert following.batch != taken.batch


def test_letters_that_are_not_chosen_stay(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    log = opened(tmp_path)
    log.append(rows([100]), 0.0)
    done = log.append(rows([1, None, 2], 1), 1.0)
    letters = DeadLetters(path)
    letters.keep(done)
    taken = letters.take(lambda letter: letter if letter.row else None)
    assert taken is not None
    assert [letter.reason for letter in taken.letters] == [NO_EVENT_TIME]
    for reader in (letters, DeadLetters(path)):
        assert [letter.offset for letter in reader.letters()] == [1, 2]
        assert reader.count() == 2
        assert reader.keep(done) == 0  # also what was taken of it is known


def test_taking_that_was_broken_off_never_happened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.jsonl"
    letters = DeadLetters(path)
    letters.add([Letter("late", 1.0, row={"id": number}) for number in range(3)])

    def crash(point: str) -> None:
        if point == "letters.take.written":
            raise KeyboardInterrupt

    monkeypatch.setattr(dead_letters, "at", crash)
    with pytest.raises(KeyboardInterrupt):
        letters.take()
    assert len(list(tmp_path.iterdir())) == 2
    again = DeadLetters(path)
    assert (again.count(), again.unsettled()) == (3, None)


def test_a_file_that_is_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text("hello\n")
    with pytest.raises(HeadgateError, match=r"s\.jsonl: a line is not a dead letter"):
        DeadLetters(tmp_path / "s.jsonl")


def test_letters_of_a_commit_are_kept_once(tmp_path: Path) -> None:
    failures = [{"reason": f"query q: {number}", "arrival": 1.0, "query": "q", "offset": number} for number in range(3)]
    letters = DeadLetters(tmp_path / "s.jsonl")
    letters.keep_committed(4, failures[:2])
    letters.keep_committed(4, failures[:2])
    letters.keep_committed(3, failures)
    again = DeadLetters(tmp_path / "s.jsonl")
    again.keep_committed(4, failures)  # a crash had torn it: the rest comes
    again.keep_committed(5, failures[:1])
    assert [(letter.commit, letter.offset) for letter in again.letters()] == [(4, 0), (4, 1), (4, 2), (5, 0)]
    assert again.failed("q") == [((("s", number),), None) for number in (0, 1, 2, 0)]
    assert again.failed("other") == []


def test_letters_are_counted_by_query(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    letters = DeadLetters(path)
    letters.add([Letter("broken JSON", 1.0, text="{")])
    letters.keep_committed(1, [{"reason": "division by zero", "arrival": 1.0, "query": "fire"}] * 2)
    letters.keep_committed(2, [{"reason": "division by zero", "arrival": 2.0, "query": "frost"}])
    for reader in (letters, DeadLetters(path)):
        assert (reader.count(), reader.by_query()) == (4, {"fire": 2, "frost": 1})
