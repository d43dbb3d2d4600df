"""Which offsets a query may still read: what lies before them can be dropped, and nothing changes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.queries.plain_query import SQL, PlainQuery, Row, without_spark

from headgate.spark.queries.retention import drop_fragment_rows, droppable, needed_from, streams_needed_from

pytestmark = pytest.mark.slow

rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 1), st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=5
).map(lambda rows: sorted(rows, key=lambda row: row[3]))
steps = st.lists(st.tuples(rows, st.sampled_from(["run", "run first", "cut", "join"])), min_size=1, max_size=6)


@pytest.fixture(autouse=True)
def no_spark() -> Iterator[None]:
    with without_spark():
        yield


def play(query: PlainQuery, steps: list[tuple[list[Row], str]], *, drops: bool) -> None:
    for number, (appended, step) in enumerate(steps):
        query.append([(stream, k, v, 4 * number + at) for stream, k, v, at in appended])
        if step == "cut" and query.layout.whole:
            query.cut()
        elif step == "join" and not query.layout.whole:
            query.join()
        query.run(1 if step == "run first" else None)
        if drops:
            drop_fragment_rows([query.running()], query.logs)
            for stream, offset in streams_needed_from([query.running()], query.logs).items():
                query.logs[stream].drop_before(offset)
    query.finish()
    query.run()


@pytest.mark.parametrize("sql", SQL.values(), ids=SQL)
@settings(max_examples=20, deadline=None)
@given(steps=steps)
def test_what_is_not_needed_can_be_dropped_without_changing_results(
    sql: str, steps: list[tuple[list[Row], str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        keeping, dropping = PlainQuery(Path(folder) / "keeping", sql), PlainQuery(Path(folder) / "dropping", sql)
        play(keeping, steps, drops=False)
        play(dropping, steps, drops=True)
        assert dropping.results == keeping.results
        keeping.close()
        dropping.close()


def test_a_query_without_windows_needs_nothing_that_it_has_taken(tmp_path: Path) -> None:
    query = PlainQuery(tmp_path, SQL["chain"])
    query.append([("a", 1, 1, second) for second in range(4)])
    assert list(needed_from(query.running(), query.logs).values()) == [0]
    query.run()
    assert list(needed_from(query.running(), query.logs).values()) == [4]
    query.close()


def test_a_query_needs_the_tuples_of_its_open_windows(tmp_path: Path) -> None:
    query = PlainQuery(tmp_path, SQL["counts"])
    query.append([("a", 1, 1, second) for second in (1, 4, 6, 8)])
    query.run()
    assert streams_needed_from([query.running()], query.logs) == {"a": 2}  # from second 5 on
    query.append([("a", 1, 1, 11)])
    query.run()
    assert streams_needed_from([query.running()], query.logs) == {"a": 4}
    query.close()


def test_a_fragmented_query_needs_its_window_s_rows_in_the_fragment_log_instead(tmp_path: Path) -> None:
    query = PlainQuery(tmp_path, SQL["counts"])
    query.cut()
    query.append([("a", 1, 1, second) for second in (1, 4, 6, 8)])
    query.run()
    log = query.layout.logs[str(query.layout.fragments[0].feeds_name)]  # of the rows that its window counts
    drop_fragment_rows([query.running()], query.logs)
    kept = log.end - log.start
    assert 0 < kept <= 4
    query.append([("a", 1, 1, second) for second in (11, 16, 21)])
    query.run()
    drop_fragment_rows([query.running()], query.logs)
    assert log.end - log.start < 7
    assert sum(row[-1] * count for row, count in query.results.items()) == 6
    query.close()


def test_the_slowest_query_decides_and_nothing_is_asked_where_nothing_can_be_dropped(tmp_path: Path) -> None:
    fast, slow = PlainQuery(tmp_path / "fast", SQL["chain"]), PlainQuery(tmp_path / "slow", SQL["chain"])
    slow.logs = fast.logs
    assert droppable([fast.running()], fast.logs) == {}
    fast.append([("a", 1, 1, second) for second in range(4)])
    fast.run()
    assert streams_needed_from([fast.running(), slow.running()], fast.logs) == {"a": 0}
    slow.run()
    assert streams_needed_from([fast.running(), slow.running()], fast.logs) == {"a": 4}
    assert droppable([fast.running(), slow.running()], fast.logs) == {"a": 4}
    fast.close()
