"""Every measure by its dotted path, and whether smaller or larger values are better."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from headgate.metrics.measures.response import LEVELS
from headgate.model import HeadgateError, unknown

_SMALLER = [
    *(f"response_time.{level}" for level in LEVELS),
    *("response_time.weighted" if level == "mean" else f"response_time.weighted_{level}" for level in LEVELS),
    "slowdown.mean",
    "slowdown.max",
    "slowdown.l2",
    "qos.missed",
    "queue.tuples.mean",
    "queue.tuples.max",
    "queue.bytes.mean",
    "queue.bytes.max",
    "throughput.deviation",
    "inversion.cumulated",
    "starvation.ratio",
    "convergence.time",
    "convergence.updates",
    "convergence.last_update",
    "scheduling.decisions",
    "scheduling.runs",
    "scheduling.seconds",
    "scheduling.share",
    "utilisation",
    "seconds",
    "unfinished",
]
_LARGER = ["qos.mean", "qos.per_tuple", "throughput.mean", "results"]

MEASURES: Mapping[str, bool] = MappingProxyType(dict.fromkeys(_SMALLER, True) | dict.fromkeys(_LARGER, False))
"""Every measure of a whole run, and whether smaller is better."""


def smaller_is_better(path: str) -> bool:
    """Whether the run with the smaller value is the better one; a class's or query's measure is as the run's.

    >>> smaller_is_better("slowdown.l2"), smaller_is_better("classes.critical.qos.mean")
    (True, False)
    """
    if path in MEASURES:
        return MEASURES[path]
    tails = (path[dot + 1 :] for dot, character in enumerate(path) if character == ".")
    run_measure = next((tail for tail in tails if tail in MEASURES), None)
    if run_measure is None or not path.startswith(("classes.", "queries.")):
        raise unknown("measure", path, MEASURES)
    return MEASURES[run_measure]


def lookup(values: Mapping[str, Any], path: str) -> float | None:
    """The value at a dotted path, None where this run has none.

    >>> lookup({"slowdown.mean": 3.875}, "slowdown.mean")
    3.875
    """
    if path not in values:
        raise _missing(values, path)
    value = values[path]
    return None if value is None else float(value)


def _missing(values: Mapping[str, Any], path: str) -> HeadgateError:
    kind = path.partition(".")[0] + "."
    asked = [name for name in values if name.startswith(kind)] if kind in ("classes.", "queries.") else MEASURES
    near = get_close_matches(path, asked, n=3)  # without a near one, the names of all queries would bury the answer
    return unknown("measure", path, near or MEASURES)
