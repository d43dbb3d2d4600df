"""How long results took: from the latest of their tuples, or from the one that closed their window."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.plan.sharing import Place
from headgate.spark.compile.leaf_rows import Leaf
from headgate.spark.compile.schemas import ARRIVAL, CLOSES
from headgate.spark.store.log.stream_log import StreamLog

SAMPLE = 1000  # response times that stand for those of a large result


def arrivals_of(rows: pa.Table, leaves: Mapping[Place, Leaf], logs: Mapping[str, StreamLog]) -> Sequence[float]:
    """When each result's latest tuple came, or the tuple that closed its window.

    Infinity where no tuple did that: a stream's end closes windows too, and such results come at once.
    """
    arrivals: list[float] = rows[ARRIVAL].to_pylist()
    if rows[CLOSES].null_count < rows.num_rows:
        ends = rows[CLOSES].cast(pa.int64()).to_pylist()
        distinct = [end for end in pc.unique(rows[CLOSES].cast(pa.int64())).to_pylist() if end is not None]
        closing = {end: _closing(end, leaves, logs) for end in distinct}
        arrivals = [arrival if end is None else closing[end] for arrival, end in zip(arrivals, ends, strict=True)]
    return arrivals


Arrivals = Callable[[str, int, int], Sequence[tuple[float, int]]]  # of a stream's offsets: when how many came


def arrivals_of_train(count: int, leaves: Mapping[Place, Leaf], arrivals: Arrivals) -> Sequence[float]:
    """The same for results that executors have written, whose rows nobody here sees, as a sample.

    Each came of a tuple of the train, or its window was closed by one: taken as spread evenly over the train.
    """
    ranges = {(leaf.stream, leaf.range.first, leaf.range.last) for leaf in leaves.values()}
    chunks = [chunk for each in ranges for chunk in arrivals(*each)]
    if not chunks:
        return []
    behind = np.cumsum([tuples for _, tuples in chunks])
    wanted = min(count, SAMPLE)
    places = np.searchsorted(behind, (np.arange(wanted) + 0.5) * behind[-1] / max(wanted, 1))
    return [chunks[place][0] for place in places]


def _closing(end: int, leaves: Mapping[Place, Leaf], logs: Mapping[str, StreamLog]) -> float:
    """The arrival of the tuple with which all frontiers had passed an event time; a stream's end is no tuple."""
    latest = max(_passing(end, leaf, logs[leaf.stream]) for leaf in leaves.values())
    return latest if math.isfinite(latest) else math.inf


def _passing(end: int, leaf: Leaf, log: StreamLog) -> float:
    low, high = leaf.range.first, leaf.range.last
    if low == high:
        return -math.inf
    while high - low > 1:
        middle = (low + high) // 2
        passed = log.frontier_at(middle)
        low, high = (low, middle) if passed is not None and passed >= end else (middle, high)
    found = log.arrivals(low, low + 1)
    return found[0][0] if found else -math.inf
