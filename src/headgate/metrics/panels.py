"""What a picture shows, as numbers: for every class and policy a box and a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from headgate.metrics.columns import Columns, Floats
from headgate.metrics.order import by_priority
from headgate.metrics.overtime import Bins
from headgate.metrics.records import Records
from headgate.metrics.response import Distribution, summarise

UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))
MOST_BINS = 100  # more points than that make a line unreadable
DECADES = 100.0  # a spread above it wants a logarithmic scale


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Mean response time over time, bins with results only."""

    time: Floats
    response: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One class under every policy; a policy without results in it is missing."""

    name: str
    priority: float
    boxes: Mapping[str, Distribution]
    lines: Mapping[str, Line]

    def extent(self) -> Iterator[float]:
        """Every response time that is drawn."""
        for box in self.boxes.values():
            yield from (value for level in ("p10", "p90", "mean") if (value := box.at(level)) is not None)
        for line in self.lines.values():
            yield from (float(line.response.min()), float(line.response.max()))


def panels(records: Mapping[str, Records], bin: float, at_most: int) -> list[Panel]:
    """The panels of the most important classes, by falling priority."""
    priorities = {name: value for each in records.values() for name, value in each.priorities.items()}
    by_policy = {policy: each.by_class() for policy, each in records.items()}
    shown = {
        name: {policy: each[name] for policy, each in by_policy.items() if name in each and len(each[name])}
        for name in by_priority(priorities)[:at_most]
    }
    span = max((float(each.emission.max()) for found in shown.values() for each in found.values()), default=0.0)
    bins = Bins.over(span, max(bin, span / MOST_BINS))
    return [_panel(name, priorities[name], found, bins) for name, found in shown.items()]


def unit(values: list[float]) -> tuple[str, float]:
    """The unit in which the larger of the values read well.

    >>> unit([0.0004, 0.012])
    ('ms', 0.001)
    """
    largest = max(values, default=1.0)
    return next((each for each in UNITS if largest >= each[1]), UNITS[-1])


def logarithmic(values: list[float]) -> bool:
    """Whether the values spread over more than two decades.

    >>> logarithmic([0.01, 2.0]), logarithmic([0.0, 0.5, 2.0])
    (True, False)
    """
    positive = [value for value in values if value > 0]
    return bool(positive) and max(positive) > DECADES * min(positive)


def _panel(name: str, priority: float, found: Mapping[str, Columns], bins: Bins) -> Panel:
    boxes = {policy: summarise(each.response) for policy, each in found.items()}
    lines = {policy: _line(bins, each.emission, each.response) for policy, each in found.items()}
    return Panel(name, priority, boxes, lines)


def _line(bins: Bins, emission: Floats, response: Floats) -> Line:
    means = bins.means(emission, response)
    filled = ~np.isnan(means)
    return Line((bins.starts + bins.width / 2)[filled], means[filled])
