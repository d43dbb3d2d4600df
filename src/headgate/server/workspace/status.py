"""The status: what `GET /v1/status` answers and `GET /v1/events` begins with, for one tenant or for all.

It has no nulls: what is unknown is left out, so that merge patches of it are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from headgate.model import QueryClass
from headgate.server.hosting import EngineStatus
from headgate.server.live.numbers import Json, QueryNumbers, class_numbers, inversions, lags, starved
from headgate.server.live.snapshots import Snapshot
from headgate.server.problems import own_words
from headgate.server.workspace.names import Names
from headgate.spark.machine.views import QueryView

CLOCKS = ("at", "seconds")  # of no interest by themselves


def engine_json(engine: EngineStatus, names: Names) -> Json:
    """What the engine is doing; a tenant is not told the details."""
    told = asdict(engine) | {"state": engine.state.value, "seconds": round(engine.seconds, 3)}
    return told | {"detail": ""} if names.tenant else told


def status_json(engine: EngineStatus, snapshot: Snapshot | None, names: Names) -> Json:
    """How everything is doing; while the engine starts or has ended, only what the engine is doing."""
    told = {"engine": engine_json(engine, names)}
    return told if snapshot is None else told | engine_numbers(snapshot, names)


def engine_numbers(snapshot: Snapshot, names: Names) -> Json:
    """The numbers of a snapshot that a tenant may see, made once for all who ask."""
    made: Json | None = snapshot.made.get(names.tenant)
    if made is None:
        made = snapshot.made[names.tenant] = _numbers(snapshot, names)
    return made


def _numbers(snapshot: Snapshot, names: Names) -> Json:
    own = [query for name, query in snapshot.queries.items() if names.has(name)]
    used = {query.view.query.query_class for query in own}
    shown = [made for made in snapshot.overview.classes.values() if not names.tenant or made.name in used]
    shown.sort(key=lambda made: (-made.priority, made.name))
    classes = {made.name: _class(snapshot, names, made, own) for made in shown}
    hungry = starved(classes)
    slowest = lags(own)
    return {
        "at": round(snapshot.at, 3),
        "seconds": round(snapshot.seconds, 3),
        "policy": snapshot.overview.policy,
        **(_tenants_share(snapshot, names) if names.tenant else _shared(snapshot)),
        "classes": classes,
        "queries": {
            names.short(query.view.query.name): _with_error(query, names)
            for query in sorted(own, key=lambda query: query.view.query.name)
        },
        "streams": {
            names.short(name): {field: _own(value, names) for field, value in numbers.items()}
            | _lag(slowest.get(name), names)
            for name, numbers in snapshot.streams.items()
            if names.has(name)
        },
        "inversion": inversions(classes),
        **({"starved": hungry} if hungry else {}),
    }


def _shared(snapshot: Snapshot) -> Json:
    """What counts the work of all tenants together."""
    overview = snapshot.overview
    errors = {
        "policy_error": overview.policy_error,
        "spark_error": overview.spark_error,
        "spark_note": overview.spark_note,
    }
    return {
        "runs": overview.runs,
        "spark_jobs": snapshot.jobs,
        "cancelled": {"runs": overview.cancelled_runs, "share_of_time": round(overview.cancelled_share, 4)},
        "workers": list(overview.doing),
        "load": overview.load.to_json(),
        "disk": snapshot.disk.to_json(),
        **{name: text for name, text in errors.items() if text},
    }


def _tenants_share(snapshot: Snapshot, names: Names) -> Json:
    """What a tenant is told of what all share: how much of the workers' time it has, and whether rows can be taken."""
    running = round(snapshot.overview.load.of_space(names.tenant), 2)
    return {"load": {"running": running}, "disk": {"full": snapshot.disk.full}}


def _lag(slowest: tuple[QueryView, int, float] | None, names: Names) -> Json:
    """Who is furthest behind in a stream; nothing if nobody is."""
    if slowest is None:
        return {}
    view, tuples, oldest = slowest
    return {"lag": {"query": names.short(view.query.name), "tuples": tuples, "oldest_wait": oldest}}


def _class(snapshot: Snapshot, names: Names, made: QueryClass, own: Sequence[QueryNumbers]) -> Json:
    """The numbers of a class, by the queries that a tenant may see."""
    members = [query for query in own if query.view.query.query_class == made.name]
    latency = snapshot.sums.of((names.tenant, made.name), [query.times for query in members])
    load = snapshot.overview.load.of_class(made.name, names.tenant or None)
    return class_numbers(made, members, latency) | {"load": round(load, 2)}


def _with_error(query: QueryNumbers, names: Names) -> Json:
    error = query.view.error
    return query.json | {"error": own_words(error, names.tenant)} if error else query.json


def _own(value: Any, names: Names) -> Any:
    return own_words(value, names.tenant) if isinstance(value, str) else value


def only_clocks(patch: Json) -> bool:
    """Whether a patch of the status tells only that time has passed."""
    return not patch.keys() - {"engine", *CLOCKS} and not patch.get("engine", {}).keys() - set(CLOCKS)
