"""What is only written down for people must not stop the engine."""

from __future__ import annotations

from pathlib import Path

from headgate.history.records import Delivery
from headgate.history.ring import HistoryRing
from headgate.spark.engine.recorder import Recorder
from headgate.spark.machine.lifecycle import Transition
from headgate.spark.store.journal import Journal, read_journal


def test_a_history_that_cannot_be_written_holds_up_nothing(tmp_path: Path) -> None:
    (tmp_path / "history").write_text("a file where the folder should be")
    lines: list[str] = []
    recorder = Recorder(Journal(tmp_path / "journal"), HistoryRing(tmp_path / "history"), lines.append)
    recorder.note(Delivery(1.0, "q", 1))
    recorder.note(Transition(2.0, "q", "checking", "running", "started"))
    recorder.note("a line of a trace")
    recorder.close()
    assert [entry.after for entry in read_journal(tmp_path)] == ["running"]
    assert lines == ["a line of a trace"]
