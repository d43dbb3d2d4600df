"""When the last tuple that a result needed arrived; its response time counts from there.

For the result of a window that is the tuple that closed the window, otherwise the latest tuple of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from headgate.plan.places import Place
from headgate.spark.compile.leaf_rows import Leaf
from headgate.spark.compile.schemas import ARRIVAL, CLOSES
from headgate.spark.machine.recent_results import Floats
from headgate.spark.store.log.stream_log import StreamLog

SAMPLE = 1000  # arrivals at most that are given for a large result
_NONE: Floats = np.empty(0)


def arrivals_of(rows: pa.Table, leaves: Mapping[Place, Leaf], logs: Mapping[str, StreamLog]) -> tuple[Floats, Floats]:
    """For each result, the arrival of its latest tuple or of the tuple that closed its window.

    Infinity if the end of a stream closed the window, so that the response time is 0. Behind it, for each result of a
    window, the arrival of its latest tuple, however late the window closed; nothing if there are no windows.
    """
    if not rows.num_rows:
        return _NONE, _NONE
    arrivals: Floats = rows[ARRIVAL].to_numpy()
    closes = rows[CLOSES]
    if closes.null_count == rows.num_rows:
        return arrivals, _NONE
    ends = closes.cast(pa.int64()).combine_chunks().dictionary_encode()  # few windows, however many results
    closing = np.array([_closing(end, leaves, logs) for end in ends.dictionary.to_pylist()])
    places = ends.indices.fill_null(-1).to_numpy()
    return np.where(places < 0, arrivals, closing[places]), arrivals


Arrivals = Callable[[str, int, int], Sequence[tuple[float, int]]]  # (stream, first, last) -> (arrival, tuples)


def arrivals_of_train(count: int, leaves: Mapping[Place, Leaf], arrivals: Arrivals) -> Floats:
    """A sample of the same for results that executors have written, whose rows are not read here.

    The tuples that completed the results are taken as evenly spread over the train.
    """
    ranges = {(leaf.stream, leaf.range.first, leaf.range.last) for leaf in leaves.values()}
    chunks = [chunk for stream, first, last in ranges for chunk in arrivals(stream, first, last)]
    if not chunks:
        return _NONE
    behind = np.cumsum([tuples for _, tuples in chunks])
    wanted = min(count, SAMPLE)
    places = np.searchsorted(behind, (np.arange(wanted) + 0.5) * behind[-1] / max(wanted, 1))
    return np.array([chunks[place][0] for place in places])


def _closing(end: int, leaves: Mapping[Place, Leaf], logs: Mapping[str, StreamLog]) -> float:
    """The arrival of the tuple with which all frontiers had passed an event time; infinity if no tuple did that."""
    latest = max(_passing(end, leaf, logs[leaf.stream]) for leaf in leaves.values())
    return latest if math.isfinite(latest) else math.inf


def _passing(end: int, leaf: Leaf, log: StreamLog) -> float:
    """The arrival of the tuple with which the frontier of one stream passed an event time, by binary search."""
    low, high = leaf.range.first, leaf.range.last
    if low == high:
        return -math.inf
    while high - low > 1:
        middle = (low + high) // 2
        frontier = log.frontier_at(middle)
        low, high = (low, middle) if frontier is not None and frontier >= end else (middle, high)
    chunks = log.arrivals(low, low + 1)
    return chunks[0][0] if chunks else -math.inf
