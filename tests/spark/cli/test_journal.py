"""`headgate journal` on a directory that somebody else has open."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from tests.spark.cli.conftest import Headgate

from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.journal import Entry, Journal

NOON = datetime(2026, 1, 1, 12, 0, 0, 250_000).timestamp()  # on the clock of whoever reads it


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    with DataDirectory(tmp_path / "data") as data:
        journal = Journal(data.journal)
        journal.write([Entry(NOON + n, "fire", "scheduled", "running", f"run {n}") for n in range(24)])
        journal.write([Entry(NOON + 24, "größe", "running", "suspended", "[bold]Division\nby zero\x1b")])
        data.result("forgotten").mkdir()
        yield data.path


def test_the_newest_changes_as_a_table(headgate: Headgate, directory: Path) -> None:
    result = headgate("journal", directory)
    heading, _, *rows = result.stdout.splitlines()
    assert heading.split() == ["time", "query", "change", "reason"]
    assert len(rows) == 20
    assert rows[0].split() == ["2026-01-01", "12:00:05.250", "fire", "scheduled", "→", "running", "run", "5"]
    assert rows[-1].split(maxsplit=2)[2].rstrip() == r"größe  running → suspended  [bold]Division by zero\x1b"
    assert result.stderr == "the newest 20 of 25 changes; --last says how many, --json prints all\n"


def test_all_changes_as_json(headgate: Headgate, directory: Path) -> None:
    lines = [json.loads(line) for line in headgate("journal", directory, "--json").stdout.splitlines()]
    assert len(lines) == 25
    assert lines[0] == {"at": NOON, "query": "fire", "from": "scheduled", "to": "running", "reason": "run 0"}
    assert lines[-1]["query"] == "größe"


def test_one_query_and_how_many(headgate: Headgate, directory: Path) -> None:
    lines = headgate("journal", directory, "--query", "fire", "--last", "2", "--json").stdout.splitlines()
    assert [json.loads(line)["reason"] for line in lines] == ["run 22", "run 23"]
    one = headgate("journal", directory, "--query", "größe")
    assert (one.stdout.count("\n"), one.stderr) == (3, "")
    assert headgate("journal", directory, "--query", "forgotten").stderr == "no changes of states yet\n"


def test_times_are_local(headgate: Headgate, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC+5")
    time.tzset()
    try:
        expected = datetime.fromtimestamp(NOON + 24).isoformat(sep=" ", timespec="milliseconds")
        assert headgate("journal", directory, "--last", "1").stdout.splitlines()[2].startswith(expected)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["data", "--query", "fir"], "unknown query 'fir'; did you mean 'fire'?"),
        (["data", "--query", "x"], "unknown query 'x'; known: fire, forgotten, größe"),
        (["data", "--last", "-1"], "--last must be at least 0, found -1; leave it out"),
        (["."], "is not a directory of a run; give the one that headgate run named"),
        (["none"], "there is no such directory; give the one that headgate run named"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    headgate: Headgate, directory: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.chdir(directory.parent)
    result = headgate("journal", *arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith("headgate: ")
    assert told in result.stderr


def test_a_directory_of_an_older_version_has_no_journal(headgate: Headgate, tmp_path: Path) -> None:
    DataDirectory(tmp_path).close()
    (tmp_path / "journal").rmdir()
    assert headgate("journal", tmp_path).stderr == "no changes of states yet\n"
    unknown = headgate("journal", tmp_path, "--query", "q")
    assert "unknown query 'q'; there is no query at all" in unknown.stderr
