"""Records of a history: what is written as lines is read back, and what is no line is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.history.history import History
from headgate.history.records import (
    Answer,
    Arrivals,
    Delivery,
    Record,
    RunRecord,
    Setting,
    from_line,
    to_line,
)
from headgate.model import HeadgateError, WaitingUnit, Why

TIMES = st.floats(0, 1e10, allow_nan=False)
COUNTS = st.integers(0, 10**9)
NAMES = st.text(max_size=20)
NUMBERS = st.dictionaries(NAMES, st.floats(allow_nan=False), max_size=3)
UNITS = st.builds(WaitingUnit, NAMES, NAMES, st.tuples(NAMES), COUNTS, TIMES, NUMBERS)
WHYS = st.builds(
    Why, NAMES, NAMES, NAMES, NUMBERS, st.none() | NAMES, NUMBERS, NAMES, st.lists(UNITS, max_size=2).map(tuple)
)
RUNS = st.builds(
    RunRecord,
    id=COUNTS,
    worker=COUNTS,
    unit=NAMES,
    query_class=NAMES,
    queries=st.lists(NAMES, max_size=2).map(tuple),
    tuples=COUNTS,
    oldest=TIMES,
    began=TIMES,
    evaluated=TIMES,
    ended=TIMES,
    answers=st.dictionaries(NAMES, st.builds(Answer, COUNTS, TIMES, TIMES, st.none() | TIMES, TIMES), max_size=2),
    error=st.none() | NAMES,
    takes=st.lists(st.tuples(COUNTS, COUNTS, COUNTS), max_size=2).map(tuple),
    why=st.none() | WHYS,
)
RECORDS = (
    RUNS
    | st.builds(Arrivals, TIMES, NAMES, st.lists(st.tuples(TIMES, COUNTS), max_size=3).map(tuple))
    | st.builds(Delivery, TIMES, NAMES, COUNTS)
    | st.builds(Setting, TIMES, TIMES, st.dictionaries(NAMES, COUNTS, max_size=2))
)


@given(RECORDS)
def test_a_record_survives_its_line(record: Record) -> None:
    assert from_line(to_line(record)) == record


@pytest.mark.parametrize("line", ["", "{", "7", "{}", '{"walk": {}}', '{"run": {"id": 1}}', '{"delivery": [1]}'])
def test_what_is_no_record_is_refused(line: str) -> None:
    with pytest.raises(HeadgateError, match="not a line of a history"):
        from_line(line)


def test_a_history_knows_when_results_were_delivered() -> None:
    history = History.of([Delivery(3.0, "q", 5), Delivery(4.0, "q", 9), Delivery(1.0, "other", 7)])
    assert [history.delivered("q", commit) for commit in (4, 5, 6, 9, 10)] == [3.0, 3.0, 4.0, 4.0, None]
