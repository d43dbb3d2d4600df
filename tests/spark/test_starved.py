"""A class that gets nothing while others run is told, with what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.spark.cli.status_lines import line, status_of

from headgate.cli.live_display import one_line, starvation
from headgate.spark.status import Status


def seen(*classes: tuple[str, float, float]) -> Status:
    """The status of classes, each with its rate and its oldest wait."""
    lines = tuple(line(name, name, rate=rate, oldest_wait=wait) for name, rate, wait in classes)
    return replace(status_of([]), policy="weighted-hr", classes=lines)


def test_a_class_that_gets_nothing_is_told() -> None:
    status = seen(("critical", 0.0, 25.0), ("background", 80.0, 0.2))
    assert status.starved == ("critical",)
    (sentence,) = starvation(status)
    assert sentence.startswith("class critical gets nothing: its tuples have waited for 25 s under weighted-hr")
    assert sentence in one_line(status, 30.0)
    assert status.to_json()["starved"] == ["critical"]


@pytest.mark.parametrize(
    "classes",
    [
        [("critical", 0.0, 5.0), ("background", 80.0, 0.2)],  # not for long yet
        [("critical", 0.0, 0.0), ("background", 80.0, 0.2)],  # nothing waits
        [("critical", 0.1, 25.0), ("background", 80.0, 0.2)],  # it is slow, but moves
        [("critical", 0.0, 25.0), ("background", 0.0, 25.0)],  # nobody runs
    ],
)
def test_others_are_not(classes: list[tuple[str, float, float]]) -> None:
    status = seen(*classes)
    assert (status.starved, starvation(status)) == ((), [])
    assert "starved" not in status.to_json()
