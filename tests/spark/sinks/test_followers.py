"""Followers: their inboxes are bounded, missed rows are counted, dropped followers are forgotten. Without Spark."""

from __future__ import annotations

import gc
import threading

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model import HeadgateError
from headgate.spark.sinks.followers import Followers, Inbox

PATIENCE = 30.0


def batch(first: int, rows: int = 100) -> pa.Table:
    return pa.table({"x": pa.array(range(first, first + rows), pa.int64())})


def values(tables: list[pa.Table]) -> list[int]:
    return [value for table in tables for value in table["x"].to_pylist()]


@given(st.lists(st.integers(0, 60) | st.none(), max_size=60), st.integers(1, 2000))
def test_what_waits_is_bounded_and_nothing_is_lost_without_a_word(steps: list[int | None], buffer: int) -> None:
    """Numbers are batches of so many rows, None is one read: what was read and what was missed is all there was."""
    inbox, given_rows, read, largest = Inbox("q", buffer), 0, [], 0
    failed = None
    for rows in steps:
        if rows is not None:
            inbox.put(batch(given_rows, rows))
            given_rows, largest = given_rows + rows, max(largest, 8 * rows)
        elif failed is None:
            try:
                table = inbox.get(timeout=0)
                read += [] if table is None else values([table])
            except HeadgateError as error:
                failed = error
        assert inbox.nbytes <= max(buffer, largest)
    waiting = []
    while inbox.nbytes and (table := inbox.get(timeout=0)) is not None:
        waiting += values([table])
    assert read + waiting == list(range(len(read) + len(waiting)))
    assert len(read) + len(waiting) + inbox.missed == given_rows
    if failed is not None:
        assert inbox.missed


def test_a_slow_reader_gets_what_waited_and_then_how_many_rows_it_missed() -> None:
    followers = Followers()
    slow, quick = followers.follow("q", buffer=2000), followers.follow("q")
    for number in range(100):
        followers.give("q", batch(100 * number))
    followers.end("q")
    assert values(list(quick)) == list(range(10_000))
    assert values([next(slow), next(slow)]) == list(range(200))
    with pytest.raises(HeadgateError, match=r"'q' were read too slowly: 9,800 rows were missed; read\(\) has all"):
        next(slow)
    assert list(slow) == []


def test_a_small_part_of_a_large_table_does_not_keep_all_of_it() -> None:
    inbox, large = Inbox("q"), batch(0, 100_000)
    inbox.put(large.slice(50, 10))
    kept = inbox.get(timeout=0)
    assert kept is not None
    assert (values([kept]), kept.get_total_buffer_size() < 1000) == (list(range(50, 60)), True)


@pytest.mark.parametrize("begun", [False, True])
def test_who_drops_the_iterator_is_forgotten(begun: bool) -> None:
    followers = Followers()
    tables = followers.follow("q")
    followers.give("q", batch(0))
    if begun:
        next(tables)
    assert followers.has("q")
    del tables
    gc.collect()
    assert not followers.has("q")


def test_closing_ends_those_who_wait_and_those_who_come_later() -> None:
    followers = Followers()
    ended: list[int] = []
    threads = [
        threading.Thread(target=lambda name=str(n): ended.append(len(list(followers.follow(name)))), daemon=True)
        for n in range(5)
    ]
    for thread in threads:
        thread.start()
    followers.close()
    for thread in threads:
        thread.join(PATIENCE)
    assert ended == [0] * 5
    assert list(followers.follow("later")) == []
