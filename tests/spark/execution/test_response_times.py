"""From when response times count: the latest tuple of a result, or the tuple that closed its window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.spark.compile.leaf_rows import Leaf, Range
from headgate.spark.compile.schemas import ARRIVAL, CLOSES
from headgate.spark.execution.response_times import SAMPLE, arrivals_of, arrivals_of_train

Chunk = tuple[float, int]  # (arrival, tuples)


@dataclass
class Log:
    """A log whose tuple at offset `n` arrived at second `n`, with the frontier after each tuple; it may have ended."""

    frontiers: Sequence[int]
    ended: bool = False

    def frontier_at(self, offset: int) -> float | None:
        if self.ended and offset == len(self.frontiers):
            return inf
        return self.frontiers[offset - 1] if offset else None

    def arrivals(self, first: int, last: int) -> list[Chunk]:
        tuples = len(self.frontiers) - self.ended  # the end of a stream has an offset, but is no tuple
        return [(float(offset), 1) for offset in range(first, min(last, tuples))]


def table(results: Sequence[tuple[float, int | None]]) -> pa.Table:
    arrivals, ends = zip(*results, strict=True) if results else ((), ())
    return pa.table(
        {ARRIVAL: pa.array(arrivals, pa.float64()), CLOSES: pa.array(ends, pa.int64()).cast(pa.timestamp("us", "UTC"))}
    )


def leaves_of(logs: dict[str, Log]) -> dict[Any, Leaf]:
    return {(port,): Leaf(name, Range(0, len(log.frontiers))) for port, (name, log) in enumerate(logs.items())}


def closing(logs: dict[str, Log], end: int) -> float:
    """The first offset by which all frontiers have passed an event time, by trying all."""
    offsets = [
        next(at for at in range(len(log.frontiers)) if (log.frontier_at(at + 1) or 0) >= end) for log in logs.values()
    ]
    last = max(offsets)
    is_tuple = any(log.arrivals(at, at + 1) for log, at in zip(logs.values(), offsets, strict=True) if at == last)
    return float(last) if is_tuple else inf


frontiers = st.lists(st.integers(1, 5), min_size=1, max_size=12).map(
    lambda steps: [sum(steps[: count + 1]) for count in range(len(steps))]
)


@given(first=frontiers, second=st.none() | frontiers, data=st.data())
def test_a_window_is_closed_by_the_last_of_the_frontiers_to_pass_its_end(
    first: list[int], second: list[int] | None, data: st.DataObject
) -> None:
    logs = {"a": Log(first)} | ({} if second is None else {"b": Log(second)})
    end = data.draw(st.integers(1, min(log.frontiers[-1] for log in logs.values())))
    times, own = arrivals_of(table([(0.5, end)]), leaves_of(logs), cast(Any, logs))
    assert (times.tolist(), own.tolist()) == ([closing(logs, end)], [0.5])


@given(passed=frontiers)
def test_the_end_of_a_stream_closes_windows_without_a_tuple(passed: list[int]) -> None:
    logs = {"a": Log([*passed, passed[-1]], ended=True)}
    end = passed[-1] + 1
    assert arrivals_of(table([(0.5, end)]), leaves_of(logs), cast(Any, logs))[0] == [inf]


def test_results_without_a_window_count_from_their_latest_tuple() -> None:
    logs = {"a": Log([10, 20, 30])}
    results = table([(1.5, None), (0.25, 15), (2.5, None)])
    assert list(arrivals_of(results, leaves_of(logs), cast(Any, logs))[0]) == [1.5, 1.0, 2.5]
    times, own = arrivals_of(table([(1.5, None)]), leaves_of(logs), cast(Any, logs))
    assert (times.tolist(), own.tolist()) == ([1.5], [])
    assert list(map(len, arrivals_of(table([]), leaves_of(logs), cast(Any, logs)))) == [0, 0]


chunks = st.lists(st.tuples(st.floats(0, 100), st.integers(1, 50)), min_size=1, max_size=6)


@given(count=st.integers(0, 3 * SAMPLE), chunks=chunks)
def test_a_long_train_gives_a_sample_that_is_spread_like_its_tuples(count: int, chunks: list[Chunk]) -> None:
    leaves: dict[Any, Leaf] = {(): Leaf("a", Range(3, 9))}
    asked = []

    def arrivals(stream: str, first: int, last: int) -> list[Chunk]:
        asked.append((stream, first, last))
        return chunks

    sample = arrivals_of_train(count, leaves, arrivals)
    assert asked == [("a", 3, 9)]
    assert len(sample) == min(count, SAMPLE)
    tuples, drawn = Counter[float](), Counter(sample)
    for arrival, number in chunks:
        tuples[arrival] += number
    for arrival, number in tuples.items():  # each chunk gets its share, but for rounding at its edges
        share = len(sample) * number / sum(tuples.values())
        assert drawn[arrival] == pytest.approx(share, abs=len(chunks))


def test_leaves_that_read_the_same_tuples_count_once() -> None:
    leaves: dict[Any, Leaf] = {(0,): Leaf("a", Range(0, 4)), (1,): Leaf("a", Range(0, 4))}
    calls = []
    arrivals_of_train(1, leaves, lambda *asked: calls.append(asked) or [(1.0, 4)])  # type: ignore[func-returns-value]
    assert calls == [("a", 0, 4)]
    assert not arrivals_of_train(5, {}, lambda *asked: []).size
