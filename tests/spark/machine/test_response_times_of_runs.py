"""Response times of a run of many queries are those of each query by itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headgate.spark.machine import response_times as module
from headgate.spark.machine.response_times import response_times

moments = st.floats(0, 100) | st.just(np.inf)
queries = st.lists(st.tuples(st.floats(-10, 90), st.lists(moments, max_size=4)), min_size=1, max_size=6)


@given(queries, st.integers(0, 30))
def test_together_as_one_by_one(given_queries: list[tuple[float, list[float]]], together: int) -> None:
    lives: list[Any] = [SimpleNamespace(added=added) for added, _ in given_queries]
    results: list[Any] = [SimpleNamespace(count=len(own), arrivals=np.array(own)) for _, own in given_queries]
    before, module.TOGETHER = module.TOGETHER, together
    try:
        found = [times.tolist() for times in response_times(lives, results, at=100.0)]
    finally:
        module.TOGETHER = before
    assert found == [[max(0.0, 100.0 - max(one, added)) for one in own] for added, own in given_queries]
