"""Runs are drawn in the rows of their workers."""

from __future__ import annotations

from tests.insight.histories import run

from headgate.insight.parts import Moments
from headgate.insight.picture import _longest, _rows


def test_runs_that_commit_take_no_row() -> None:
    slots = [(0, 0.0, 2.0), (1, 0.0, 1.0), (2, 1.0, 3.0), (3, 2.0, 4.0)]  # two workers, four runs that are not over
    runs = [run(number, "q", began, ended, 9.0, worker=slot) for number, (slot, began, ended) in enumerate(slots)]
    assert _rows(runs, workers=2) == {0: 0, 1: 1, 2: 1, 3: 0}
    assert _rows(runs, workers=4) == {0: 0, 1: 1, 2: 2, 3: 3}


def test_of_every_class_the_longest_waits() -> None:
    waits = {
        name: [Moments(0.0, 0.0, seconds, 99.0, 99.0, 99.0)] for name, seconds in zip("abcd", (9, 8, 7, 1), strict=True)
    }
    assert _longest(waits, {"a": "low", "b": "low", "c": "low", "d": "high"}) == ["a", "d", "b", "c"]
