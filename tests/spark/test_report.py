"""Results on Spark are measured by the same code as in the simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from headgate.metrics.report.run_report import measure
from headgate.model import QoS, Query, QueryClass, Select, Source
from headgate.spark.machine.recent_results import Committed, RecentResults
from headgate.spark.machine.views import Overview, QueryView
from headgate.spark.report import BIN, records, report

PLAN = Select(inputs=(Source("s"),))
GRAPH = QoS.of([[0.0, 1.0], [1.0, 1.0], [3.0, 0.0]])
BEGAN = 1_000_000.0  # seconds since 1970


def view(
    name: str, classes: Sequence[tuple[float, str]], results: Sequence[tuple[float, float]], **more: Any
) -> QueryView:
    """A query whose results were committed at times, each so many seconds after its last tuple."""
    recent = RecentResults()
    for at, took in results:
        recent.add(BEGAN + at, np.array([took]))
    query = Query(name=name, query_class=classes[-1][1], plan=PLAN, sql="", **more)
    counts: dict[str, Any] = dict.fromkeys(("waiting", "runs", "jobs", "tuples_in", "tuples_out", "late"), 0)
    return QueryView(
        query,
        None,
        1.0,
        "running",
        "",
        rate=0.0,
        oldest_wait=0.0,
        skipped=0,
        undelivered=0,
        **counts,
        recent=recent.chunks(),
        classes=tuple((BEGAN + since, name) for since, name in classes),
    )


def overview(queries: Sequence[QueryView], priorities: Mapping[str, float]) -> Overview:
    classes = {name: QueryClass(name, priority) for name, priority in priorities.items()}
    return Overview("fcfs", "", "", 1, 1, 1, classes, tuple(queries), ("",), ())


def test_inversion_and_deadlines() -> None:
    seen = overview(
        [
            view("important", [(0.0, "high")], [(1.0, 2.0), (2.0, 2.0)], qos=GRAPH),
            view("other", [(0.0, "low")], [(1.0, 0.5), (2.0, 0.5)]),
        ],
        {"high": 4.0, "low": 2.0},
    )
    judged = report(seen, BEGAN + 2.0)
    (pair,) = judged.inversion.levels["p50"]
    assert (pair.above, pair.below) == ("high", "low")
    assert pair.ratio == pytest.approx(4 / 2 * (2.0 / 0.5 - 1))
    assert judged.classes["high"].qos.missed == 2
    assert judged.classes["high"].qos.mean == pytest.approx(0.5)
    assert judged.classes["low"].qos.missed is None


def test_a_result_counts_for_the_class_in_which_its_query_was() -> None:
    moved = view("q", [(0.0, "low"), (5.0, "high")], [(4.0, 1.0), (6.0, 0.25)])
    classes = report(overview([moved], {"high": 4.0, "low": 2.0}), BEGAN + 6.0).classes
    assert (classes["low"].response_time.max, classes["high"].response_time.max) == (1.0, 0.25)


def test_a_class_whose_response_time_keeps_rising_starves() -> None:
    rising = [(float(second), 0.1 * 2**second) for second in range(1, 11)]
    seen = overview([view("q", [(0.0, "low")], rising)], {"low": 1.0})
    assert report(seen, BEGAN + 10.0).starvation.rising == ("low",)


def test_only_the_results_since_a_moment() -> None:
    seen = overview([view("q", [(0.0, "c")], [(1.0, 9.0), (5.0, 1.0), (6.0, 3.0)])], {"c": 1.0})
    assert report(seen, BEGAN + 6.0, BEGAN + 4.0).classes["c"].response_time.mean == 2.0
    assert report(seen, BEGAN + 6.0).classes["c"].results == 3
    assert report(seen, BEGAN + 6.0, BEGAN + 7.0).response_time.mean is None


def test_records_are_those_of_the_simulator() -> None:
    results = [(1.0, 0.5), (2.0, 0.75)]
    kept = records(overview([view("q", [(0.0, "c")], results)], {"c": 1.0}), BEGAN + 3.0)
    table = kept.table()
    assert table["response_time"].to_pylist() == [0.5, 0.75]
    assert table["emission"].to_pylist() == [0.0, 1.0]  # from the oldest result that is kept
    assert measure(kept, BIN).results == 2


def test_the_newest_results_are_kept() -> None:
    recent = RecentResults(kept=3)
    for number in range(2000):  # so many that small chunks are put together
        recent.add(float(number), np.array([0.5]))
    assert Committed.join(recent.chunks()).at.tolist() == [1997.0, 1998.0, 1999.0]
    assert Committed.join(()).took.size == 0
