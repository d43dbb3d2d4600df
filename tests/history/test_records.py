"""Records of a history: what is written as lines is read back, and what is no line is refused."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.history.history import History
from headgate.history.lines import from_line, from_lines, to_lines
from headgate.history.records import Answer, Arrivals, Delivery, Record, RunRecord, RunStart, Setting
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
    recorded_why=st.none() | WHYS,
)
STARTS = RUNS.map(
    lambda run: RunStart(**{one.name: getattr(run, one.name) for one in fields(RunStart) if one.name != "released"})
)
RECORDS = (
    RUNS
    | STARTS
    | st.builds(Arrivals, TIMES, NAMES, st.lists(st.tuples(TIMES, COUNTS), max_size=3).map(tuple))
    | st.builds(Delivery, TIMES, NAMES, COUNTS)
    | st.builds(Setting, TIMES, TIMES, st.dictionaries(NAMES, COUNTS, max_size=2))
)


@given(RECORDS)
def test_a_record_survives_its_lines(record: Record) -> None:
    lines = to_lines(record).splitlines(keepends=True)
    (read,) = from_lines(lines)
    assert read == record == from_line(lines[0])
    if isinstance(record, RunRecord | RunStart):
        assert isinstance(read, RunRecord | RunStart)
        assert read.why == record.why
        assert to_lines(read) == to_lines(record)


@given(RUNS, NAMES)
def test_a_query_that_was_passed_over_is_found_before_and_after_writing(record: RunRecord, name: str) -> None:
    (read,) = from_lines(to_lines(record).splitlines(keepends=True))
    assert isinstance(read, RunRecord)
    queries = [] if record.why is None else [query for unit in record.why.waiting for query in unit.queries]
    for query in (name, *queries):
        assert read.passed_over(query) == record.passed_over(query)
        assert (record.passed_over(query) is not None) == (query in queries)


@given(RUNS, st.data())
def test_lines_that_are_cut_off_are_left_out(record: RunRecord, data: st.DataObject) -> None:
    whole = to_lines(record)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    found = list(from_lines(cut.splitlines(keepends=True)))
    assert found == [record] * (b"\n" in cut or cut == to_lines(record)[: whole.index(b"\n")])


def test_a_start_counts_until_its_run_has_ended() -> None:
    why = Why("hnr", "highest", "fire")
    start = RunStart(7, 0, "fire", "gold", ("fire",), 9, oldest=0.5, began=1.0, decision=3, recorded_why=why)
    run = RunRecord.of_start(start, 1.5, 2.0, recorded_why=None)
    begun, ended = to_lines(start).splitlines(keepends=True), to_lines(run).splitlines(keepends=True)
    history = History.of(from_lines(begun))
    assert (history.runs, history.under_way, history.ended) == ([], [start], 1.0)
    (unfinished,) = history.runs_so_far()
    assert (unfinished.unfinished, unfinished.ended, unfinished.why) == (True, 1.0, why)
    history = History.of(from_lines([*begun, *ended]))
    assert (history.runs, history.under_way, history.runs[0].why) == ([run], [], why)


def test_a_decision_of_another_run_is_not_believed() -> None:
    start = RunStart(7, 0, "fire", "gold", ("fire",), 9, 0.5, 1.0, recorded_why=b'{"why":{"run":8,"policy":"hnr"}}')
    assert start.why is None


@pytest.mark.parametrize("line", ["", "{", "7", "{}", '{"walk": {}}', '{"run": {"id": 1}}', '{"delivery": [1]}'])
def test_what_is_no_record_is_refused(line: str) -> None:
    with pytest.raises(HeadgateError, match="not a line of a history"):
        from_line(line)


def test_a_history_knows_when_results_were_delivered() -> None:
    history = History.of([Delivery(3.0, "q", 5), Delivery(4.0, "q", 9), Delivery(1.0, "other", 7)])
    assert [history.delivered("q", commit) for commit in (4, 5, 6, 9, 10)] == [3.0, 3.0, 4.0, 4.0, None]
