"""How long runs of an engine take, that nobody can look into: the engine's own cost model, fitted to all recorded runs.

The seconds of a run are explained as in `headgate.stats.run_costs`: by its jobs, the tuples taken and read, and its
results, with coefficients of its own for every unit, more while other runs share the machine. Beside that are learned
how the machine's pace changed over time (it warms up; something else may have used it), how far single runs are off,
and how long commits take.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from headgate.history.records import RunRecord
from headgate.model import HeadgateError
from headgate.stats.run_costs import CROWDED, Observed, Vector, fit

FEWEST = 10  # runs to learn from
FITTED = 400  # runs of a unit that are fitted, evenly chosen
POOLED = 1500  # runs of all units that are fitted together, likewise
PACE = 5.0  # seconds over which the machine's pace is taken as the same
IN_PACE = 5  # runs that tell the pace of such a stretch
ALONE, CROWD = 0.2, 0.5  # other runs at a time: fewer is alone, more is a crowd
MOST_CROWDED = 2.0
_ROUNDS = 3

Members = tuple[str, ...]  # the queries of a unit, sorted


@dataclass(frozen=True, slots=True)
class UnitRuns:
    """What is known of the runs of a unit."""

    queries: Members
    coefficients: Vector
    jobs: float  # of a run
    besides: float  # tuples read beside those that are taken: of windows
    of_pool: float  # how many times as long they take as the average unit's would
    scatter: tuple[float, ...]  # measured seconds relative to expected ones, by run
    commits: tuple[float, ...]  # seconds, by run

    def seconds(self, taken: float, read: float, results: float) -> float:
        """Expected seconds of a run that has the machine for itself."""
        return _dot((self.jobs, taken, read, results), self.coefficients)


@dataclass(frozen=True, slots=True)
class JobCosts:
    """What runs cost, by the queries of their units."""

    units: Mapping[Members, UnitRuns]
    pooled: Vector
    crowding: float  # so much slower per other run
    paces: tuple[float, ...]  # by stretch of time since `began`
    began: float
    forms: Mapping[str, Hashable] = field(default_factory=dict)  # queries of one form share a job

    def slower(self, others: float, now: float) -> float:
        """By how much a run takes longer, beside others and at a time."""
        place = min(max(0, int((now - self.began) / PACE)), len(self.paces) - 1)
        return (1.0 + self.crowding * others) * self.paces[place]

    def unit(self, queries: Iterable[str], stand_ins: Mapping[str, str]) -> UnitRuns:
        """The costs of a unit; of one that never ran, put together from those that its queries were in.

        `stand_ins` names a recorded query for each one that was not recorded.
        """
        members = tuple(sorted(queries))
        if members in self.units:
            return self.units[members]
        parts = {query: self._part(stand_ins.get(query, query)) for query in members}
        factor = fmean(part.of_pool for part in parts.values())
        by_form: dict[Hashable, list[float]] = {}
        for query, part in parts.items():
            by_form.setdefault(self.forms.get(query, query), []).append(part.jobs / self._forms_in(part.queries))
        jobs, taken, read, results = (factor * value for value in self.pooled)
        return UnitRuns(
            members,
            (jobs, taken, read, results),
            sum(map(fmean, by_form.values())),
            sum(part.besides / len(part.queries) for part in parts.values()),
            factor,
            tuple(value for part in parts.values() for value in part.scatter),
            tuple(value for part in parts.values() for value in part.commits),
        )

    def _part(self, query: str) -> UnitRuns:
        """The recorded unit that tells most about a query."""
        found = [unit for members, unit in self.units.items() if query in members] or list(self.units.values())
        return max(found, key=lambda unit: (len(unit.scatter), -len(unit.queries)))

    def _forms_in(self, queries: Members) -> int:
        return len({self.forms.get(query, query) for query in queries})


def usable(runs: Iterable[RunRecord]) -> list[RunRecord]:
    """The runs that tell what runs cost."""
    return [run for run in runs if not run.cancelled and run.error is None and run.seconds > 0 and run.jobs > 0]


def fit_jobs(history_runs: Sequence[RunRecord], began: float, forms: Mapping[str, Hashable]) -> JobCosts:
    """The costs that explain the runs of a history."""
    runs = usable(history_runs)
    if len(runs) < FEWEST:
        raise HeadgateError(
            f"there are too few runs to learn from: {len(runs)}, at least {FEWEST} are needed",
            hint="record for longer",
        )
    beside = dict(zip((run.id for run in runs), beside_each(runs), strict=True))
    by_unit: dict[Members, list[RunRecord]] = {}
    for run in runs:
        by_unit.setdefault(tuple(sorted(run.queries)), []).append(run)
    crowding = CROWDED
    for _ in range(_ROUNDS):
        pooled, coefficients = _fits(runs, by_unit, beside, crowding)
        expected = {run.id: _expected(run, coefficients) for run in runs}
        crowding = _crowding(runs, beside, expected, crowding)
    alone = {run.id: run.seconds / (1.0 + crowding * beside[run.id]) for run in runs}
    ratios = {run.id: alone[run.id] / max(1e-9, expected[run.id]) for run in runs}
    paces = _paces(runs, ratios, began)
    units = {
        members: _unit(members, coefficients[members], theirs, ratios, alone, pooled, paces, began)
        for members, theirs in by_unit.items()
    }
    return JobCosts(units, pooled, crowding, paces, began, forms)


def beside_each(runs: Sequence[RunRecord]) -> list[float]:
    """How many others ran beside each run on average; the runs are given by when they began.

    >>> def run(number, began, evaluated):
    ...     return RunRecord(number, 0, "u", "c", ("u",), 1, 0.0, began, evaluated, evaluated)
    >>> beside_each([run(1, 0.0, 1.0), run(2, 0.5, 1.5), run(3, 2.0, 3.0)])
    [0.5, 0.5, 0.0]
    """
    shared = [0.0] * len(runs)
    active: list[int] = []
    for place, run in enumerate(runs):
        active = [other for other in active if runs[other].evaluated > run.began]
        for other in active:
            both = min(run.evaluated, runs[other].evaluated) - run.began
            shared[place] += both
            shared[other] += both
        active.append(place)
    return [both / run.seconds for both, run in zip(shared, runs, strict=True)]


def _fits(
    runs: Sequence[RunRecord],
    by_unit: Mapping[Members, Sequence[RunRecord]],
    beside: Mapping[int, float],
    crowding: float,
) -> tuple[Vector, dict[Members, Vector]]:
    def observed(some: Sequence[RunRecord]) -> list[Observed]:
        return [Observed(_features(run), run.seconds / (1.0 + crowding * beside[run.id])) for run in some]

    pooled = fit(observed(_evenly(runs, POOLED)), age=1.0)
    return pooled, {
        members: fit(observed(_evenly(theirs, FITTED)), pooled, age=1.0) for members, theirs in by_unit.items()
    }


def _unit(
    members: Members,
    coefficients: Vector,
    runs: Sequence[RunRecord],
    ratios: Mapping[int, float],
    alone: Mapping[int, float],
    pooled: Vector,
    paces: Sequence[float],
    began: float,
) -> UnitRuns:
    def pace(run: RunRecord) -> float:
        return paces[min(max(0, int((run.began - began) / PACE)), len(paces) - 1)]

    return UnitRuns(
        members,
        coefficients,
        fmean(run.jobs for run in runs),
        max(0.0, median(run.read - run.tuples for run in runs)),
        median(alone[run.id] / max(1e-9, _dot(_features(run), pooled)) for run in runs),
        tuple(ratios[run.id] / pace(run) for run in runs),
        tuple(max(0.0, run.ended - run.evaluated) for run in runs),
    )


def _crowding(
    runs: Sequence[RunRecord], beside: Mapping[int, float], expected: Mapping[int, float], former: float
) -> float:
    """How much slower runs are per other run, by comparing those in a crowd with those alone; as before if unknown."""
    crowd = [run for run in runs if beside[run.id] > CROWD]
    single = [run for run in runs if beside[run.id] < ALONE]
    if min(len(crowd), len(single)) < FEWEST:
        return former
    paces = [median(run.seconds / max(1e-9, expected[run.id]) for run in some) for some in (crowd, single)]
    others = fmean(beside[run.id] for run in crowd)
    return min(MOST_CROWDED, max(0.0, (paces[0] / paces[1] - 1.0) / others))


def _paces(runs: Sequence[RunRecord], ratios: Mapping[int, float], began: float) -> tuple[float, ...]:
    """The machine's pace by stretch of time; a stretch with few runs has that of the one before it."""
    stretches: dict[int, list[float]] = {}
    for run in runs:
        stretches.setdefault(max(0, int((run.began - began) / PACE)), []).append(ratios[run.id])
    known = {place: median(values) for place, values in stretches.items() if len(values) >= IN_PACE}
    paces: list[float] = []
    first = known[min(known)] if known else 1.0
    for place in range(max(stretches) + 1):
        paces.append(known.get(place, paces[-1] if paces else first))
    return tuple(paces)


def _expected(run: RunRecord, coefficients: Mapping[Members, Vector]) -> float:
    return _dot(_features(run), coefficients[tuple(sorted(run.queries))])


def _features(run: RunRecord) -> Vector:
    return run.jobs, run.tuples / max(1, len(run.queries)), run.read, float(run.results)


def _evenly(runs: Sequence[RunRecord], most: int) -> Sequence[RunRecord]:
    step = max(1, -(-len(runs) // most))
    return runs[::step]


def _dot(features: Vector, coefficients: Vector) -> float:
    return sum(feature * coefficient for feature, coefficient in zip(features, coefficients, strict=True))
