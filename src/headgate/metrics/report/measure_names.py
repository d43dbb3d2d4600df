"""Every measure by its dotted path: its name in words, its unit, and whether smaller or larger values are better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from headgate.metrics.measures.response import LEVELS
from headgate.model import HeadgateError, unknown
from headgate.model.number_text import time_unit

_SCOPES = {"classes": "class", "queries": "query"}
_LEVEL_WORDS = {"mean": "mean response time", "p50": "median response time", "max": "longest response time"}


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure as people speak of it. Times are in seconds, whatever unit they are shown in."""

    words: str
    unit: str = ""  # none for ratios, shares, and counts of what the words name
    smaller_is_better: bool = True

    @property
    def is_time(self) -> bool:
        return self.unit == "s"

    def shown_unit(self, values: Sequence[float | None]) -> tuple[str, float]:
        """The unit in which to show these values, and what to divide them by: times take the one that fits.

        >>> Measure("delay", "s").shown_unit([0.012, 0.9]), Measure("queue", "tuples").shown_unit([12.0])
        (('ms', 0.001), ('tuples', 1.0))
        """
        return time_unit(values) if self.is_time else (self.unit, 1.0)

    def label(self, unit: str, *, logarithmic: bool = False) -> str:
        """The label of an axis that shows the measure in a unit.

        >>> Measure("mean response time", "s").label("ms", logarithmic=True)
        'mean response time (ms, logarithmic)'
        """
        remarks = ", ".join(remark for remark in (unit, "logarithmic" if logarithmic else "") if remark)
        return f"{self.words} ({remarks})" if remarks else self.words


def _level_words(level: str) -> str:
    return _LEVEL_WORDS.get(level, f"{level.removeprefix('p')}th percentile of response time")


def _response_times() -> dict[str, Measure]:
    plain = {f"response_time.{level}": Measure(_level_words(level), "s") for level in LEVELS}
    weighted = {
        "response_time.weighted" if level == "mean" else f"response_time.weighted_{level}": Measure(
            f"{_level_words(level)}, weighted by class priority", "s"
        )
        for level in LEVELS
    }
    return plain | weighted


MEASURES: Mapping[str, Measure] = MappingProxyType(
    _response_times()
    | {
        "slowdown.mean": Measure("mean slowdown"),
        "slowdown.max": Measure("largest slowdown"),
        "slowdown.l2": Measure("ℓ2 norm of slowdown"),
        "qos.mean": Measure("mean QoS, averaged over queries", smaller_is_better=False),
        "qos.per_tuple": Measure("mean QoS, averaged over results", smaller_is_better=False),
        "qos.missed": Measure("results after their deadline"),
        "targets.share": Measure("share of the time in which targets were met", smaller_is_better=False),
        "targets.missed_seconds": Measure("time in which targets were missed, summed over queries", "s"),
        "targets.met": Measure("targets met at the end", smaller_is_better=False),
        "targets.missed": Measure("targets missed at the end"),
        "queue.tuples.mean": Measure("mean length of all queues", "tuples"),
        "queue.tuples.max": Measure("largest length of all queues", "tuples"),
        "queue.bytes.mean": Measure("mean size of all queues", "bytes"),
        "queue.bytes.max": Measure("largest size of all queues", "bytes"),
        "throughput.mean": Measure("mean throughput", "results/s", smaller_is_better=False),
        "throughput.deviation": Measure("standard deviation of throughput", "results/s"),
        "inversion.cumulated": Measure("priority inversion, summed over time"),
        "inversion.bins": Measure("bins in which a class was inverted"),
        "starvation.ratio": Measure("response time of the least important class over the most important one's"),
        "convergence.time": Measure("time after which no classes are inverted", "s"),
        "convergence.updates": Measure("updates of the schedule"),
        "convergence.last_update": Measure("time of the last update of the schedule", "s"),
        "scheduling.decisions": Measure("scheduling decisions"),
        "scheduling.runs": Measure("runs"),
        "scheduling.seconds": Measure("core time spent on scheduling", "s"),
        "scheduling.share": Measure("share of core time spent on scheduling"),
        "scheduling.cancelled": Measure("runs cancelled for something more important"),
        "scheduling.cancelled_seconds": Measure("core time of cancelled runs", "s"),
        "overhead.worker": Measure("core time spent on calling operators", "s"),
        "overhead.storage": Measure("core time spent on starting runs", "s"),
        "overhead.scheduler": Measure("core time spent on decisions", "s"),
        "utilisation": Measure("utilisation of the cores"),
        "seconds": Measure("time at which the run ended", "s"),
        "unfinished": Measure("tuples left waiting at the end"),
        "results": Measure("results", smaller_is_better=False),
    }
)
"""Every measure of a whole run."""


def split(path: str) -> tuple[str, str, str]:
    """A dotted path as "class" or "query", its name, and the path of the measure; a whole run's has neither.

    >>> split("classes.eu.west.response_time.p95"), split("slowdown.mean")
    (('class', 'eu.west', 'response_time.p95'), ('', '', 'slowdown.mean'))
    """
    if path in MEASURES:
        return "", "", path
    kind, _, rest = path.partition(".")
    for dot in (place for place, character in enumerate(rest) if character == "."):
        if kind in _SCOPES and rest[dot + 1 :] in MEASURES:
            return _SCOPES[kind], rest[:dot], rest[dot + 1 :]
    raise unknown("measure", path, MEASURES)


def measure_at(path: str) -> Measure:
    """The measure at a dotted path; a class's or query's is the run's with its name behind the words.

    >>> measure_at("classes.critical.response_time.p95").words
    '95th percentile of response time, class critical'
    """
    scope, name, run_measure = split(path)
    found = MEASURES[run_measure]
    return replace(found, words=f"{found.words}, {scope} {name}") if scope else found


def smaller_is_better(path: str) -> bool:
    """Whether the run with the smaller value is the better one; a class's or query's measure is as the run's.

    >>> smaller_is_better("slowdown.l2"), smaller_is_better("classes.critical.qos.mean")
    (True, False)
    """
    return measure_at(path).smaller_is_better


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
    kind = path.partition(".")[0]
    asked = [name for name in values if name.startswith(f"{kind}.")] if kind in _SCOPES else MEASURES
    near = get_close_matches(path, asked, n=3)  # without a near one, the names of all queries would bury the answer
    return unknown("measure", path, near or MEASURES)
