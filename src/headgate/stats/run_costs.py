"""What runs cost on a machine that nobody can look into: fitted to how long they took.

The seconds of a run are explained by what it did, with coefficients of its own for every unit:

    jobs · (overhead of a job) + taken · a + read · b + results · c

and more while other runs share the machine. Coefficients are never negative. They are fitted to the newest runs of the
unit so that relative errors are small, and outliers count little. While a unit has few runs, or runs of one size only,
what is known of all units stands in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from headgate.model import Work
from headgate.stats.average import ExponentialAverage
from headgate.stats.cost import CostModel

KEPT = 32  # runs of a unit that its coefficients are fitted to
POOLED = 200  # runs of all units that stand in for a unit with few
LATEST = 8  # runs by which is told what the next one will read and give
AGE, POOL_AGE = 0.93, 0.99  # the weight of a run relative to the next one
PRIOR = 2.0  # runs that the pool counts for in the fit of a unit
POOL_EVERY = 10  # runs between two fits of the pool
ERRORS = 100  # runs over which errors are told
SETTLED = 16  # runs after which coefficients that foretell the next run well are kept
GOOD = 0.1  # a relative error that is well enough
FIT_EVERY = 4  # runs between two fits of them all the same
OUTLIER = 0.3  # a relative error beyond which a run counts less
CROWDED = 0.3  # how much slower a run is at first beside another one
BEYOND = 4.0  # so many times the largest train lately is as far as costs are believed
FIRST = 5000.0  # tuples of a run about whose cost nothing is known yet, where runs are to be short
_PARTS = range(4)
_ROUNDS, _SWEEPS, _STILL = 3, 25, 1e-4
_NOTHING = 1e-12  # of a feature per second: nothing is explained by that

Vector = tuple[float, float, float, float]  # jobs, tuples taken, tuples read, results; or a coefficient of each
Matrix = np.ndarray[Any, np.dtype[np.float64]]


class Observed(NamedTuple):
    """A run that was measured."""

    features: Vector
    seconds: float  # as if it had had the machine for itself


def fit(runs: Sequence[Observed], prior: Vector | None = None, age: float = AGE) -> Vector:
    """Coefficients, none negative, that explain runs with small relative errors; the newest run is the last.

    >>> runs = [Observed((1.0, n, 0.0, 0.0), 0.05 + 0.0001 * n) for n in (10.0, 500.0, 3000.0, 100.0) * 3]
    >>> [round(value, 5) for value in fit(runs)]
    [0.05, 0.0001, 0.0, 0.0]
    """
    rows: Matrix = np.array([run.features for run in runs]) / np.array([[run.seconds] for run in runs])
    scale = rows.max(axis=0)
    scale[scale < _NOTHING] = 1.0
    rows /= scale  # so that every row, times the coefficients, should come to 1
    ages: Matrix = np.power(age, np.arange(len(runs), dtype=np.float64)[::-1])
    known = None if prior is None else [prior[part] * float(scale[part]) for part in _PARTS]
    values, weights = list(known or (0.0,) * 4), ages
    for _ in range(_ROUNDS):
        values = _solve(rows, weights, known, values)
        errors = np.abs(1.0 - rows @ values)
        weights = ages * np.minimum(1.0, OUTLIER / np.maximum(errors, 1e-9))
    jobs, taken, read, results = (values[part] / float(scale[part]) for part in _PARTS)
    return jobs, taken, read, results


def spread(runs: Sequence[Observed], coefficients: Vector, age: float = AGE) -> Vector:
    """The standard error of each coefficient: how far it may be off, going by how far off the runs are."""
    rows: Matrix = np.array([run.features for run in runs]) / np.array([[run.seconds] for run in runs])
    ages: Matrix = np.power(age, np.arange(len(runs), dtype=np.float64)[::-1])
    errors = 1.0 - rows @ coefficients
    variance = float(np.average(errors * errors, weights=ages))
    scale = np.sqrt((rows * rows * ages[:, None]).sum(axis=0))
    scale[scale < _NOTHING] = 1.0
    scaled = rows / scale
    inverse = np.linalg.pinv((scaled * ages[:, None]).T @ scaled + PRIOR / len(runs) * np.eye(4))
    jobs, taken, read, results = np.sqrt(variance * np.diag(inverse)) / scale
    return float(jobs), float(taken), float(read), float(results)


def _solve(rows: Matrix, weights: Matrix, known: Sequence[float] | None, start: Sequence[float]) -> list[float]:
    """Weighted least squares of `rows · values = 1` without negative values, by coordinate descent."""
    square = ((rows * weights[:, None]).T @ rows).tolist()
    right = (rows.T @ weights).tolist()
    pulls = [PRIOR * square[i][i] / float(weights.sum()) if known is not None else 0.0 for i in _PARTS]
    values = list(start)
    for _ in range(_SWEEPS):
        moved = 0.0
        for i in _PARTS:
            below = square[i][i] + pulls[i]
            if below > 0:
                (a, b, c, d), before = square[i], values[i]
                values[i] = 0.0
                first, second, third, fourth = values
                rest = right[i] - (a * first + b * second + c * third + d * fourth)
                value = max(0.0, (rest + (pulls[i] * known[i] if known is not None else 0.0)) / below)
                moved = max(moved, abs(value - before))
                values[i] = value
        if moved < _STILL:
            break
    return values


class FittedCost(NamedTuple):
    """What is known of a unit's runs, for people to read."""

    coefficients: Vector  # seconds per job, per tuple taken, per tuple read, per result
    spread: Vector  # the standard error of each
    error: float | None  # the median error of the latest predictions, relative to what was measured
    runs: int  # that were predicted lately


@dataclass(slots=True)
class UnitCosts:
    """What the runs of one unit cost."""

    runs: deque[Observed] = field(default_factory=lambda: deque(maxlen=KEPT))
    errors: deque[float] = field(default_factory=lambda: deque(maxlen=ERRORS))
    coefficients: Vector | None = None
    observed: int = 0
    lately: tuple[float, float, float] | None = None  # of the latest runs, once somebody has asked since the last one

    def expected(self, taken: float) -> Vector:
        """What a run on so many tuples will do, going by the latest ones."""
        if self.lately is None:
            self.lately = self._lately()
        jobs, besides, results = self.lately
        return jobs, taken, taken + besides, taken * results

    def _lately(self) -> tuple[float, float, float]:
        """Jobs, tuples read beside those taken, and results per tuple."""
        latest = list(self.runs)[-LATEST:]
        all_taken = sum(run.features[1] for run in latest)
        jobs = sum(run.features[0] for run in latest) / len(latest)
        results = sum(run.features[3] for run in latest) / all_taken if all_taken else 0.0
        besides = median(run.features[2] - run.features[1] for run in latest)  # of windows that earlier runs took
        return jobs, max(0.0, besides), results

    @property
    def must_fit(self) -> bool:
        """Whether the newest run may change the coefficients: fitting takes longer than the rest of learning."""
        return self.observed < SETTLED or self.observed % FIT_EVERY == 0 or not self.errors or self.errors[-1] > GOOD

    @property
    def known(self) -> float:
        """So many tuples a run may take before its cost is anybody's guess."""
        return max(FIRST, BEYOND * max(run.features[1] for run in self.runs))


class RunCosts:
    """The costs of the runs of all units, learned from every run.

    >>> costs = RunCosts()
    >>> for n in (100, 400, 50, 800) * 5:
    ...     costs.observe("q", n, Work(1.0, n, 0.0), seconds=0.05 + 0.001 * n, predicted=0.1 + 0.001 * n)
    >>> round(costs.model("q").seconds(200), 2), round(costs.error("q"), 2)
    (0.25, 0.22)
    """

    def __init__(self) -> None:
        self.units: dict[Hashable, UnitCosts] = {}
        self.crowding = CROWDED
        self._pool: deque[Observed] = deque(maxlen=POOLED)
        self._pooled: Vector | None = None
        self._observed = 0
        self._errors: deque[float] = deque(maxlen=ERRORS)
        self._others = ExponentialAverage(0.0)
        self._paces: Mapping[bool, deque[float]] = {crowded: deque(maxlen=ERRORS) for crowded in (False, True)}

    @property
    def job_overhead(self) -> float:
        """Seconds that a job costs whatever it does."""
        return 0.0 if self._pooled is None else self._pooled[0]

    def error(self, key: Hashable = None) -> float | None:
        """The median of relative errors: of a unit's latest predictions, or of all."""
        errors = self._errors if key is None else self.units[key].errors if key in self.units else None
        return median(errors) if errors else None

    def model(self, key: Hashable, others: float | None = None) -> CostModel | None:
        """What a run of a unit costs by the tuples it takes, beside so many other runs; None: it never ran."""
        unit = self.units.get(key)
        if unit is None or unit.coefficients is None:
            return None
        fixed = unit.expected(0.0)
        one = unit.expected(1.0)
        slower = self._slower(others)
        at_rest = _dot(fixed, unit.coefficients)
        return CostModel(slower * at_rest, slower * (_dot(one, unit.coefficients) - at_rest), unit.known)

    def observe(
        self,
        key: Hashable,
        taken: float,
        work: Work,
        seconds: float,
        others: float = 0.0,
        predicted: float | None = None,
    ) -> None:
        """Learn from a run that took so many tuples for each of its queries, and how far off its prediction was."""
        if seconds <= 0:
            return
        unit = self.units.setdefault(key, UnitCosts())
        if predicted is not None:
            error = abs(predicted - seconds) / seconds
            unit.errors.append(error)
            self._errors.append(error)
        self._others.add(others)
        observed = Observed((work.jobs, float(taken), work.read, work.results), seconds / self._slower(others))
        unit.runs.append(observed)
        unit.lately = None
        self._pool.append(observed)
        if self._pooled is None or self._observed % POOL_EVERY == 0:
            self._pooled = fit(self._pool, age=POOL_AGE)
        self._observed += 1
        unit.observed += 1
        coefficients = unit.coefficients
        if coefficients is None or unit.must_fit:
            coefficients = unit.coefficients = fit(unit.runs, self._pooled)
        self._learn_crowding(_dot(observed.features, coefficients), seconds, others)

    def fitted(self, key: Hashable) -> FittedCost | None:
        """The costs of a unit's runs; None: it never ran."""
        unit = self.units.get(key)
        if unit is None or unit.coefficients is None:
            return None
        return FittedCost(unit.coefficients, spread(unit.runs, unit.coefficients), self.error(key), len(unit.errors))

    def forget(self, keys: Sequence[Hashable]) -> None:
        """Keep only units that still exist."""
        self.units = {key: self.units[key] for key in keys if key in self.units}

    def _slower(self, others: float | None) -> float:
        beside = self._others.value if others is None else others
        return 1.0 + self.crowding * min(1.0, beside or 0.0)

    def _learn_crowding(self, alone: float, seconds: float, others: float) -> None:
        """Compare the paces of runs that were beside others with those that were not."""
        if alone <= 0:
            return
        self._paces[others > 0.5].append(seconds / alone)
        if min(map(len, self._paces.values())) > LATEST:
            self.crowding = min(2.0, max(0.0, median(self._paces[True]) / median(self._paces[False]) - 1.0))


def _dot(features: Vector, coefficients: Vector) -> float:
    return sum(feature * coefficient for feature, coefficient in zip(features, coefficients, strict=True))
