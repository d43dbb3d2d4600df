"""A history with only what one tenant may see of it: its own queries; of all else, that there was other work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headgate.history.history import History
from headgate.history.records import RunRecord, RunStart, Setting
from headgate.insight.causes import OTHER_WORK
from headgate.model import WaitingUnit, Why
from headgate.server.workspace.names import Names

_KEPT = ("workers", "fuse", "policy", "trace")  # of a setting, whoever asks
_Run = RunRecord | RunStart


def own_history(history: History, names: Names) -> History:
    """The history as a tenant may see it, by its names; without a tenant, as it is.

    Of runs that are not its own stay the times at which they held a worker: without names, numbers and reasons.
    """
    if not names.tenant:
        return history
    return History(
        [own_run(run, names) for run in history.runs],
        names.own(history.arrivals),
        {query: [replace(one, query=query) for one in made] for query, made in names.own(history.deliveries).items()},
        [Setting(one.at, one.origin, _header(one.header, names), one.version) for one in history.settings],
        [_start(start, names) for start in history.under_way],
        history.until,
    )


def own_run(run: RunRecord, names: Names) -> RunRecord:
    """A run as a tenant may see it; without a tenant, as it is."""
    if not names.tenant:
        return run
    own = _own(run.queries, names)
    if not own:
        return RunRecord(
            0, 0, OTHER_WORK, OTHER_WORK, (OTHER_WORK,), 0, run.began, run.began, run.evaluated, run.ended,
            cancelled=run.cancelled, recorded_why=_why(run, names), unfinished=run.unfinished,
        )  # fmt: skip
    return replace(
        run,
        id=0,
        worker=0,
        unit="+".join(own),
        queries=own,
        tuples=run.tuples if len(own) == len(run.queries) else 0,
        predicted=None,
        jobs=0.0,
        read=0.0,
        answers=names.own(run.answers),
        takes=(),
        operators=(),
        decision=0,
        error=run.error and run.error.replace(names.tenant + "..", ""),
        recorded_why=_why(run, names),
    )


def _start(start: RunStart, names: Names) -> RunStart:
    own = _own(start.queries, names)
    if not own:
        return RunStart(
            0, 0, OTHER_WORK, OTHER_WORK, (OTHER_WORK,), 0, start.began, start.began,
            recorded_why=_why(start, names),
        )  # fmt: skip
    return replace(
        start,
        id=0,
        worker=0,
        unit="+".join(own),
        queries=own,
        tuples=start.tuples if len(own) == len(start.queries) else 0,
        predicted=None,
        takes=(),
        decision=0,
        recorded_why=_why(start, names),
    )


def _own(queries: tuple[str, ...], names: Names) -> tuple[str, ...]:
    return tuple(names.short(query) for query in queries if names.has(query))


def _why(run: _Run, names: Names) -> Why | None:
    """A decision of which only those units are left that are the tenant's and waited."""
    why = run.why
    if why is None:
        return None
    waiting = [
        WaitingUnit("+".join(own), unit.query_class, own, 0, unit.oldest)
        for unit in why.waiting
        if (own := _own(unit.queries, names))
    ]
    return Why("", "", "", waiting=tuple(waiting))


def _header(header: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """A setting with the tenant's queries, streams and classes; of plans only which kinds of operators they have."""
    queries = [
        {"name": names.short(one["name"]), "query_class": one["query_class"], "plan": _kinds(one.get("plan"), names)}
        for one in header.get("queries", ())
        if names.has(one["name"])
    ]
    used = {one["query_class"] for one in queries}
    classes = [one for one in header.get("classes", ()) if one["name"] in used]
    return {**{name: header[name] for name in _KEPT if name in header}, "queries": queries, "classes": classes}


def _kinds(plan: object, names: Names) -> dict[str, Any]:
    if not isinstance(plan, dict):
        return {}
    stream = {"stream": names.short(plan["stream"])} if "stream" in plan else {}
    return {"is": plan.get("is", ""), **stream, "inputs": [_kinds(part, names) for part in plan.get("inputs", ())]}
