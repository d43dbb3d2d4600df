"""Live numbers: the cheap way gives what the exact one does, whatever comes and goes between two looks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.metrics.measures.latency import WINDOWS, Slice, latencies
from headgate.metrics.measures.targets import TargetStatus, reached
from headgate.model import Query, Select, Source, Target
from headgate.server.live.numbers import inversions, starved
from headgate.server.live.response_times import NONE, SumsCache, TimesCache, summed
from headgate.spark.machine.recent_results import Committed, RecentResults

QUERY = Query(name="hot", query_class="only", plan=Select(inputs=(Source("s"),)))
STEPS = st.lists(
    st.tuples(st.floats(0.0, 300.0), st.lists(st.floats(0.001, 20.0), max_size=6), st.booleans()), max_size=25
)


@dataclass
class View:
    """What the numbers read of a query's snapshot."""

    recent: tuple[Committed, ...]
    dropped: tuple[Slice, ...]
    query: Query = QUERY
    target: TargetStatus | None = field(default_factory=lambda: TargetStatus(Target(0.5)))


def look(cache: TimesCache, view: View, now: float) -> Any:
    return cache.of(view, now)  # type: ignore[arg-type]


@given(STEPS, st.sampled_from([5, 1000]))
def test_times_are_those_of_the_status(steps: list[tuple[float, list[float], bool]], kept: int) -> None:
    results, cache, now = RecentResults(kept), TimesCache(tolerance=0.0), 1000.0
    for pause, took, looks in steps:
        now += pause
        results.add(now, np.array(took))
        if not looks:
            continue
        view = View(results.chunks(), results.dropped(now))
        found = look(cache, view, now)
        joined = Committed.join(view.recent)
        for name, exact in latencies(joined.at, joined.took, view.dropped, now).items():
            assert found.latency[name]["count"] == exact.count
            for level in ("mean", "p50", "p95", "p99"):
                assert found.latency[name].get(level) == pytest.approx(getattr(exact, level), abs=2e-6)
        recent = joined.took[joined.at >= now - WINDOWS["last_10_s"]]
        if recent.size:
            assert found.reached == pytest.approx(reached(recent, 95.0))


@given(STEPS)
def test_longer_windows_are_nearly_those_of_the_status_and_soon_exact(
    steps: list[tuple[float, list[float], bool]],
) -> None:
    results, cache, now = RecentResults(), TimesCache(tolerance=0.2), 1000.0
    for pause, took, _ in steps:
        now += pause / 100
        results.add(now, np.array(took))
        look(cache, View(results.chunks(), ()), now)
    joined = Committed.join(results.chunks())
    exact = latencies(joined.at, joined.took, (), now)
    found = look(cache, View(results.chunks(), ()), now).latency
    assert found["last_10_s"]["count"] == exact["last_10_s"].count
    for name in ("last_minute", "last_10_minutes"):
        assert abs(found[name]["count"] - exact[name].count) <= 0.25 * max(1, exact[name].count)
    now += 20.001  # 20 s after the newest look, however times are rounded
    exact = latencies(joined.at, joined.took, (), now)
    found = look(cache, View(results.chunks(), ()), now).latency
    assert {name: times["count"] for name, times in found.items()} == {
        name: times.count for name, times in exact.items()
    }


@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.floats(0.001, 20.0)), max_size=4), min_size=1, max_size=6))
def test_sums_that_are_kept_are_those_of_all_queries(rounds: list[list[tuple[int, float]]]) -> None:
    queries, sums, now = [RecentResults() for _ in range(4)], SumsCache(), 100.0
    caches = [TimesCache() for _ in queries]
    for changes in rounds:
        now += 3.0
        for number, took in changes:
            queries[number].add(now, np.array([took]))
        views = [View(results.chunks(), ()) for results in queries]
        parts = [look(cache, view, now) for cache, view in zip(caches, views, strict=True)]
        found, exact = sums.of("low", parts), summed(parts)
        for name, times in exact.items():
            assert found[name] == pytest.approx(times, abs=2e-6)


def test_what_has_not_changed_is_not_computed_again() -> None:
    results, cache = RecentResults(), TimesCache()
    results.add(100.0, np.array([0.5, 1.5]))
    first = look(cache, View(results.chunks(), ()), 101.0)
    assert look(cache, View(results.chunks(), ()), 105.0) is first
    later = look(cache, View(results.chunks(), ()), 111.0)  # it has left the last 10 s
    assert later.latency["last_10_s"] == {"count": 0}
    assert later.latency["last_minute"]["mean"] == 1.0
    cache.keep([])
    assert look(cache, View(results.chunks(), ()), 111.0) is not later
    assert look(cache, View((), ()), 111.0) is NONE


def test_several_queries_together() -> None:
    results, cache = RecentResults(), TimesCache()
    results.add(100.0, np.array([1.0] * 90))
    slow = RecentResults()
    slow.add(100.0, np.array([3.0] * 10))
    both = summed([look(cache, View(results.chunks(), ()), 101.0), look(TimesCache(), View(slow.chunks(), ()), 101.0)])
    assert both["last_minute"]["count"] == 100
    assert both["last_minute"]["mean"] == pytest.approx(1.2)
    assert both["last_minute"]["p50"] == pytest.approx(1.0, rel=0.026)
    assert both["last_minute"]["p99"] == pytest.approx(3.0, rel=0.026)
    assert summed([])["last_10_s"] == {"count": 0}


def line(priority: float, p50: float | None, rate: float = 1.0, oldest_wait: float = 0.0) -> dict[str, Any]:
    times = {"count": 0} if p50 is None else {"count": 1, "p50": p50}
    return {"priority": priority, "rate": rate, "oldest_wait": oldest_wait, "latency": {"last_minute": times}}


def test_classes_that_answer_later_than_a_less_important_one() -> None:
    found = inversions({"high": line(10, 2.0), "low": line(5, 1.0), "none": line(1, None)})
    assert found.keys() == {"high"}
    assert found["high"]["below"] == "low"
    assert inversions({"high": line(10, 1.0), "low": line(5, 2.0)}) == {}


def test_classes_that_get_nothing_while_others_do() -> None:
    assert starved({"a": line(2, None), "b": line(1, None, rate=0.0, oldest_wait=60.0)}) == ["b"]
    assert starved({"b": line(1, None, rate=0.0, oldest_wait=60.0)}) == []
