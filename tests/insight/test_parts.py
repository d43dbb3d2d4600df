"""The parts of a result's time add up to the whole, and each is what happened in it."""

from __future__ import annotations

from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.insight.histories import history, run

from headgate.history.history import History
from headgate.history.records import Answer, Delivery, RunRecord
from headgate.insight.parts import PARTS, by_class, by_query, mean_parts, moments, results

TIMES = st.integers(0, 2**20).map(lambda number: number / 1024)  # whose differences are exact
ANY = st.floats(0, 2e9)


@given(TIMES, st.none() | TIMES, TIMES, TIMES, TIMES, st.none() | TIMES)
def test_parts_add_up_exactly_whatever_the_clocks_said(
    arrival: float, released: float | None, began: float, evaluated: float, ended: float, delivered: float | None
) -> None:
    one = RunRecord(1, 0, "q", "c", ("q",), 1, arrival, began, evaluated, ended)
    life = moments(one, arrival, released, delivered)
    assert sum(life.parts.values()) == life.total
    assert all(seconds >= 0 for seconds in life.parts.values())
    assert tuple(life.parts) == PARTS


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 50), ANY, ANY, ANY, ANY), max_size=12))
def test_means_add_up(lives: list[tuple[str, int, float, float, float, float]]) -> None:
    runs = []
    for number, (query, count, *times) in enumerate(lives):
        arrival, began, evaluated, ended = sorted(times)
        answer = {query: Answer(count, arrival, arrival)}
        runs.append(RunRecord(number, 0, query, "c", (query,), 1, arrival, began, evaluated, ended, answers=answer))
    recorded = History.of(runs)
    whole = mean_parts(results(recorded))
    assert fsum(whole.parts.values()) == pytest.approx(whole.total)
    wholes = [(result.count, result.moments.total) for result in results(recorded)]
    assert whole.total * whole.results == pytest.approx(sum(count * total for count, total in wholes), abs=1e-3)
    grouped = by_query(recorded)
    assert sum(parts.results for parts in grouped.values()) == whole.results


def test_each_part_is_what_happened_in_it() -> None:
    one = run(1, "q", 3.5, 4.0, 4.25, answers={"q": (1.0, 3.0)}, commit=7)
    recorded = history({"q": "critical"}, [one, Delivery(4.1, "q", 6), Delivery(6.0, "q", 8)])
    (result,) = results(recorded)
    assert result.moments.parts == {"window": 2.0, "queue": 0.5, "running": 0.5, "commit": 0.25, "sink": 1.75}
    assert result.moments.total == 5.0
    assert by_class(recorded, {"q": "critical"})["critical"].parts == result.moments.parts


def test_a_window_waits_for_more_tuples_before_its_response_time_counts() -> None:
    answer = {"q": Answer(2, 6.0, 6.0, released=6.25, window=5.0, mean_window=3.0)}
    recorded = History.of([RunRecord(1, 0, "q", "c", ("q",), 4, 6.0, 6.5, 7.0, 7.0, answers=answer)])
    (slowest,) = results(recorded, slowest=True)
    assert slowest.moments.parts == {"window": 5.25, "queue": 0.25, "running": 0.5, "commit": 0.0, "sink": 0.0}
    assert (slowest.response, slowest.moments.arrival) == (1.0, 1.0)
    (mean,) = results(recorded)
    assert (mean.moments.arrival, mean.response) == (3.0, 1.0)
    (counted,) = results(recorded, windows=False)
    assert counted.moments.total == 1.0


def test_the_slowest_result_and_the_mean_one() -> None:
    answer = {"q": Answer(count=4, mean_arrival=2.0, oldest_arrival=1.0)}
    recorded = History.of([RunRecord(1, 0, "q", "c", ("q",), 4, 1.0, 3.0, 4.0, 4.0, answers=answer)])
    assert [one.moments.total for one in results(recorded)] == [2.0]
    assert [one.moments.total for one in results(recorded, slowest=True)] == [3.0]
