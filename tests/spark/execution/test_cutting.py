"""A query that is cut and joined while tuples come gives the same results as one that is whole all the time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.queries.plain_query import SQL, PlainQuery, Row, without_spark

from headgate.model import Level
from headgate.spark.compile.leaf_rows import Range
from headgate.spark.execution.cutting import cut_up, remaining_ranges

pytestmark = pytest.mark.slow

rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.integers(0, 3), st.integers(0, 12)), max_size=6
).map(lambda rows: sorted(rows, key=lambda row: row[3]))
steps = st.lists(st.one_of(rows, st.sampled_from(["run", "run first", "cut", "join"])), max_size=8)


@pytest.fixture(autouse=True)
def no_spark() -> Iterator[None]:
    with without_spark():
        yield


def play(query: PlainQuery, steps: list[list[Row] | str], *, cuts: bool) -> None:
    """Append rows and run; cut and join in between if asked, and end with a whole query that has read everything."""
    second = 0
    for step in steps:
        if isinstance(step, list):
            query.append([(stream, k, v, second + at) for stream, k, v, at in step])
            second += 12  # nothing is late
        elif not cuts:
            query.run()
        elif step == "cut" and query.layout.whole:
            query.cut()
        elif step == "join" and not query.layout.whole:
            query.join()
        else:
            query.run(1 if step == "run first" else None)
    query.finish()
    query.run()
    if not query.layout.whole:
        query.join()


@pytest.mark.parametrize("sql", SQL.values(), ids=SQL)
@settings(max_examples=20, deadline=None)
@given(steps=steps)
def test_cutting_and_joining_do_not_change_the_results(sql: str, steps: list[list[Row] | str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole, cut = PlainQuery(Path(folder) / "whole", sql), PlainQuery(Path(folder) / "cut", sql)
        play(whole, steps, cuts=False)
        play(cut, steps, cuts=True)
        assert cut.results == whole.results
        assert cut.positions == whole.positions
        whole.close()
        cut.close()


def test_a_cut_keeps_what_open_windows_need_in_its_fragment_logs(tmp_path: Path) -> None:
    query = PlainQuery(tmp_path, SQL["counts"])
    query.append([("a", 1, 1, 1), ("a", 1, 1, 2), ("a", 1, 0, 3), ("a", 1, 1, 7)])
    query.run()
    assert sum(query.results.values()) == 1  # the window from 0 to 5 is closed, that from 5 to 10 is open
    query.cut()
    (log,) = (log for log in query.layout.logs.values() if log.end)
    assert log.end == 1  # the tuple at second 7; those of closed windows and the one that is filtered out are not there
    assert remaining_ranges(query.running(), query.layout.fragments[0]) is None
    query.close()


def test_rows_that_wait_in_a_fragment_log_must_be_taken_before_the_query_is_joined(tmp_path: Path) -> None:
    query = PlainQuery(tmp_path, SQL["chain"])
    query.cut()
    query.append([("a", 1, 1, 1), ("a", 1, 2, 2)])
    query.run(fragments=1)
    ranges = remaining_ranges(query.running(), query.layout.fragments[1])
    assert ranges is not None
    assert list(ranges.values()) == [Range(0, 2)]
    query.join()
    assert query.results == {(1, 2): 1, (1, 3): 1}
    assert list(query.positions.values()) == [2]
    query.close()


def test_a_cut_that_fails_leaves_no_fragment_logs(tmp_path: Path) -> None:
    query = PlainQuery(tmp_path, SQL["counts"])
    query.append([("a", 1, 1, 1)])
    query.run()

    class Failing:
        def run(self, *given: object, **named: object) -> None:
            raise RuntimeError("no memory")

    with pytest.raises(RuntimeError, match="no memory"):
        cut_up(query.running(), Level.OPERATOR, 1, query.cutter, Failing(), query.logs)  # type: ignore[arg-type]
    assert not [path for path in query.cutter.folder.rglob("*") if path.is_file()]
    query.close()
