"""Results that are counted as they come say the same as results that are kept."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.metrics import QueryRecords, Records, measure
from headgate.metrics.records.aggregates import Aggregates
from headgate.metrics.report.aggregated_report import measure_aggregated
from headgate.metrics.report.json_tree import flatten

PRIORITIES = {"gold": 3.0, "tin": 1.0, "empty": 0.5}
PERCENTILES = ("p10", "p25", "p50", "p75", "p90", "p95", "p99")


def records(seed: int, results: int) -> Records:
    """Two queries of two classes and one without an ideal time; response times over many orders of magnitude."""
    random = np.random.default_rng(seed)
    queries = []
    for number, (name, ideal) in enumerate([("gold", 0.01), ("tin", 0.3), ("tin", 0.0)]):
        query = QueryRecords(f"q{number}", ideal, classes=[(0.0, name)])
        arrival = np.sort(random.uniform(0.0, 20.0, results))
        response = random.lognormal(-3.0, 2.0, results)
        order = np.argsort(arrival + response, kind="stable")
        query.arrival.extend(arrival[order])
        query.emission.extend((arrival + response)[order])
        queries.append(query)
    return Records(queries, PRIORITIES, seconds=20.0, busy=7.0, decisions=5, runs=9, tuples_in={"s": 4})


def counted(kept: Records, bin: float, parts: int) -> Aggregates:
    seen = Aggregates(kept.queries, kept.seconds, bin)
    for place, query in enumerate(kept.queries):
        for arrival, emission in zip(
            np.array_split(np.array(query.arrival), parts), np.array_split(np.array(query.emission), parts), strict=True
        ):
            seen.add(np.full(len(arrival), place), arrival, emission, arrival)
    return seen


def close(name: str, one: Any, other: Any, results: int) -> bool:
    """Whether two values of a measure are as near as promised; percentiles of few results lie between two of them."""
    if one is None or other is None:
        return one is other
    if any(level in name for level in PERCENTILES):
        return results < 1000 or math.isclose(one, other, rel_tol=0.03)
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


@given(seed=st.integers(0, 1000), results=st.sampled_from([0, 1, 3000]), parts=st.sampled_from([1, 4]))
@settings(max_examples=30)
def test_counted_results_say_the_same(seed: int, results: int, parts: int) -> None:
    kept = records(seed, results)
    exact = flatten(measure(kept, 0.1).to_json())
    found = flatten(measure_aggregated(kept, counted(kept, 0.1, parts)).to_json())
    assert found.keys() == exact.keys()
    differ = {
        name: (value, found[name])
        for name, value in exact.items()
        if isinstance(value, int | float | None)
        and not name.startswith(("starvation", "convergence"))  # of tenths of the run, whose edges lie inside bins
        and not close(name, value, found[name], results)
    }
    assert not differ


def test_percentiles_are_half_a_percent_off_at_most() -> None:
    kept = records(1, 200_000)
    found = counted(kept, 0.1, 3).of(["q0"]).distribution()
    exact = np.percentile(np.array(kept.queries[0].emission) - np.array(kept.queries[0].arrival), [10, 50, 99])
    assert [found.p10, found.p50, found.p99] == pytest.approx(exact.tolist(), rel=0.0055)


def test_results_after_the_end_do_not_count() -> None:
    query = QueryRecords("q", 1.0, classes=[(0.0, "only")])
    seen = Aggregates([query], duration=2.0, bin=0.1, end=2.0)
    seen.add(np.array([0, 0]), np.array([0.5, 1.0]), np.array([2.0, 2.5]), np.array([0.5, 1.0]))
    assert seen.of(["q"]).count == 1
    assert seen.of(["q"]).distribution().max == 1.5


def test_a_long_run_has_wider_bins() -> None:
    query = QueryRecords("q", 1.0, classes=[(0.0, "only")])
    seen = Aggregates([query], duration=1e7, bin=0.1)
    times = np.linspace(0.0, 1e7, 1000)
    seen.add(np.zeros(1000, np.int64), times, times + 1.0, times)
    assert seen.bin == 200.0
    assert seen.throughput(1e7).deviation is None
    assert seen.throughput(1e7).mean == pytest.approx(1e-4)
