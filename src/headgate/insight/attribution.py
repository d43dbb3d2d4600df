"""Who delayed a class that answers later than a less important one, and for how long.

For two classes of which the more important one has the higher mean response time, the difference is divided among what
made the more important one late: runs that kept it waiting, less important queries in its own runs, and whatever of
window, own run, commit and sink takes longer than for the other class. These are at least as long as the difference,
and each counts in proportion, so that the seconds lost add up to it. Response times count as in reports, for the result
of a window from the tuple that closed it, and up to the sink.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import fsum

from headgate.history.records import RunRecord
from headgate.insight.causes import OTHER_WORK, Cause
from headgate.insight.classes import Classes
from headgate.insight.parts import MeanParts, Result, mean_parts, results
from headgate.insight.why import LEAST, Explainer, Explanation
from headgate.model.number_text import duration

FEW = 0.5  # a class that gets less than this share of another's tuples has a low rate
TOLD = 0.05  # of what was lost to somebody: smaller reasons are not in the sentence
STARVES = 2.0  # a query that waits longer than so many times its slowest result

_CLEAR = {  # whom a loss goes to that is not a run's doing; that says the cause, too
    Cause.WINDOW: "waiting for its windows",
    Cause.AWAY: "pauses of its queries",
    Cause.OWN_RUN: "its own runs",
    Cause.COMMIT: "its commits",
    Cause.SINK: "its sinks",
    Cause.OTHER: OTHER_WORK,
}


@dataclass(frozen=True, slots=True)
class Loss:
    """Mean seconds that each result of a class lost, to a run or to something of its own."""

    cause: Cause
    seconds: float
    run: RunRecord | None = None  # None: not a run's doing


@dataclass(frozen=True, slots=True)
class Share:
    """Seconds that all results of a class together lost to one kind of work, or to something of its own."""

    whom: str  # "background's window joins", "its sinks"
    cause: Cause
    seconds: float
    query_class: str = ""  # whose runs they were; empty where it was no run's doing
    work: str = ""  # what those runs do
    queries: tuple[str, ...] = ()
    runs: int = 0


@dataclass(frozen=True, slots=True)
class InvertedPair:
    """Two classes of which the more important one answers later; times are seconds, means over results."""

    above: str
    below: str
    response_above: float
    response_below: float
    losses: tuple[Loss, ...]  # the largest first; they add up to the difference
    results: int = 0  # of the more important class
    shares: tuple[Share, ...] = ()  # who took what all results lost, the most first; they add up to `lost`
    summary: str = ""

    @property
    def difference(self) -> float:
        return self.response_above - self.response_below

    @property
    def lost(self) -> float:
        """Seconds that all results of the more important class together came later than at the other's mean."""
        return self.difference * self.results

    @property
    def by_cause(self) -> dict[Cause, float]:
        """Seconds lost by cause, the most first."""
        causes = dict.fromkeys(loss.cause for loss in self.losses)
        sums = {cause: fsum(loss.seconds for loss in self.losses if loss.cause is cause) for cause in causes}
        return dict(sorted(sums.items(), key=lambda item: -item[1]))


def inverted_pairs(
    explainer: Explainer, since: float, upto: float, *, equal: bool = False, when: str = ""
) -> list[InvertedPair]:
    """Every pair of classes whose mean responses are inverted, for results between two times.

    `equal` counts equal response times as an inversion too (Al Moakar 2013, section 2.3.2). `when` says which time that
    is, for the summary: "in the last minute".
    """
    classes, of_class = explainer.classes, _by_class(explainer, since, upto)
    names = [name for name in classes.ordered() if name in of_class]
    found = []
    for above in names:
        for below in names:
            if classes.lower(below, above):
                first, second = mean_parts(of_class[above]), mean_parts(of_class[below])
                if first.total > second.total or (equal and first.total == second.total):
                    losses = _losses(explainer, above, of_class[above], second, first.total - second.total)
                    pair = InvertedPair(above, below, first.total, second.total, tuple(losses), first.results)
                    found.append(_summed_up(pair, explainer.classes, when))
    return found


def starving(explainer: Explainer) -> list[Explanation]:
    """Queries that wait far longer than their results ever took, with what they wait behind."""
    slowest: dict[str, float] = {}
    for result in results(explainer.history, slowest=True):
        slowest[result.query] = max(slowest.get(result.query, 0.0), result.response)
    names = sorted(explainer.classes.of)
    waiting = (explainer.waiting(query, longer_than=STARVES * slowest.get(query, 0.0)) for query in names)
    return [told for told in waiting if told is not None]


def _by_class(explainer: Explainer, since: float, upto: float) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in results(explainer.history, windows=False):
        if since <= result.moments.ended <= upto:
            name = explainer.classes.of.get(result.query, result.run.query_class)
            found.setdefault(name, []).append(result)
    return found


def _losses(
    explainer: Explainer, above: str, late: Sequence[Result], other: MeanParts, difference: float
) -> list[Loss]:
    raw = [*_by_runs(explainer, above, late), *_of_its_own(explainer, late, other)]
    whole = fsum(loss.seconds for loss in raw)
    if not whole or difference <= 0:
        return []
    scaled = [Loss(loss.cause, loss.seconds * difference / whole, loss.run) for loss in raw]
    return sorted(scaled, key=lambda loss: -loss.seconds)


def _by_runs(explainer: Explainer, above: str, late: Sequence[Result]) -> Iterator[Loss]:
    """What each result lost to runs that kept it waiting."""
    count = sum(result.count for result in late)
    tuples = _tuples(explainer.runs)
    for query in sorted({result.query for result in late}):
        lives = [(result.moments, result.count) for result in late if result.query == query]
        spans = [
            (since, upto, float(number))
            for life, number in lives
            for since, upto in explainer.schedule.pieces(query, life.ready, life.began)
        ]
        whole = fsum((life.began - life.ready) * number for life, number in lives)
        away = whole - fsum((upto - since) * number for since, upto, number in spans)
        if away > LEAST:
            yield Loss(Cause.AWAY, away / count)
        order = sorted((life.began, life.ready) for life, _ in lives)
        delays = explainer.timeline.delays(query, spans)
        if delays.free > LEAST:
            yield Loss(Cause.FREE, delays.free / count)
        rows = zip(explainer.runs, delays.held.tolist(), delays.own.tolist(), strict=True)
        other = 0.0
        for run, held, blocked in rows:
            if run.query_class == OTHER_WORK:
                other += held
            elif held > LEAST:
                for cause, share in _causes(explainer, query, above, run, order, tuples):
                    yield Loss(cause, held * share / count, run)
            if blocked > LEAST:
                commits = run.ended - run.evaluated > run.evaluated - run.began
                yield Loss(Cause.COMMIT if commits else Cause.SHARED, blocked / count, run)
        if other > LEAST:
            yield Loss(Cause.OTHER, other / count)


def _causes(
    explainer: Explainer,
    query: str,
    above: str,
    run: RunRecord,
    order: Sequence[tuple[float, float]],
    tuples: dict[str, int],
) -> list[tuple[Cause, float]]:
    """Why a run that held a worker was in the way, with the share of each cause."""
    classes = explainer.classes
    if query in run.queries or run.query_class == above:
        share = len(classes.lower_queries(run.queries, query)) / max(1, len(run.queries))
        shares = [(explainer.schedule.mixed_by(run.began), share), (Cause.OWN_CLASS, 1.0 - share)]
        return [(cause, part) for cause, part in shares if part]
    place = bisect_right(order, (run.began, float("inf")))  # the first result whose run began after this one
    ready = order[min(place, len(order) - 1)][1]
    if run.began < ready:
        return [(Cause.LONG_RUN, 1.0)]
    few = classes.lower(run.query_class, above) and tuples.get(above, 0) < FEW * tuples.get(run.query_class, 0)
    return [(Cause.LOW_RATE if few else Cause.ORDER, 1.0)]


def _of_its_own(explainer: Explainer, late: Sequence[Result], other: MeanParts) -> Iterator[Loss]:
    """What each result lost to less important queries in its own run, and what takes longer than in the other class."""
    count = sum(result.count for result in late)
    means, lower = mean_parts(late).parts, explainer.classes.lower_queries
    shares = [(result, len(lower(result.run.queries, result.query)) / len(result.run.queries)) for result in late]
    mixed = 0.0
    for result, share in shares:
        if share:
            seconds = result.moments.parts["running"] * share * result.count / count
            mixed += seconds
            yield Loss(explainer.schedule.mixed_by(result.run.began), seconds, result.run)
    own = {
        Cause.WINDOW: means["window"] - other.parts["window"],
        Cause.OWN_RUN: means["running"] - mixed - other.parts["running"],
        Cause.COMMIT: means["commit"] - other.parts["commit"],
        Cause.SINK: means["sink"] - other.parts["sink"],
    }
    for cause, seconds in own.items():
        if seconds > 0:
            yield Loss(cause, seconds)


def _tuples(runs: Iterable[RunRecord]) -> dict[str, int]:
    """How many tuples runs of each class took."""
    found: dict[str, int] = {}
    for run in runs:
        found[run.query_class] = found.get(run.query_class, 0) + run.tuples
    return found


def _summed_up(pair: InvertedPair, classes: Classes, when: str) -> InvertedPair:
    """The pair with what all its results lost: to whom, and in a sentence."""
    groups: dict[tuple[str, str, str, Cause], list[Loss]] = {}
    for loss in pair.losses:
        groups.setdefault((*_to_whom(loss, pair.above, classes), loss.cause), []).append(loss)
    shares = []
    for (whom, query_class, work, cause), losses in groups.items():
        runs = {loss.run.id: loss.run for loss in losses if loss.run is not None}
        queries = tuple(sorted({query for run in runs.values() for query in run.queries}))
        seconds = fsum(loss.seconds for loss in losses) * pair.results
        shares.append(Share(whom, cause, seconds, query_class, work, queries, len(runs)))
    told = replace(pair, shares=tuple(sorted(shares, key=lambda share: -share.seconds)))
    return replace(told, summary=_summary(told, when))


def _summary(pair: InvertedPair, when: str) -> str:
    """What the more important class lost, and the most of it to whom and why."""
    counted = f"{duration(pair.difference)} a result, {pair.results:,} result{'' if pair.results == 1 else 's'}"
    text = f"against {pair.below}, {pair.above} lost {duration(pair.lost)}{when and ' '}{when} ({counted})"
    if not pair.shares:
        return text
    sums: dict[str, float] = {}
    for share in pair.shares:
        sums[share.whom] = sums.get(share.whom, 0.0) + share.seconds
    whom = max(sums, key=lambda name: sums[name])
    shares = [share for share in pair.shares if share.whom == whom and share.seconds >= TOLD * sums[whom]]
    reasons = [share.cause.value for share in shares]
    if len(shares) > 1:
        reasons = [f"{share.cause.value} {duration(share.seconds)}" for share in shares]
    only = {query for share in shares for query in share.queries}
    named = f"{min(only)}: " if len(only) == 1 and shares[0].query_class else ""
    because = "" if shares[0].cause in _CLEAR else f" ({named}{', '.join(reasons)})"
    return f"{text}, {duration(sums[whom])} of it to {whom}{because}"


def _to_whom(loss: Loss, above: str, classes: Classes) -> tuple[str, str, str]:
    """Who a loss goes to, in words; the class, and what its runs do."""
    run = loss.run
    if run is None:
        return _CLEAR.get(loss.cause, "workers that were kept free"), "", ""
    if loss.cause in (Cause.FUSED, Cause.SHARED):
        return _within_own_runs(run, above, classes)
    work = classes.work(run.queries)
    if loss.cause is Cause.COMMIT:
        return "commits of its earlier runs", run.query_class, work
    if run.query_class == above:
        return "its own earlier runs", run.query_class, work
    return f"{run.query_class}'s {work}", run.query_class, work


def _within_own_runs(run: RunRecord, above: str, classes: Classes) -> tuple[str, str, str]:
    """Less important queries that a run evaluates together with those of a class."""
    lower = [query for query in run.queries if classes.lower(classes.of.get(query, above), above)]
    if not lower:
        return "runs with the same operators", run.query_class, classes.work(run.queries)
    of, work = {classes.of[query] for query in lower}, classes.work(lower)
    if len(of) > 1:
        return "less important queries in its own runs", "", work
    return f"{min(of)}'s {work if work != 'runs' else 'queries'} in its own runs", min(of), work
