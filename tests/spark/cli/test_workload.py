"""What happens to a workload on the engine, and when; and the table that shows it."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from headgate.cli.run import _note_failures_and_paths, _picture
from headgate.cli.signals import Interruption
from headgate.cli.status_table import status_table
from headgate.metrics.measures.response import Distribution
from headgate.model import HeadgateError
from headgate.spark.session import Session
from headgate.spark.status import Status, StatusLine
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
    schedule, told = Schedule.of(workload), Told()
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
    refused = Schedule.of(parse_workload(CHANGING)).advance(cast(Session, told), 9.0)
    assert refused == ["the change at 1 s was left out: there is no graph; give one"]
    assert told.told == [("q",), ("move", "high"), ("set_priority", "high", 80.0)]


def line(name: str, query_class: str) -> StatusLine:
    return StatusLine(
        name,
        query_class,
        "running",
        "",
        1234,
        10.25,
        Distribution(mean=0.1, p50=0.1, p95=0.25, max=0.3),
        7,
        54321,
        321,
        0,
    )


def status() -> Status:
    classes = tuple(line(name, name) for name in ("critical", "background"))
    queries = tuple(line(f"query-number-{n}", one.name) for one in classes for n in range(10))
    return Status("fcfs", 1.0, 7, 7, classes, queries, ("", ""), {})


def shown(height: int | None, width: int = 80) -> list[str]:
    written = io.StringIO()
    Console(width=width, file=written).print(status_table(status(), height))
    return [text.rstrip() for text in written.getvalue().splitlines()]


def test_the_table_fits_80_columns() -> None:
    first = shown(None)[4]
    assert " ".join(first.split()) == "query-number-0 1,234 10.25 0.10 0.25 7 54,321 321 0"
    assert len(shown(None)) == 3 + 2 + 20


def test_the_table_fits_a_low_terminal() -> None:
    texts = shown(8)
    assert len(texts) == 3 + 8 + 1
    assert [text.split()[0] for text in texts[3:]] == [
        "critical",
        *(f"query-number-{n}" for n in range(6)),
        "background",
        "14",
    ]


def test_the_table_shows_states_that_differ() -> None:
    paused = replace(status().queries[0], state="suspended")
    written = io.StringIO()
    Console(width=100, file=written).print(status_table(replace(status(), queries=(paused, *status().queries[1:]))))
    assert "state" in written.getvalue()
    assert "query-number-0  suspended" in written.getvalue()
    assert "query-number-1  running" in written.getvalue()


def test_a_failed_source_is_in_the_status() -> None:
    failed = replace(status(), dead_letters={"s": 3, "t": 0}, source_errors={"s": "the port is taken"})
    assert failed.to_json()["streams"] == {
        "s": {"dead_letters": 3, "error": "the port is taken"},
        "t": {"dead_letters": 0},
    }
    written = io.StringIO()
    Console(width=100, file=written).print(_picture(failed, 1.0, 40))
    assert "the source of stream 's' failed: the port is taken" in written.getvalue()


def test_files_that_a_source_does_not_read_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    text = "1 file is not read: notes.txt in 'in'"
    noted = replace(status(), dead_letters={"s": 0}, source_notes={"s": text})
    assert noted.to_json()["streams"] == {"s": {"dead_letters": 0, "note": text}}
    _note_failures_and_paths(noted, Path("out/x"), None, Interruption())
    assert f"stream 's': {text}" in capsys.readouterr().err


def test_the_last_line_says_what_waits(capsys: pytest.CaptureFixture[str]) -> None:
    calm = replace(status(), queries=tuple(replace(line, waiting=0) for line in status().queries))
    interruption = Interruption()
    _note_failures_and_paths(calm, Path("out/x"), None, interruption)
    _note_failures_and_paths(status(), Path("out/x"), None, interruption)
    interruption.first(2)
    _note_failures_and_paths(status(), Path("out/x"), None, interruption)
    waits = "24,680 tuples wait and will be done when you run it again; results so far: headgate results out/x QUERY"
    assert capsys.readouterr().err.splitlines() == [
        "results: headgate results out/x QUERY",
        waits,
        f"headgate: interrupted; {waits}",
    ]
