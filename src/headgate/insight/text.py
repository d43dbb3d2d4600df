"""Runs and groups in words."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.history.records import RunRecord
from headgate.model import Why
from headgate.model.number_text import duration


def runs_text(runs: Sequence[RunRecord], live: bool = False) -> str:
    """How many runs, and how many tuples they took; `live` if what has not ended is still running.

    >>> run = RunRecord(1, 0, "q", "c", ("q",), 41000, 0.0, 0.0, 1.0, 1.0)
    >>> runs_text([run]), runs_text([run, run])
    ('one run, 41,000 tuples', '2 runs, 82,000 tuples')
    """
    tuples = sum(run.tuples for run in runs)
    count = "one run" if len(runs) == 1 else f"{len(runs):,} runs"
    return f"{count}, {tuples:,} tuple{'' if tuples == 1 else 's'}{unfinished_text(runs, live)}"


def unfinished_text(runs: Sequence[RunRecord], live: bool) -> str:
    """What is to be said of runs that had not ended when the record did.

    >>> run = RunRecord(1, 0, "q", "c", ("q",), 41000, 0.0, 0.0, 1.0, 1.0, unfinished=True)
    >>> unfinished_text([run], live=True), unfinished_text([run], live=False)
    (', still running', ', which did not end')
    """
    count = sum(run.unfinished for run in runs)
    if not count:
        return ""
    some = "" if count == len(runs) == 1 else f"{count:,} of them "
    return f", {some}still running" if live else f", {some or 'which '}did not end"


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


def stretch_text(asked: float | None, whole: float) -> str:
    """Which stretch of time a summary is about: the newest so many seconds, or all that is recorded.

    >>> stretch_text(60.0, 60.0), stretch_text(None, 12.5), stretch_text(30.0, 30.0), stretch_text(600.0, 600.0)
    ('in the last minute', 'in 12.5 s', 'in the last 30 s', 'in the last 10 minutes')
    """
    if asked is None:
        return f"in {duration(whole)}"
    if asked < 60.0 or asked % 60.0:
        return f"in the last {duration(asked)}"
    return "in the last minute" if asked == 60.0 else f"in the last {asked / 60.0:g} minutes"


def decision_text(number: int, why: Why) -> str:
    """A decision in words, without its numbers.

    >>> decision_text(7, Why("hnr", "highest S/(C·T)", "fire"))
    'decision 7 by hnr: fire ran, by highest S/(C·T)'
    """
    rule = f", by {why.rule}" if why.rule else ""
    return f"decision {number} by {why.policy}: {why.winner} ran{rule}"
