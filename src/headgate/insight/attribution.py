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
from headgate.insight.causes import Cause
from headgate.insight.parts import MeanParts, Result, mean_parts, results
from headgate.insight.text import time_text
from headgate.insight.why import LEAST, Explainer, Explanation

FEW = 0.5  # a class that gets less than this share of another's tuples has a low rate
STARVES = 2.0  # a query that waits longer than so many times its slowest result


@dataclass(frozen=True, slots=True)
class Loss:
    """Mean seconds that each result of a class lost, to a run or to something of its own."""

    cause: Cause
    seconds: float
    run: RunRecord | None = None  # None: not a run's doing


@dataclass(frozen=True, slots=True)
class InvertedPair:
    """Two classes of which the more important one answers later; times are seconds, means over results."""

    above: str
    below: str
    response_above: float
    response_below: float
    losses: tuple[Loss, ...]  # the largest first; they add up to the difference
    summary: str = ""

    @property
    def difference(self) -> float:
        return self.response_above - self.response_below

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
                    pair = InvertedPair(above, below, first.total, second.total, tuple(losses))
                    found.append(_summed_up(pair, explainer, when))
    return found


def starving(explainer: Explainer) -> list[Explanation]:
    """Queries that wait far longer than their results ever took, with what they wait behind."""
    slowest: dict[str, float] = {}
    for result in results(explainer.history, slowest=True):
        slowest[result.query] = max(slowest.get(result.query, 0.0), result.response)
    waiting = (explainer.waiting(query) for query in sorted(explainer.classes.of))
    return [one for one in waiting if one is not None and one.moments.total > STARVES * slowest.get(one.query, 0.0)]


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
    tuples = _tuples(explainer.history.runs)
    for query in sorted({result.query for result in late}):
        lives = [(result.moments, result.count) for result in late if result.query == query]
        spans = [(life.ready, life.began, float(number)) for life, number in lives]
        order = sorted((life.began, life.ready) for life, _ in lives)
        delays = explainer.timeline.delays(query, spans)
        if delays.free > LEAST:
            yield Loss(Cause.FREE, delays.free / count)
        rows = zip(explainer.history.runs, delays.held.tolist(), delays.own.tolist(), strict=True)
        for run, held, blocked in rows:
            if held > LEAST:
                for cause, share in _causes(explainer, query, above, run, order, tuples):
                    yield Loss(cause, held * share / count, run)
            if blocked > LEAST:
                commits = run.ended - run.evaluated > run.evaluated - run.began
                yield Loss(Cause.COMMIT if commits else Cause.SHARED, blocked / count, run)


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
        shares = [(classes.mixed_by, share), (Cause.OWN_CLASS, 1.0 - share)]
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
            yield Loss(explainer.classes.mixed_by, seconds, result.run)
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


def _summed_up(pair: InvertedPair, explainer: Explainer, when: str) -> InvertedPair:
    """The pair with its summary: what was lost, and the most of it to whom."""
    groups: dict[str, float] = {}
    for loss in pair.losses:
        whom = _to_whom(loss, pair.above, explainer)
        groups[whom] = groups.get(whom, 0.0) + loss.seconds
    text = f"against {pair.below}, {pair.above} lost {time_text(pair.difference)} a result" + (
        f" {when}" if when else ""
    )
    if groups:
        whom, seconds = max(groups.items(), key=lambda item: item[1])
        text += f", {time_text(seconds)} of it to {whom}"
    return replace(pair, summary=text)


def _to_whom(loss: Loss, above: str, explainer: Explainer) -> str:
    run = loss.run
    if run is None:
        return {
            Cause.WINDOW: "waiting for its windows",
            Cause.OWN_RUN: "its own runs",
            Cause.COMMIT: "its commits",
            Cause.SINK: "its sinks",
        }.get(loss.cause, "workers that were kept free")
    if loss.cause in (Cause.FUSED, Cause.SHARED):
        return "less important queries in its own runs"
    if loss.cause is Cause.COMMIT:
        return "commits of its earlier runs"
    if run.query_class == above:
        return "its own earlier runs"
    return f"{run.query_class}'s {explainer.classes.work(run.queries)}"
