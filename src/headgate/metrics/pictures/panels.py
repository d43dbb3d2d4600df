"""The numbers that a picture of runs shows: for every class and policy a box and a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from headgate.metrics.measures.over_time import Bins
from headgate.metrics.measures.response import Distribution, summarise
from headgate.metrics.records.class_order import by_priority
from headgate.metrics.records.result_columns import Floats, ResultColumns
from headgate.metrics.records.run_records import Records

MAX_BINS = 100  # more points than that make a line unreadable


@dataclass(frozen=True, slots=True, eq=False)
class ResponseLine:
    """Mean response time over time, bins with results only."""

    time: Floats
    response: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One class under every policy; a policy without results in it is missing."""

    name: str
    priority: float
    boxes: Mapping[str, Distribution]
    lines: Mapping[str, ResponseLine]

    def extent(self) -> Iterator[float]:
        """Every response time that is drawn."""
        for box in self.boxes.values():
            yield from (value for level in ("p10", "p90", "mean") if (value := box.at(level)) is not None)
        for line in self.lines.values():
            yield from (float(line.response.min()), float(line.response.max()))


def panels(records: Mapping[str, Records], bin: float, at_most: int) -> list[Panel]:
    """The panels of the most important classes, by falling priority."""
    priorities = {name: value for run in records.values() for name, value in run.priorities.items()}
    by_policy = {policy: run.by_class() for policy, run in records.items()}
    shown = {
        name: {policy: classes[name] for policy, classes in by_policy.items() if name in classes and len(classes[name])}
        for name in by_priority(priorities)[:at_most]
    }
    span = max(
        (float(results.emission.max()) for columns in shown.values() for results in columns.values()), default=0.0
    )
    bins = Bins.over(span, max(bin, span / MAX_BINS))
    return [_panel(name, priorities[name], columns, bins) for name, columns in shown.items()]


def _panel(name: str, priority: float, columns: Mapping[str, ResultColumns], bins: Bins) -> Panel:
    boxes = {policy: summarise(results.response) for policy, results in columns.items()}
    lines = {policy: _line(bins, results.emission, results.response) for policy, results in columns.items()}
    return Panel(name, priority, boxes, lines)


def _line(bins: Bins, emission: Floats, response: Floats) -> ResponseLine:
    means = bins.means(emission, response)
    filled = ~np.isnan(means)
    return ResponseLine((bins.starts + bins.width / 2)[filled], means[filled])
