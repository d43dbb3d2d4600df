"""`headgate check`: everything that can be found wrong without Spark, each with its line, all at once."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Headgate

GOOD = """
[[stream]]
name = "readings"
schema = "id bigint, temp double, ts timestamp"
event_time = "ts"
source = "directory, path=incoming"

[[stream]]
name = "rooms"
schema = "id bigint, tags array<string>"
source = "socket, port=0"

[[class]]
name = "only"
lag = "skip, tuples=1000"

[[query]]
name = "hot"
count = 2
sql = "SELECT id FROM readings WHERE temp > 90"
sink = "jsonl"
lag = "wait, tuples=1000"

[[change]]
at = "1 s"
policy = "hnr"
"""
READINGS, ROOMS, HOT = "stream 'readings'", "stream 'rooms'", "query 'hot1'"
FOUND = {  # what is written instead of what, on which line, and what is said of it
    "a type": ("temp double", "temp doubble", 4, f"{READINGS}, schema: column 'temp' of 'readings' has no type"),
    "no schema": ('schema = "id bigint, tags array<string>"\n', "", 8, f"{ROOMS}, schema: {ROOMS} has no schema"),
    "event time": ("ts timestamp", "ts string", 5, f"{READINGS}, event_time: event time 'ts' of 'readings' is string"),
    "a column": ("ts timestamp", "ts timestamp, _x int", 4, f"{READINGS}, schema: {READINGS} has a column '_x'"),
    "a folder": ("path=incoming", "path=outgoing", 6, f"{READINGS}, source: there is no directory 'outgoing'"),
    "a setting": ("incoming", "incoming, patern=*", 6, f"{READINGS}, source: unknown directory setting 'patern'"),
    "a kind": ("socket, port=0", "kafka, topic=x", 11, f"{ROOMS}, source: unknown kind of source 'kafka'"),
    "a sink": ('"jsonl"', '"jsonn"', 21, f"{HOT}, sink: unknown sink 'jsonn'; did you mean 'jsonl'?"),
    "a callback": ('"jsonl"', '"callback"', 21, f"{HOT}, sink: a callback sink needs a function"),
    "lag of a query": ("wait,", "weit,", 22, f"{HOT}, lag: unknown lag limit 'weit'"),
    "lag of a class": ("skip,", "skipp,", 15, "class 'only', lag: unknown lag limit 'skipp'"),
    "a policy": ('"hnr"', '"hnrr"', 26, "change[0], policy: unknown policy 'hnrr'"),
    "a policy's need": ('"hnr"', '"slope-slack"', 26, "change[0], policy: slope-slack decides by QoS graphs"),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "incoming").mkdir()
    (tmp_path / "w.toml").write_text(GOOD)
    return tmp_path


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_nothing_is_wrong(headgate: Headgate, here: Path) -> None:
    for options in ((), ("--engine",), ("--engine", "--policy", "bsd")):
        result = headgate("check", "w.toml", *options)
        assert (result.exit_code, result.output) == (0, "w.toml: nothing wrong was found\n")


@pytest.mark.parametrize("what", FOUND)
@pytest.mark.parametrize("command", [("check", "w.toml", "--engine"), ("run", "w.toml", "--dir", "data")])
def test_each_with_its_line(headgate: Headgate, here: Path, what: str, command: tuple[str, ...]) -> None:
    """By `run` too, before it has made its directory or asked for Java."""
    right, wrong, line, said = FOUND[what]
    assert right in GOOD
    (here / "w.toml").write_text(GOOD.replace(right, wrong))
    result = headgate(*command)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"headgate: w.toml:{line}: {said}")
    assert len(result.stderr.splitlines()) == 1
    assert not (here / "data").exists()


def test_all_at_once_in_the_order_of_the_file(headgate: Headgate, here: Path) -> None:
    text = GOOD
    for what in ("a policy", "a type", "a sink", "a kind"):
        text = text.replace(*FOUND[what][:2])
    (here / "w.toml").write_text(text)
    told = problems(headgate)
    assert [int(line.split(":")[1]) for line in told] == [4, 11, 21, 26]
    assert headgate("check", "w.toml").stderr.count("\n") == 1  # the simulator needs only the policy
    first, second = headgate("run", "w.toml").stderr.splitlines()
    assert first == "headgate: 4 things are wrong; headgate check w.toml --engine tells all"
    assert second == f"headgate: {told[0]}"


def problems(headgate: Headgate, *options: str) -> list[str]:
    told = json.loads(headgate("check", "w.toml", "--json", *(options or ("--engine",))).stdout)["problems"]
    return [str(problem) for problem in told]


def test_what_cannot_be_read_does_not_hide_what_comes_after_it(headgate: Headgate, here: Path) -> None:
    further = """
[[query]]
name = "wrong"
count = 3
sql = "SELECT idd FROM readings"

[[query]]
name = "hot1"
sql = "SELECT id FROM reedings"

[[query]]
name = "lost"
class = "no"
sql = "SELECT id FROM rooms"
sink = "parkett"

[[query]]
name = "fine"
sql = "SELECT tags FROM rooms"
"""
    text = (
        GOOD.replace('event_time = "ts"', 'event_time = "tz"').replace('"jsonl"', '"jsonn"').replace('"hnr"', '"hnrr"')
    )
    (here / "w.toml").write_text(text + further)
    told = problems(headgate)
    assert [int(line.split(":")[1]) for line in told] == [5, 21, 26, 31, 34, 39]
    assert [line.partition(": ")[2].partition(":")[0] for line in told] == [
        "stream 'readings', event_time",
        "query 'hot1', sink",
        "change[0], policy",
        "query 'wrong1', sql",
        "query 'hot1', name",
        "query 'lost', class",
    ]
    assert len(problems(headgate, "--policy", "hnr")) == 5  # without --engine no sink is looked at


def test_all_that_is_not_of_the_form(headgate: Headgate, here: Path) -> None:
    text = GOOD.replace("count = 2", 'count = "two"').replace("lag = ", "lagg = ").replace('at = "1 s"', "at = 1")
    (here / "w.toml").write_text(text.replace('name = "only"', 'nam = "only"'))
    told = problems(headgate)
    assert [int(line.split(":")[1]) for line in told] == [14, 15, 19, 22, 25]
    assert not any("missing" in line for line in told)  # a misspelt key is not missing, too


def test_ports(headgate: Headgate, here: Path, taken: int) -> None:
    (here / "w.toml").write_text(GOOD.replace("port=0", f"port={taken}").replace("tags array<string>", "tag string"))
    result = headgate("check", "w.toml", "--engine")
    assert f"w.toml:11: stream 'rooms', source: cannot listen on port {taken}" in result.stderr


def test_the_policy_with_which_a_run_begins(headgate: Headgate, here: Path) -> None:
    for command in ("check", "run"):
        result = headgate(command, "w.toml", *(["--engine"] if command == "check" else []), "--policy", "slope-slack")
        assert result.exit_code == 2
        assert "slope-slack decides by QoS graphs" in result.stderr


def test_a_policy_is_checked_for_the_queries_of_its_time(headgate: Headgate, here: Path) -> None:
    (here / "w.toml").write_text(GOOD.replace('"hnr"', '"slope-slack"').replace("count = 2", 'count = 2\nend = "1 s"'))
    assert headgate("check", "w.toml").exit_code == 0


def test_a_file_that_cannot_be_read_at_all(headgate: Headgate, here: Path) -> None:
    (here / "w.toml").write_text(GOOD.replace("[[class]]", "[[clas]]"))
    result = headgate("check", "w.toml", "--json")
    assert result.exit_code == 2
    assert len(json.loads(result.stdout)["problems"]) == 1
