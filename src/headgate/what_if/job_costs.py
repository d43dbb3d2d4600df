"""How long runs of an engine take, that nobody can look into: the engine's own cost model, fitted to all recorded runs.

The seconds of a run are explained as in `headgate.stats.run_costs`: by its jobs, the tuples taken and read, and its
results, with coefficients of its own for every unit, more while other runs share the machine. How far single runs are
off, and how long their commits take, is kept with them (`samples`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, median

from headgate.history.records import RunRecord
from headgate.model import HeadgateError
from headgate.stats.run_costs import CROWDED, Observed, Vector, fit
from headgate.what_if.samples import NO_SAMPLES, Sample, Samples, Sizes

FEWEST = 10  # runs to learn from
FITTED = 400  # runs of a unit that are fitted, evenly chosen
POOLED = 1500  # runs of all units that are fitted together, likewise
ALONE, CROWD = 0.2, 0.5  # other runs at a time: fewer is alone, more is a crowd
MOST_CROWDED = 2.0
_ROUNDS = 3

Members = tuple[str, ...]  # the queries of a unit, sorted
SizesOf = Callable[[RunRecord], Sizes]


@dataclass(frozen=True, slots=True)
class UnitRuns:
    """What is known of the runs of a unit."""

    queries: Members
    coefficients: Vector
    jobs: float  # of a run
    besides: float  # tuples read beside those that are taken for each query: of windows that earlier runs took
    of_pool: float  # how many times as long they take as the average unit's would
    samples: Samples

    def read(self, taken: float) -> float:
        """The tuples that a run reads which takes so many for each of its queries."""
        return taken + self.besides

    def seconds(self, taken: float, results: float) -> float:
        """Expected seconds of a run that has the machine for itself."""
        return _dot((self.jobs, taken, self.read(taken), results), self.coefficients)


@dataclass(frozen=True, slots=True)
class JobCosts:
    """What runs cost, by the queries of their units."""

    units: Mapping[Members, UnitRuns]
    pooled: Vector
    crowding: float  # so much slower per other run
    forms: Mapping[str, Hashable] = field(default_factory=dict)  # queries of one form share a job

    def slower(self, others: float) -> float:
        """How many times as long a run takes beside others."""
        return 1.0 + self.crowding * others

    def unit(self, queries: Iterable[str], stand_ins: Mapping[str, str]) -> UnitRuns:
        """The costs of a unit; of one that never ran, put together from those that its queries were in.

        `stand_ins` names a recorded query for each one that was not recorded.
        """
        members = tuple(sorted(queries))
        if members in self.units:
            return self.units[members]
        parts = {query: self._part(stand_ins.get(query, query)) for query in members}
        factor = fmean(part.of_pool for part in parts.values())
        by_form: dict[Hashable, list[tuple[float, float]]] = {}
        for query, part in parts.items():
            forms = self._forms_in(part.queries)
            by_form.setdefault(self.forms.get(query, query), []).append((part.jobs / forms, part.besides / forms))
        jobs, taken, read, results = (factor * value for value in self.pooled)
        return UnitRuns(
            members,
            (jobs, taken, read, results),
            sum(fmean(jobs for jobs, _ in theirs) for theirs in by_form.values()),
            sum(fmean(besides for _, besides in theirs) for theirs in by_form.values()),
            factor,
            Samples.of({sample for part in parts.values() for sample in part.samples.runs}),
        )

    def _part(self, query: str) -> UnitRuns:
        """The recorded unit that tells most about a query."""
        found = [unit for members, unit in self.units.items() if query in members] or list(self.units.values())
        return max(found, key=lambda unit: (len(unit.samples.runs), -len(unit.queries)))

    def _forms_in(self, queries: Members) -> int:
        return len({self.forms.get(query, query) for query in queries})


def whole(runs: Iterable[RunRecord]) -> list[RunRecord]:
    """The runs that were carried out to their end."""
    return [run for run in runs if not run.cancelled and run.error is None and run.seconds > 0]


def fit_jobs(
    history_runs: Sequence[RunRecord],
    forms: Mapping[str, Hashable],
    sizes: SizesOf = lambda run: (run.tuples / len(run.queries),),
) -> JobCosts:
    """The costs that explain the runs of a history."""
    runs = whole(history_runs)
    with_jobs = [run for run in runs if run.jobs > 0]
    if len(with_jobs) < FEWEST:
        raise HeadgateError(
            f"there are too few runs to learn from: {len(with_jobs)}, at least {FEWEST} are needed",
            hint="record for longer, or ask for a longer part of the record",
        )
    beside = dict(zip((run.id for run in runs), beside_each(runs), strict=True))
    by_unit: dict[Members, list[RunRecord]] = {}
    for run in with_jobs:
        by_unit.setdefault(tuple(sorted(run.queries)), []).append(run)
    crowding = CROWDED
    for _ in range(_ROUNDS):
        pooled, coefficients = _fits(with_jobs, by_unit, beside, crowding)
        expected = {run.id: _expected(run, coefficients) for run in with_jobs}
        crowding = _crowding(with_jobs, beside, expected, crowding)
    alone = {run.id: run.seconds / (1.0 + crowding * beside[run.id]) for run in runs}
    everything: dict[Members, list[RunRecord]] = {}  # runs without a Spark job as well
    for run in runs:
        everything.setdefault(tuple(sorted(run.queries)), []).append(run)
    units = {
        members: _unit(members, theirs, alone, coefficients[members], pooled, everything[members], sizes)
        for members, theirs in by_unit.items()
    }
    return JobCosts(units, pooled, crowding, forms)


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
    with_jobs: Sequence[RunRecord],
    alone: Mapping[int, float],
    coefficients: Vector,
    pooled: Vector,
    runs: Sequence[RunRecord],
    sizes: SizesOf,
) -> UnitRuns:
    unit = UnitRuns(
        members,
        coefficients,
        fmean(run.jobs for run in with_jobs),
        max(0.0, median(run.read - run.tuples / len(members) for run in with_jobs)),
        median(alone[run.id] / max(1e-9, _dot(_features(run), pooled)) for run in with_jobs),
        NO_SAMPLES,
    )
    return replace(unit, samples=Samples.of(_sample(run, unit, alone[run.id], sizes(run)) for run in runs))


def _sample(run: RunRecord, unit: UnitRuns, alone: float, sizes: Sizes) -> Sample:
    taken = run.tuples / len(unit.queries)
    off = alone / max(1e-9, unit.seconds(taken, run.results))
    return Sample(run.began, sizes, off, max(0.0, run.ended - run.evaluated), run.jobs, run.read - taken)


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


def _expected(run: RunRecord, coefficients: Mapping[Members, Vector]) -> float:
    return _dot(_features(run), coefficients[tuple(sorted(run.queries))])


def _features(run: RunRecord) -> Vector:
    return run.jobs, run.tuples / max(1, len(run.queries)), run.read, float(run.results)


def _evenly(runs: Sequence[RunRecord], most: int) -> Sequence[RunRecord]:
    step = max(1, -(-len(runs) // most))
    return runs[::step]


def _dot(features: Vector, coefficients: Vector) -> float:
    return sum(feature * coefficient for feature, coefficient in zip(features, coefficients, strict=True))
