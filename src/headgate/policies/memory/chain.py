from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from headgate.model import Level, QueryId, Unit, UnitId
from headgate.policies.contract import View
from headgate.policies.linear import Linear
from headgate.policies.memory.steepness import steepness
from headgate.policies.order import Line
from headgate.policies.registry import register
from headgate.stats import Stats

Chart = Sequence[tuple[float, float]]  # points (seconds spent, bytes left), from the leaf to the output


def envelope(chart: Chart) -> list[float]:
    """How steeply the lower envelope of a progress chart falls along each of its steps.

    From a point go to the later one that is reached by the steepest descent, the farthest of several; from there again.

    >>> envelope([(0, 10), (1, 9), (2, 2), (3, 0)])  # the dull first step leads to a steep one
    [4.0, 4.0, 2.0]
    """
    steps: list[float] = []
    while (start := len(steps)) < len(chart) - 1:
        steep, end = max(
            (steepness(chart[start][1] - y, x - chart[start][0]), place)
            for place, (x, y) in enumerate(chart)
            if place > start
        )
        steps += [steep] * (end - start)
    return steps


@register("chain")
class Chain(Linear):
    """The operator on the steepest segment of its path's progress chart goes first: keeps queues small.

    The chart shows how much of a tuple is left after so much work. A segment of its lower envelope is a chain of
    operators that frees memory quickly as a whole, even if the first of them alone does not. Among tuples on equal
    segments the earliest goes first.

    >>> from headgate.policies.checks import Situation
    >>> slow_start = ["select, cost=1ms, selectivity=0.9, name=a1", "select, cost=1ms, selectivity=0, name=a2"]
    >>> queries = {"a": slow_start, "b": "select, cost=3ms, selectivity=0, name=b1"}
    >>> Situation(queries).order("chain"), Situation(queries).order("greedy")
    (['a2', 'a1', 'b1'], ['a2', 'b1', 'a1'])

    An operator on several paths has the steepest of its segments; a join counts with its first input.
    """

    source = "Pielech 2004, section 4.6, after Babcock, Babu, Datar, Motwani 2003"
    rule = "steepest segment of the progress chart"
    needs = frozenset({"progress"})
    levels = (Level.OPERATOR,)

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._steepness: dict[UnitId, float] = {}

    def changed(self, view: View) -> None:
        charts = {unit.id: view.stats.progress(unit) for unit in view.units.values()}
        paths: dict[QueryId, list[Chart]] = {}
        for unit in view.units.values():
            if unit.depth == 0:
                for name in unit.queries:
                    paths.setdefault(name, []).append(charts[unit.id])
        self._steepness = {
            number: _steepest(unit.depth, charts[number], [path for name in unit.queries for path in paths[name]])
            for number, unit in view.units.items()
        }
        super().changed(view)

    def line(self, unit: Unit, stats: Stats) -> Line:
        return self._steepness[unit.id], 0.0


def _steepest(depth: int, rest: Chart, paths: Sequence[Chart]) -> float:
    """The steepest segment that a unit lies on; `rest` is the chart of its path from the unit on."""
    through = [path for path in paths if len(path) == depth + len(rest) and _ends_with(path[depth:], rest)]
    return max((envelope(path)[depth] for path in through if depth), default=envelope(rest)[0])


def _ends_with(end: Chart, rest: Chart) -> bool:
    """Whether they are one chart but for the share of tuples that gets so far, which scales both axes."""
    slopes = [[steepness(a[1] - b[1], b[0] - a[0]) for a, b in pairwise(c)] for c in (end, rest)]
    return all(math.isclose(*pair, rel_tol=1e-6) for pair in zip(*slopes, strict=True))
