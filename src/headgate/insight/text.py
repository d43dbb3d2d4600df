"""Seconds, runs and groups in words."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.history.records import RunRecord
from headgate.model.number_text import UNITS, significant


def time_text(value: float) -> str:
    """A time with three digits.

    >>> time_text(0.7404), time_text(3.14159), time_text(0.0), time_text(741.26)
    ('740 ms', '3.14 s', '0 s', '741 s')
    """
    unit, scale = next(((unit, scale) for unit, scale in UNITS if abs(value) >= scale * 0.9995), UNITS[-1])
    return f"{significant(value / scale, 3)} {unit}" if abs(value) >= 1e-9 else "0 s"


def runs_text(runs: Sequence[RunRecord]) -> str:
    """How many runs, and how many tuples they took.

    >>> run = RunRecord(1, 0, "q", "c", ("q",), 41000, 0.0, 0.0, 1.0, 1.0)
    >>> runs_text([run]), runs_text([run, run])
    ('one run, 41,000 tuples', '2 runs, 82,000 tuples')
    """
    tuples = sum(run.tuples for run in runs)
    count = "one run" if len(runs) == 1 else f"{len(runs):,} runs"
    return f"{count}, {tuples:,} tuple{'' if tuples == 1 else 's'}"


def who_text(query_class: str, runs: Sequence[RunRecord]) -> str:
    """Whose runs these are.

    >>> group = RunRecord(1, 0, "a+b", "background", ("a", "b"), 9, 0.0, 0.0, 1.0, 1.0)
    >>> who_text("background", [group])
    'the background group of 2'
    """
    units = {run.unit: run for run in runs}
    if len(units) > 1:
        queries = {query for run in runs for query in run.queries}
        return f"{len(queries)} queries of {query_class}" if len(queries) > 1 else f"{query_class}'s {min(queries)}"
    (run,) = units.values()
    if len(run.queries) > 1:
        return f"the {query_class} group of {len(run.queries)}"
    return f"{query_class}'s {run.unit}"
