"""Response times lately: exact while results are kept, and close when only their counts are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.metrics.measures.latency import WINDOWS, DroppedResults, Latency, latencies

NOW = 10_000.0

results = st.lists(st.tuples(st.floats(0.0, 700.0), st.floats(0.001, 100.0)), min_size=1, max_size=60)


def arrays(found: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    ordered = sorted(found, key=lambda result: -result[0])  # how long ago
    return np.array([NOW - ago for ago, _ in ordered]), np.array([took for _, took in ordered])


@given(results)
def test_what_is_kept_is_exact(found: list[tuple[float, float]]) -> None:
    at, took = arrays(found)
    told = latencies(at, took, (), NOW)
    for name, length in WINDOWS.items():
        wanted = took[at >= NOW - length]
        assert told[name].count == wanted.size
        if wanted.size:
            assert told[name].mean == pytest.approx(wanted.mean())
            assert (told[name].p50, told[name].p95) == tuple(np.percentile(wanted, [50, 95]))
        else:
            assert told[name] == Latency()


@given(results, st.integers(1, 60))
def test_what_is_dropped_is_close(found: list[tuple[float, float]], kept: int) -> None:
    at, took = arrays([(float(round(ago / 10) * 10), took) for ago, took in found])  # where slices begin
    dropped = DroppedResults()
    for one in range(max(0, at.size - kept)):
        dropped.add(at[one : one + 1], took[one : one + 1])
    first = max(0, at.size - kept)
    told = latencies(at[first:], took[first:], dropped.slices(NOW), NOW)
    for name, length in WINDOWS.items():
        wanted = np.sort(took[at >= NOW - length])
        assert told[name].count == wanted.size
        if not wanted.size:
            continue
        assert told[name].mean == pytest.approx(wanted.mean())
        for percentile, value in ((50, told[name].p50), (95, told[name].p95), (99, told[name].p99)):
            place = (wanted.size - 1) * percentile / 100
            low, high = wanted[int(np.floor(place))], wanted[int(np.ceil(place))]
            assert value is not None
            assert low / 1.026 <= value <= high * 1.026


@settings(max_examples=20)
@given(st.floats(1e-6, 1e6))
def test_any_time_can_be_counted(took: float) -> None:
    dropped = DroppedResults()
    dropped.add(np.array([NOW]), np.array([took]))
    told = latencies(np.empty(0), np.empty(0), dropped.slices(NOW), NOW)["last_10_s"]
    assert told.count == 1
    assert told.mean == took


def test_memory_is_bounded_and_old_results_are_forgotten() -> None:
    dropped = DroppedResults()
    for second in range(3000):
        dropped.add(np.full(10, NOW + second / 2), np.full(10, 0.2))
    end = NOW + 1500
    slices = dropped.slices(end)
    assert len(slices) <= 125
    told = latencies(np.empty(0), np.empty(0), slices, end)
    assert told["last_10_s"].count == pytest.approx(200, abs=20)
    assert told["last_minute"].count == pytest.approx(1200, abs=20)
    assert told["last_10_minutes"].count == pytest.approx(12_000, abs=200)
    assert dropped.slices(end + 700) == ()
