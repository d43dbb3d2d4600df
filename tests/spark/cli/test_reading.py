"""`headgate results` and `headgate dead` on a directory that somebody else has open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from tests.spark.cli.conftest import Headgate

from headgate.spark.sinks.files import FileSink
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit, Output
from headgate.spark.store.dead_letters import DeadLetters, Letter
from headgate.spark.store.directory import DataDirectory

ROWS = 25
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    with DataDirectory(tmp_path / "data") as data:
        sink = FileSink(data.result("a/b"), "parquet")
        for number in range(1, ROWS + 1):
            row = {"n": number, "share": 1 / 3, "place": "[bold]x", "at": NOON, "tags": ["p", None], "none": None}
            sink.roll_forward(number, pa.Table.from_pylist([row]))
        data.result("quiet").mkdir()
        letters = DeadLetters(data.letters("s"))
        letters.add([Letter("late", NOON.timestamp(), row={"id": 1}), Letter("broken", 0.0, text="{[red]")])
        DeadLetters(data.letters("t"))
        yield data.path


def test_the_newest_rows_as_a_table(headgate: Headgate, directory: Path) -> None:
    result = headgate("results", directory, "a/b")
    heading, _, *rows = result.stdout.splitlines()
    assert heading.split() == ["n", "share", "place", "at", "tags", "none"]
    assert [row.split()[0] for row in rows] == [str(number) for number in range(6, 26)]
    assert rows[0].split()[1:4] == ["0.333333", "[bold]x", "2026-01-01T12:00:00+00:00"]
    assert result.stderr.startswith("the newest 20 of 25 rows")


def test_all_rows_as_json_and_csv(headgate: Headgate, directory: Path) -> None:
    lines = headgate("results", directory, "a/b", "--json").stdout.splitlines()
    assert [json.loads(line)["n"] for line in lines] == list(range(1, 26))
    heading, *rows = headgate("results", directory, "a/b", "--csv", "--rows", "2").stdout.splitlines()
    assert heading == "n,share,place,at,tags,none"
    assert rows[1] == '25,0.3333333333333333,[bold]x,2026-01-01T12:00:00+00:00,"[""p"", null]",'
    assert len(rows) == 2


def test_which_queries_there_are(headgate: Headgate, directory: Path) -> None:
    assert [line.split() for line in headgate("results", directory).stdout.splitlines()[2:]] == [
        ["a/b", "25"],
        ["quiet", "0"],
    ]
    assert headgate("results", directory, "quiet").stderr == "no results yet\n"
    assert headgate("results", directory, "quiet", "--json").stdout == ""


def test_results_that_are_not_in_files_yet(headgate: Headgate, directory: Path) -> None:
    """Somebody else has the directory open and has committed them."""
    log = CommitLog(directory / "commits")
    told = {"early": {"sink": "jsonl, behind=1h"}, "soon": {"sink": "parquet"}, "shown": {"sink": "console"}}
    early = Output.inline(pa.table({"n": [1, 2]}))
    log.append_all([Commit(queries=told), *[Commit(outputs={"early": early, "shown": early})] * 2])
    lines = headgate("results", directory, "early", "--json").stdout.splitlines()
    assert [json.loads(line)["n"] for line in lines] == [1, 2, 1, 2]
    assert [line.split() for line in headgate("results", directory).stdout.splitlines()[2:]][1:] == [
        ["early", "4"],
        ["quiet", "0"],
        ["soon", "0"],
    ]
    assert headgate("results", directory, "soon").stderr == "no results yet\n"
    refused = headgate("results", directory, "shown")
    assert refused.exit_code == 2
    said = "query 'shown' gives its results to its sink 'console': they are not kept here; follow it, or start it with"
    assert said in refused.stderr
    missing = headgate("results", directory, "showm")
    assert missing.exit_code == 2
    assert "unknown query 'showm'; known: a/b, early, quiet, soon" in missing.stderr


def test_dead_letters_by_reason(headgate: Headgate, directory: Path) -> None:
    rows = [line.split() for line in headgate("dead", directory).stdout.splitlines()[2:]]
    assert rows == [
        ["s", "late", "1", "2026-01-01", "12:00:00.000"],
        ["s", "broken", "1", "1970-01-01", "00:00:00.000"],
    ]
    assert headgate("dead", directory, "t").stderr == "no dead letters\n"


def test_dead_letters_one_by_one(headgate: Headgate, directory: Path) -> None:
    shown = headgate("dead", directory, "s").stdout
    assert '{"id": 1}' in shown
    assert "{[red]" in shown
    newest = json.loads(headgate("dead", directory, "--json", "--rows", "1").stdout)
    assert newest == {"stream": "s", "reason": "broken", "arrival": 0.0, "text": "{[red]", "append": 0}


def test_letters_that_are_being_written_or_replayed(headgate: Headgate, directory: Path) -> None:
    path = directory / "deadletters" / "s.jsonl"
    DeadLetters(path).take()
    with path.open("ab") as file:
        file.write(b'{"reason": "half')
    reasons = [json.loads(line)["reason"] for line in headgate("dead", directory, "--json").stdout.splitlines()]
    assert reasons == ["late", "broken"]


@pytest.mark.parametrize("command", ["run", "results", "dead", "journal"])
@pytest.mark.parametrize("columns", [80, 140])
def test_help_has_examples(headgate: Headgate, command: str, columns: int) -> None:
    result = headgate(command, "--help", columns=columns)
    assert result.exit_code == 0
    assert f"$ headgate {command}" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= columns
    assert f" {command} " in headgate("--help").stdout
