"""Every measure against a slow implementation that reads like its definition."""

import math
from bisect import bisect_right

import pytest
from hypothesis import given
from tests.metrics.strategies import any_records

from headgate.metrics import QueryRecords, Records, measure
from headgate.metrics.measures.response import PERCENTILES
from headgate.metrics.records.class_order import neighbours


def results_of(query: QueryRecords) -> list[tuple[str, float, float]]:
    """(class, emission, response time)."""
    starts = [start for start, _ in query.classes]
    rows = zip(query.arrival, query.emission, strict=True)
    return [(query.classes[max(0, bisect_right(starts, e) - 1)][1], e, e - a) for a, e in rows]


def percentile(values: list[float], percent: float) -> float:
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def by_class(records: Records) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in records.priorities}
    for query in records.queries:
        for name, emission, response in results_of(query):
            found[name].append((emission, response))
    return found


@given(any_records)
def test_response_times(records: Records) -> None:
    report = measure(records)
    rows = by_class(records)
    assert report.results == sum(map(len, rows.values()))
    for name, each in rows.items():
        values = [response for _, response in each]
        found = report.classes[name].response_time
        assert found.mean == (pytest.approx(mean(values)) if values else None)
        for percent in PERCENTILES:
            assert found.at(f"p{percent}") == (pytest.approx(percentile(values, percent)) if values else None)
        assert found.max == max(values, default=None)


@given(any_records)
def test_weighted(records: Records) -> None:
    present = {name: [r for _, r in each] for name, each in by_class(records).items() if each}
    total = sum(records.priorities[name] for name in present)
    expected = sum(records.priorities[name] * percentile(each, 75) for name, each in present.items())
    found = measure(records).value("response_time.weighted_p75")
    assert found == (pytest.approx(expected / total) if present else None)


@given(any_records)
def test_slowdown(records: Records) -> None:
    values = [response / query.ideal_time for query in records.queries for _, _, response in results_of(query)]
    found = measure(records).slowdown
    assert found.mean == (pytest.approx(mean(values)) if values else None)
    assert found.l2 == (pytest.approx(math.sqrt(sum(h * h for h in values))) if values else None)


@given(any_records)
def test_quality(records: Records) -> None:
    worth = {
        query.query: [(query.qos.utility(r), r > query.qos.deadline) for _, _, r in results_of(query)]
        for query in records.queries
        if query.qos is not None
    }
    means = [sum(u for u, _ in each) / len(each) for each in worth.values() if each]
    found = measure(records).qos
    assert found.mean == (pytest.approx(mean(means), abs=1e-8) if means else None)
    assert found.per_tuple == (
        pytest.approx(mean([u for each in worth.values() for u, _ in each]), abs=1e-8) if means else None
    )
    assert found.missed == (sum(late for each in worth.values() for _, late in each) if worth else None)


@given(any_records)
def test_inversion(records: Records) -> None:
    """Cumulated over bins of half a second."""
    width, span = 0.5, records.span
    bins: dict[tuple[str, int], list[float]] = {}
    for name, each in by_class(records).items():
        for emission, response in each:
            number = min(int(emission / width), math.ceil(span / width) - 1)
            bins.setdefault((name, number), []).append(response)
    total, last = 0.0, -1
    for above, below in neighbours(records.priorities):
        for number in range(math.ceil(span / width)):
            upper, lower = mean(bins.get((above, number), [])), mean(bins.get((below, number), []))
            if upper is not None and lower is not None and upper > lower:
                last = max(last, number)
                if lower > 0:
                    total += records.priorities[above] / records.priorities[below] * abs(min(0, 1 - upper / lower))
    report = measure(records, bin=width)
    assert report.inversion.cumulated == pytest.approx(total)
    settled = (last + 1) * width
    assert report.convergence.time == (settled if last + 1 < math.ceil(span / width) else None)


@given(any_records)
def test_throughput(records: Records) -> None:
    span = records.span
    emissions = [e for each in by_class(records).values() for e, _ in each]
    counts = [0] * int(span)
    for emission in emissions:
        if emission <= int(span):
            counts[min(int(emission), int(span) - 1)] += 1
    average = sum(counts) / len(counts)
    found = measure(records).throughput
    assert found.mean == pytest.approx(len(emissions) / span)
    assert found.deviation == pytest.approx(math.sqrt(sum((c - average) ** 2 for c in counts) / len(counts)))
