"""The numbers of queries, classes and streams as plain values, without nulls, so that merge patches can tell all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headgate.metrics.measures import targets
from headgate.metrics.measures.inversion import pairs
from headgate.metrics.measures.response import Distribution
from headgate.metrics.measures.targets import TargetState, TargetStatus
from headgate.model import QueryClass, streams
from headgate.server.live.response_times import ResponseTimes, TimesCache, rounded
from headgate.spark.machine.views import QueryView
from headgate.spark.status import ADDED, is_late, stalled, starved_classes

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class QueryNumbers:
    """A query of a snapshot, with what is computed of it."""

    view: QueryView
    times: ResponseTimes
    json: Json  # without its name, and without texts that could name something
    target: TargetStatus | None


def query_numbers(
    view: QueryView,
    cache: TimesCache,
    now: float,
    dead_letters: int,
    *,
    failing: int = 0,
    former: QueryNumbers | None = None,
) -> QueryNumbers:
    """The numbers of one query; if they are as before, the former JSON, so that nobody looks for differences in it.

    `failing`: how many of its tuples became dead letters in the last minute.
    """
    times = cache.of(view, now)
    target = view.target
    json: Json = {
        "class": view.query.query_class,
        "state": view.state,
        "sink": view.query.sink or "parquet",
        "priority": view.priority,
        "waiting": view.waiting,
        "oldest_wait": round(view.oldest_wait, 3),
        "rate": round(view.rate, 3),
        "runs": view.runs,
        "tuples_in": view.tuples_in,
        "tuples_out": view.tuples_out,
        "dead_letters": dead_letters,
        "late": view.late,
        "skipped": view.skipped,
        "undelivered": view.undelivered,
        "is_late": is_late(view, _missed_deadline(view, times)),
        "latency": times.latency,
    }
    if view.last_commit is not None:
        json["last_commit"] = round(view.last_commit, 3)
    if failing:
        json["failing"] = failing
    if (stuck := stalled(view, now)) is not None:
        json["stalled"] = int(stuck)  # each second is news enough
    if view.backfill is not None:
        json["backfill"] = dict(zip(("read", "of"), view.backfill, strict=True))
    if target is not None:
        json["target"] = target_json(target, times.reached)
    if former is not None and former.json == json:
        json = former.json
    return QueryNumbers(view, times, json, target)


def target_json(status: TargetStatus, reached: float | None) -> Json:
    """How a query does by its target."""
    found = status.reached if status.reached is not None else reached
    json: Json = {
        "target": str(status.target),
        "seconds": status.target.seconds,
        "percentile": status.target.percentile,
        "state": status.state.value,
        "overdue": status.overdue,
    }
    missed = max(0.0, found - status.target.seconds) if found and status.state is TargetState.MISSED else None
    more = {"since": status.since, "share_met": status.share, "reached": found, "missed_by": missed}
    return json | {name: round(value, 3) for name, value in more.items() if value is not None}


def _missed_deadline(view: QueryView, times: ResponseTimes) -> bool:
    """Whether results of the last 10 s came after the deadline of its QoS graph; one in a hundred may."""
    graph = view.query.qos
    return graph is not None and times.latency["last_10_s"].get("p99", 0.0) > graph.deadline


def class_numbers(made: QueryClass, queries: Sequence[QueryNumbers], latency: Json) -> Json:
    """The numbers of a class: sums over some of its queries, whose `latency` was summed up before."""
    lines = [query.json for query in queries]
    json: Json = {
        "priority": made.priority,
        "queries": len(queries),
        "oldest_wait": max((line["oldest_wait"] for line in lines), default=0.0),
        "rate": round(sum(line["rate"] for line in lines), 3),
        **{name: sum(line[name] for line in lines) for name in ADDED},
        "latency": latency,
    }
    followed = [query.target for query in queries if query.target is not None]
    if followed:
        found = targets.summarise(followed)
        share = {} if found.share is None else {"share": round(found.share, 3)}
        json["targets"] = {"met": found.met, "missed": found.missed, **share}
    return json


def lags(queries: Iterable[QueryNumbers]) -> dict[str, tuple[QueryView, int, float]]:
    """For each stream the query for which most of its tuples wait, how many, and how long the oldest has waited."""
    found: dict[str, tuple[QueryView, int, float]] = {}
    for query in queries:
        view = query.view
        if not view.waiting:
            continue
        for stream in streams(view.query.plan):
            tuples, oldest = view.by_stream.get(stream, (view.waiting, view.oldest_wait))
            if tuples and (stream not in found or found[stream][1] < tuples):
                found[stream] = view, tuples, round(oldest, 3)
    return found


def inversions(classes: Mapping[str, Json]) -> Json:
    """How much later than its less important neighbour each class answers, by the medians of the last minute."""
    times = {name: Distribution(p50=line["latency"]["last_minute"].get("p50")) for name, line in classes.items()}
    found = pairs(times, {name: line["priority"] for name, line in classes.items()}, "p50")
    return {pair.above: {"below": pair.below, "ratio": rounded(pair.ratio)} for pair in found if pair.ratio}


def starved(classes: Mapping[str, Json]) -> list[str]:
    """Classes of which no tuple was taken lately although some have waited for longer, while others had turns."""
    return list(starved_classes((name, line["rate"], line["oldest_wait"]) for name, line in classes.items()))
