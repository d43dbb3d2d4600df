"""How long the results of a query took, step by step over the time of a history.

A record has of each run how many results it gave to a query, their mean and the slowest. Percentiles take them as
spread evenly about their mean, as results are whose tuples came at a steady rate while they waited. Response times are
those of reports and targets: from the tuple to the commit, without the wait for more tuples that a window wants. Parts
are of the whole time, with that wait and with the sink.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from headgate.history.history import History
from headgate.history.records import Answer, RunRecord
from headgate.insight.parts import PARTS, MeanParts, Result, mean_parts, results

POINTS = 16  # that stand for the results of a run


@dataclass(frozen=True, slots=True)
class Step:
    """The results of a query that were committed up to a time, since the step before; None without any."""

    at: float
    results: int = 0
    p50: float | None = None
    p95: float | None = None
    max: float | None = None
    means: MeanParts | None = None


@dataclass(slots=True)
class _Found:
    """The results of a step."""

    results: list[Result] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    slowest: float = 0.0


def latency_steps(history: History, query: str, since: float, upto: float, step: float) -> list[Step]:
    """What a query's results took between two times; steps end at multiples of their length, the last one at `upto`.

    The first step is the one in which `since` lies, so that each is the same whenever it is asked for.

    >>> from headgate.history.records import Answer
    >>> run = RunRecord(1, 0, "fire", "gold", ("fire",), 9, 10.0, 11.0, 11.5, 12.0, answers={"fire": Answer(1, 10, 10)})
    >>> for one in latency_steps(History(runs=[run]), "fire", 8.0, 16.0, step=5.0):
    ...     print(one.at, one.results, one.p95, one.means and one.means.parts["queue"])
    10.0 0 None None
    15.0 1 2.0 1.0
    16.0 0 None None
    """
    first = int(since // step)
    found = [_Found() for _ in range(max(1, ceil(upto / step) - first))]
    for result in results(history, query):
        place = ceil(result.run.ended / step) - 1 - first
        if 0 <= place < len(found):
            _add(found[place], result, result.run.answers[query])
    ends = [min(upto, (first + place + 1) * step) for place in range(len(found))]
    return [_step(at, one) for at, one in zip(ends, found, strict=True)]


def _add(found: _Found, result: Result, answer: Answer) -> None:
    mean, slowest = _response(result.run, answer.mean_arrival), _response(result.run, answer.oldest_arrival)
    points = min(POINTS, answer.count)
    spread = max(0.0, min(slowest - mean, mean))
    found.results.append(result)
    found.values += [mean + spread * (2 * place + 1 - points) / points for place in range(points)]
    found.weights += [answer.count / points] * points
    found.slowest = max(found.slowest, slowest)


def _response(run: RunRecord, arrival: float) -> float:
    return max(0.0, run.ended - arrival)


def _step(at: float, found: _Found) -> Step:
    if not found.results:
        return Step(at)
    means = mean_parts(found.results)
    p50, p95 = _percentiles(found.values, found.weights)
    return Step(at, means.results, p50, p95, found.slowest, means)


def _percentiles(values: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    order = np.argsort(values)
    upto = np.cumsum(np.asarray(weights)[order])
    half, most = np.searchsorted(upto, np.array([0.5, 0.95]) * upto[-1] - 1e-9).tolist()
    return values[order[half]], values[order[most]]


def part_lists(steps: Sequence[Step]) -> dict[str, list[float | None]]:
    """Mean seconds by part, one list for each."""
    return {name: [None if one.means is None else one.means.parts[name] for one in steps] for name in PARTS}
