"""What happens to a workload on the engine, and when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from headgate.cli.live_display import picture
from headgate.cli.run import _note_failures_and_paths
from headgate.cli.signals import Interruption
from headgate.model import HeadgateError
from headgate.spark.session import Session
from headgate.spark.status import NO_RESULTS, Status, StatusLine
from headgate.spark.workload import Schedule, left_out
from headgate.workload.reader import parse_workload

CHANGING = """
workload = { duration = "10 s" }
stream = [{ name = "s", arrivals = "poisson, rate=5", schema = "id bigint" }]
class = [{ name = "high", priority = 9 }, { name = "low" }]
query = [{ name = "q", class = "low", sql = "SELECT id FROM s", end = "4 s" }]
change = [
    { at = "3 s", class = "high", priority = 80 },
    { at = "1 s", policy = "bsd" },
    { at = "2 s", query = "q", class = "high" },
    { at = "2 s", stream = "s", rate = 50 },
]
"""


class Told:
    """Stands for a session; notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *given: self.told.append((name, *given))

    def __getitem__(self, name: str) -> Told:
        self.told.append((name,))
        return self


def test_changes_come_when_they_are_due() -> None:
    workload = parse_workload(CHANGING)
    schedule, told = Schedule.of(workload.changes), Told()
    for seconds in (0.5, 2.5, 9.0):
        schedule.advance(cast(Session, told), seconds)
        told.told.append(("until", seconds))
    assert told.told == [
        ("until", 0.5),
        ("set_policy", "bsd"),
        ("q",),
        ("move", "high"),
        ("until", 2.5),
        ("set_priority", "high", 80.0),
        ("until", 9.0),
    ]
    assert left_out(workload.changes) == 1


def test_a_change_that_does_not_fit_is_left_out_and_the_others_come() -> None:
    class Refuses(Told):
        def set_policy(self, policy: str) -> None:
            raise HeadgateError("there is no graph", hint="give one")

    told = Refuses()
    refused = Schedule.of(parse_workload(CHANGING).changes).advance(cast(Session, told), 9.0)
    assert refused == ["the change at 1 s was left out: there is no graph; give one"]
    assert told.told == [("q",), ("move", "high"), ("set_priority", "high", 80.0)]


def status() -> Status:
    return Status("fcfs", 1.0, 7, 7, (), (), ("", ""), {})


def test_a_failed_source_is_in_the_status() -> None:
    failed = replace(status(), dead_letters={"s": 3, "t": 0}, source_errors={"s": "the port is taken"})
    assert failed.to_json()["streams"] == {
        "s": {"dead_letters": 3, "error": "the port is taken"},
        "t": {"dead_letters": 0},
    }
    texts = [line.plain for line in picture(failed, 1.0, width=100, height=40)]
    assert "the source of stream 's' failed: the port is taken" in texts


def test_files_that_a_source_does_not_read_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    text = "1 file is not read: notes.txt in 'in'"
    noted = replace(status(), dead_letters={"s": 0}, source_notes={"s": text})
    assert noted.to_json()["streams"] == {"s": {"dead_letters": 0, "note": text}}
    _note_failures_and_paths(noted, Path("out/x"), None, Interruption())
    assert f"stream 's': {text}" in capsys.readouterr().err


def test_the_last_line_says_what_waits(capsys: pytest.CaptureFixture[str]) -> None:
    busy = replace(
        status(),
        queries=tuple(StatusLine(name, "c", "running", "", 12340, 1.0, NO_RESULTS, 1, 0, 0, 0) for name in "pq"),
    )
    interruption = Interruption()
    _note_failures_and_paths(status(), Path("out/x"), None, interruption)
    _note_failures_and_paths(busy, Path("out/x"), None, interruption)
    interruption.first(2)
    _note_failures_and_paths(busy, Path("out/x"), None, interruption)
    waits = "24,680 tuples wait and will be done when you run it again; results so far: headgate results out/x QUERY"
    assert capsys.readouterr().err.splitlines() == [
        "results: headgate results out/x QUERY",
        waits,
        f"headgate: interrupted; {waits}",
    ]
