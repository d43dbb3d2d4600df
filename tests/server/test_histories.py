"""The history is read again only if it has changed, and each tenant has its own."""

from __future__ import annotations

from pathlib import Path

from tests.insight.histories import run, setting

from headgate.history.ring import FOLDER, HistoryRing, is_history_file, raw_history, read_history, read_history_file
from headgate.server.histories import Histories
from headgate.server.workspace.names import Names

EVERYBODY = Names()


def ring(directory: Path) -> HistoryRing:
    made = HistoryRing(directory / FOLDER)
    made.write(setting({"acme..a": "critical", "b": "background"}))
    made.write(run(1, "b", 1.0, 2.0, answers={"b": (0.5,)}))
    made.write(run(2, "acme..a", 2.0, 3.0, query_class="critical", answers={"acme..a": (0.5,)}))
    made.flush()
    return made


def test_what_has_not_changed_is_not_read_again(tmp_path: Path) -> None:
    written = ring(tmp_path)
    histories = Histories(fresh=0.0)
    first = histories.explainer(tmp_path, EVERYBODY)
    own = histories.explainer(tmp_path, Names("acme"))
    assert histories.explainer(tmp_path, EVERYBODY) is first
    assert histories.explainer(tmp_path, Names("acme")) is own
    assert [one.queries for one in own.history.runs] == [("other work",), ("a",)]
    written.write(run(3, "b", 4.0, 5.0))
    written.flush()
    assert len(histories.explainer(tmp_path, EVERYBODY).runs) == 3
    assert len(histories.explainer(tmp_path, Names("acme")).runs) == 3
    written.close()


def test_what_was_read_a_moment_ago_is_good_enough(tmp_path: Path) -> None:
    written = ring(tmp_path)
    histories = Histories(fresh=3600.0)
    first = histories.explainer(tmp_path, EVERYBODY)
    written.write(run(3, "b", 4.0, 5.0))
    written.close()
    assert histories.explainer(tmp_path, EVERYBODY) is first


def test_the_lines_of_a_history_are_a_file_that_says_the_same(tmp_path: Path) -> None:
    assert list(raw_history(tmp_path)) == []
    ring(tmp_path).close()
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"".join(raw_history(tmp_path)))
    assert is_history_file(path)
    assert read_history_file(path) == read_history(tmp_path)
