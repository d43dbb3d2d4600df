"""Dead-letter replay: letters that are appended to their stream again."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.spark.store import killed_replays
from tests.spark.store.builders import STREAM, ids, rows

from headgate.model import HeadgateError
from headgate.spark.ingest.dead_letter_replay import EARLIER, IN_THE_LOG, LATE, complete, replay
from headgate.spark.store.atomic_files import read_json, write_json
from headgate.spark.store.dead_letters import Letter
from headgate.spark.store.log.late_rows import NO_EVENT_TIME
from headgate.spark.store.log.stream_log import StreamLog

ROOT = Path(__file__).parents[3]


def test_each_letter_goes_where_it_belongs(tmp_path: Path) -> None:
    killed_replays.prepare(tmp_path)
    done = killed_replays.again(tmp_path)
    assert (done.taken, done.left) == (7, {IN_THE_LOG: 1, LATE: 2})
    assert done.dead_again == {NO_EVENT_TIME: 1, "broken": 1}
    assert killed_replays.wrong(tmp_path) == []


def test_a_reason_chooses(tmp_path: Path) -> None:
    killed_replays.prepare(tmp_path)
    log, letters = killed_replays.opened(tmp_path)
    done = replay(log, letters, 5.0, "brok")
    assert (done.taken, done.dead_again, done.left) == (3, {"broken": 1}, {})
    assert letters.count() == 3 + 3 + 3
    assert replay(log, letters, 5.0, "no such").taken == 0
    assert log.batches.keys() == {"b1", "b2", "deadletters-00000001"}


@pytest.mark.slow
def test_a_kill_at_every_point_loses_and_doubles_nothing() -> None:
    """In a process of its own: it forks."""
    command = [sys.executable, "-W", "error", "-m", "tests.spark.store.killed_replays"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(killed_replays.PASSED)} kills: none lost, none doubled" in done.stdout
    assert {"log.append.after", "letters.keep.half", "letters.take.written", "letters.settle.before"} < set(
        killed_replays.PASSED
    )


def test_a_replay_that_was_broken_off_long_ago_is_not_repeated(tmp_path: Path) -> None:
    killed_replays.prepare(tmp_path)
    log, letters = killed_replays.opened(tmp_path)
    taken = letters.take(lambda letter: letter if letter.row is not None else None)
    assert taken is not None
    letters.keep(log.append(taken.rows(log.schema), 5.0, taken.batch))  # and here it ended
    log.append(rows([600], 50), 6.0)
    done = complete(log, letters, 7.0)
    assert (done.taken, done.dead_again) == (4, Counter({EARLIER: 1}))
    assert ids(log.read(0, log.end)) == [0, 1, 10, 12, 20, 21, 22, 30, 50]
    assert letters.unsettled() is None


def test_an_edited_row_that_does_not_fit_stays_dead(tmp_path: Path) -> None:
    killed_replays.prepare(tmp_path)
    log, letters = killed_replays.opened(tmp_path)
    letters.add([Letter("edited", 0.0, row={"id": 1, "ts": "noon"}), Letter("edited", 0.0, row={"id": "one"})])
    assert replay(log, letters, 5.0, "edited").dead_again == {"edited": 2}
    assert [letter.reason for letter in letters.letters()].count("edited") == 2


def test_a_log_is_opened_without_its_workload(tmp_path: Path) -> None:
    killed_replays.prepare(tmp_path)
    log = StreamLog.reopen(tmp_path / "s")
    assert (log.stream, ids(log.read(0, log.end))) == (STREAM, [0, 1, 10, 12])
    log.close()
    file = tmp_path / "s" / "stream.json"
    identity = read_json(file)
    del identity["arrow"]
    write_json(file, identity)
    with pytest.raises(HeadgateError, match=r"stream\.json: the log of stream 's' was made before logs kept"):
        StreamLog.reopen(tmp_path / "s")
