"""`headgate dead --replay`, on a directory that nobody has open, without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.spark.cli.conftest import Headgate
from tests.spark.store.builders import SCHEMA, STREAM, ids, rows

from headgate.spark.store.dead_letters import DeadLetters, Letter
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.log.stream_log import StreamLog


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with DataDirectory(tmp_path / "data") as data:
        log = StreamLog.open(data.stream("s"), STREAM, SCHEMA)
        letters = DeadLetters(data.letters("s"))
        log.append(rows([500]), 0.0)
        letters.keep(log.append(rows([1], 1), 1.0))
        letters.add([Letter("broken JSON", 2.0, text="{"), Letter("query q: division by zero", 3.0, offset=0)])
        log.close()
        StreamLog.open(data.stream("t"), STREAM, SCHEMA).close()
        DeadLetters(data.letters("t"))
    return tmp_path / "data"


def lines(headgate: Headgate, *arguments: str | Path) -> list[dict[str, Any]]:
    result = headgate("dead", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_corrected_letter_is_taken(headgate: Headgate, directory: Path) -> None:
    file = directory / "deadletters" / "s.jsonl"
    good = json.dumps('{"id": 7, "ts": "2020-01-01T00:00:00Z"}')
    file.write_text(file.read_text("utf-8").replace('"text":"{"', f'"text":{good}'), encoding="utf-8")
    result = headgate("dead", directory, "--replay")
    assert [line.rstrip().split(maxsplit=2) for line in result.stdout.splitlines()[2:]] == [
        ["s", "1", "taken"],
        ["s", "1", "left: its tuple is in the stream: queries without windows have it"],
        ["s", "1", "left: its tuple is in the stream: correct the query"],
    ]
    with DataDirectory(directory) as data:
        log = StreamLog.reopen(data.stream("s"))
        assert ids(log.read(0, log.end)) == [0, 1, 7]
        log.close()
    assert [letter["reason"] for letter in lines(headgate, directory)] == [
        "late by 490 us",
        "query q: division by zero",
    ]


def test_a_second_time_takes_nothing(headgate: Headgate, directory: Path) -> None:
    told = {
        "stream": "s",
        "taken": 0,
        "dead_again": {"broken JSON": 1},
        "left": {
            "its tuple is in the stream: queries without windows have it": 1,
            "its tuple is in the stream: correct the query": 1,
        },
    }
    for _ in range(2):
        assert lines(headgate, directory, "--replay") == [told]
    assert len(lines(headgate, directory, "s")) == 3


def test_stream_and_reason_choose(headgate: Headgate, directory: Path) -> None:
    assert lines(headgate, directory, "--replay", "--stream", "t") == []
    assert headgate("dead", directory, "--replay", "--stream", "t").stderr == "no dead letters\n"
    (told,) = lines(headgate, directory, "--replay", "--stream", "s", "--reason", "JSON")
    assert (told["dead_again"], told["left"]) == ({"broken JSON": 1}, {})
    assert [letter["reason"] for letter in lines(headgate, directory, "--reason", "lat")] == ["late by 490 us"]


def test_what_was_taken_and_not_settled_is_listed_once(headgate: Headgate, directory: Path) -> None:
    path = directory / "deadletters" / "s.jsonl"
    before = path.read_bytes()
    DeadLetters(path).take()
    assert len(lines(headgate, directory)) == 3
    path.write_bytes(before)  # as if it had been broken off: the letters are in both files
    assert len(lines(headgate, directory)) == 3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--replay", "--rows", "3"), "--rows and --replay are both given; choose letters by --stream and --reason"),
        (("s", "--stream", "s"), "the stream is given twice; leave out --stream"),
        (("--replay", "--stream", "x"), "unknown stream 'x'; known: s, t"),
    ],
)
def test_wrong_input(headgate: Headgate, directory: Path, arguments: tuple[str, ...], says: str) -> None:
    result = headgate("dead", directory, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr


def test_a_directory_in_use_is_refused(headgate: Headgate, directory: Path) -> None:
    with DataDirectory(directory):
        result = headgate("dead", directory, "--replay")
    assert result.exit_code == 2
    assert "the data directory is in use by process" in result.stderr
    assert "stop it first, or call replay of its session" in result.stderr
    assert len(lines(headgate, directory)) == 3
