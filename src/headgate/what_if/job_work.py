"""Runs on an engine whose jobs nobody can look into: whole queries, with what they cost and give learned by query."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headgate.history.records import RunRecord
from headgate.model import HeadgateError, Level, OperatorOutcome, Query, QueueId, Run, Take, Unit, Work
from headgate.plan.fusion_template import template
from headgate.plan.network import Network
from headgate.stats.cost_split import split
from headgate.stats.run_costs import KEPT
from headgate.what_if.curves import Curve
from headgate.what_if.executed import Executed, Result
from headgate.what_if.job_costs import JobCosts, UnitRuns, fit_jobs
from headgate.what_if.samples import Sizes
from headgate.what_if.similar import most_similar
from headgate.what_if.stream_arrivals import StreamArrivals
from headgate.what_if.windows import Releases, held_queues, learn_releases

SELDOM = 8  # one run in so many of a unit that is known well tells its costs to the scheduler
POINTS = 5  # response times by which the results of a query's run are told, if they are more
WHOLE = frozenset({Level.QUERY, Level.GROUP, Level.SHARED})


@dataclass(frozen=True, slots=True)
class JobWork:
    """What is learned of an engine's runs."""

    costs: JobCosts
    curves: Mapping[str, Curve]  # results by tuples taken, by query
    releases: Mapping[str, Releases]  # by query, of those with windows
    queries: Mapping[str, Query]  # that were recorded
    streams: tuple[str, ...]  # by which the sizes of runs are told

    @classmethod
    def learn(cls, runs: Sequence[RunRecord], networks: Iterable[Network], began: float, ended: float) -> JobWork:
        queries: dict[str, Query] = {}
        owners: dict[QueueId, str] = {}  # who takes from each queue
        fed: dict[QueueId, str] = {}  # the stream of each queue
        for network in networks:
            queries.update(network.queries)
            owners.update(_owners(network))
            fed.update({queue: edge.stream or "" for queue, edge in network.edges.items()})
        streams = tuple(sorted(set(fed.values())))
        forms = {name: form for name, query in queries.items() if (form := template(query.plan)) is not None}
        costs = fit_jobs(
            runs,
            {name: parts.form for name, parts in forms.items()},
            lambda run: _sizes(run.takes, fed, streams, len(run.queries)),
        )
        taken: dict[str, list[tuple[float, float]]] = {}
        for run in runs:
            if not run.cancelled and run.error is None:
                for query, tuples in _taken(run, owners).items():
                    answer = run.answers.get(query)
                    taken.setdefault(query, []).append((tuples, 0 if answer is None else answer.count))
        curves = {query: Curve.of(theirs) for query, theirs in taken.items()}
        return cls(costs, curves, learn_releases(queries.values(), runs, began, ended), queries, streams)


class JobMachine:
    """Runs as long as the cost model says, with the recorded scatter."""

    def __init__(
        self, work: JobWork, arrivals: Mapping[str, StreamArrivals], releases: Mapping[str, Releases], seed: int
    ) -> None:
        self._work, self._arrivals, self._releases, self._seed = work, arrivals, releases, seed
        self._places: dict[str, float] = {}  # tuples that each query has had
        self._units: dict[tuple[str, ...], tuple[UnitRuns, random.Random]] = {}
        self._runs: dict[tuple[str, ...], int] = {}  # by the queries of their units
        self._undo: dict[int, dict[str, float]] = {}
        self._stand_ins: dict[str, str] = {}
        self._network: Network
        self._queries: dict[QueueId, str] = {}
        self._fed: dict[QueueId, str] = {}
        self._held: frozenset[QueueId] = frozenset()

    def follow(self, network: Network) -> None:
        self._network = network
        self._queries = _owners(network)
        self._fed = {queue: edge.stream or "" for queue, edge in network.edges.items()}
        self._held = frozenset(
            queue for query in network.queries if query in self._releases for queue in held_queues(network, query)
        )
        for name, query in network.queries.items():
            if name not in self._work.curves and self._work.curves:
                candidates = [other for other in self._work.queries.values() if other.name in self._work.curves]
                self._stand_ins[name] = most_similar(query, candidates).name

    def execute(self, run: Run, now: float, others: int, fixed: float) -> Executed:
        takes = self._takes(run)
        self._undo[run.id] = {query: self._places.get(query, 0.0) for query in takes}
        seconds = commit = jobs = read = 0.0
        results: list[Result] = []
        counts: dict[str, int] = {}
        for unit in run.units:
            members = [query for query in unit.queries if query in takes]
            if not members:
                continue
            tuples = sum(behind - first for query in members for _, first, behind in takes[query])
            given = self._give(members, takes, counts, results)
            known, dice = self._unit(unit.queries)
            taken = tuples / len(unit.queries)
            sizes = _sizes(
                [take for query in members for take in takes[query]], self._fed, self._work.streams, len(unit.queries)
            )
            like = known.samples.like(now, sizes, dice)
            seconds += known.seconds(taken, given) * like.off
            commit = max(commit, like.commit)
            jobs, read = jobs + like.jobs, read + (max(0.0, taken + like.besides) if like.jobs else 0.0)
        seconds *= self._work.costs.slower(others)
        operators = self._operators(takes, counts, seconds, fixed)
        work = Work(jobs, read, float(sum(counts.values()))) if self._tells(run) else None
        return Executed(max(seconds, 1e-6), commit, tuple(results), operators, (), work)

    def _tells(self, run: Run) -> bool:
        """Whether the scheduler is told what a run did, to learn costs from: as long as a unit is new, then seldom.

        It fits them anew every time, which would take most of the time of a replay, and changes little.
        """
        number = self._runs[run.units[0].queries] = self._runs.get(run.units[0].queries, 0) + 1
        return number <= KEPT or not number % SELDOM

    def finished(self, run: Run) -> None:
        self._undo.pop(run.id)

    def cancelled(self, run: Run) -> None:
        self._places.update(self._undo.pop(run.id))

    def _takes(self, run: Run) -> dict[str, list[Take]]:
        takes: dict[str, list[Take]] = {}
        for queue, first, behind in run.takes:
            if queue in self._queries:
                takes.setdefault(self._queries[queue], []).append((queue, first, behind))
        return takes

    def _unit(self, queries: Sequence[str]) -> tuple[UnitRuns, random.Random]:
        members = tuple(sorted(queries))
        if members not in self._units:
            dice = random.Random(f"{self._seed} {' '.join(members)}")
            self._units[members] = self._work.costs.unit(members, self._stand_ins), dice
        return self._units[members]

    def _give(
        self,
        members: Sequence[str],
        takes: Mapping[str, Sequence[Take]],
        counts: dict[str, int],
        results: list[Result],
    ) -> int:
        """The results of a unit's run, and how many they are."""
        total = 0
        for query in members:
            place = self._places.get(query, 0.0)
            self._places[query] = behind = place + sum(last - first for _, first, last in takes[query])
            curve = self._work.curves.get(self._stand_ins.get(query, query))
            count = 0 if curve is None else curve.between(place, behind)
            counts[query] = counts.get(query, 0) + count
            total += count
            if count:
                results.extend(self._results(query, count, takes[query]))
        return total

    def _results(self, query: str, count: int, takes: Sequence[Take]) -> list[Result]:
        """Results by the arrivals of their tuples: of windows the latest one, else all alike."""
        queue, first, behind = max(takes, key=lambda take: take[2] - take[1])
        arrivals = self._arrivals[self._network.edges[queue].stream or ""]
        if queue in self._held:
            releases = self._releases[query]
            moments = releases.between(arrivals.at(first), releases.following(arrivals.at(behind - 1)))
            moments = moments or (releases.following(arrivals.at(behind - 1)),)
            return [Result(query, count / len(moments), moment - releases.lag) for moment in moments]
        points = min(count, POINTS, behind - first)
        width = (behind - first) / points
        return [
            Result(query, count / points, arrivals.at(first + int((point + 0.5) * width))) for point in range(points)
        ]

    def _operators(
        self, takes: Mapping[str, Sequence[Take]], counts: Mapping[str, int], seconds: float, fixed: float
    ) -> tuple[OperatorOutcome, ...]:
        """What the engine tells its scheduler: the work of a query, booked on its first operator."""
        work = {
            query: (sum(behind - first for _, first, behind in theirs), counts.get(query, 0))
            for query, theirs in takes.items()
        }
        shares = split(seconds, fixed, list(work.values())) if work else []
        return tuple(
            OperatorOutcome(min(self._network.operators[query]), taken, given, share)
            for (query, (taken, given)), share in zip(work.items(), shares, strict=True)
            if taken
        )


def _owners(network: Network) -> dict[QueueId, str]:
    """The query that takes from each queue: an engine's queries share no operators."""
    return {queue: network.nodes[edge.operator].queries[0] for queue, edge in network.edges.items()}


def _sizes(takes: Sequence[Take], fed: Mapping[QueueId, str], streams: Sequence[str], queries: int) -> Sizes:
    """How many tuples of each stream are taken for each query."""
    taken = dict.fromkeys(streams, 0)
    for queue, first, behind in takes:
        taken[fed.get(queue, streams[0])] += behind - first
    return tuple(count / queries for count in taken.values())


def _taken(run: RunRecord, owners: Mapping[QueueId, str]) -> dict[str, float]:
    """The tuples that a run took for each query; in equal parts if its queues have other numbers than those known."""
    taken: dict[str, float] = {}
    for queue, first, behind in run.takes:
        query = owners.get(queue, "")
        taken[query] = taken.get(query, 0.0) + behind - first
    return taken if taken.keys() <= set(run.queries) else dict.fromkeys(run.queries, run.tuples / len(run.queries))


def check_whole(units: Sequence[Unit], policy: str) -> None:
    """Refuse a policy that schedules parts of queries: an engine's history tells the costs of whole ones only."""
    for unit in units:
        if unit.level not in WHOLE:
            raise HeadgateError(
                f"policy '{policy}' schedules {unit.level}s, but the engine's history tells what whole queries cost",
                hint="ask for a policy of whole queries, such as hnr, or add level=query to its settings",
            )
