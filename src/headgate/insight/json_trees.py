"""Explanations as JSON."""

from __future__ import annotations

from typing import Any

from headgate.history.records import RunRecord
from headgate.insight.causes import Cause
from headgate.insight.why import Delay, Explanation


def explanation_tree(told: Explanation, origin: float) -> dict[str, Any]:
    """An explanation as JSON; times are seconds since the driver began."""
    life = told.moments
    names = ("arrival", "ready", "began", "evaluated", "ended", "delivered")
    return {
        "query": told.query,
        "class": told.query_class,
        "sentence": told.sentence,
        "cause": told.cause.value,
        "waits_still": told.waits_still,
        "scheduled": told.scheduled,
        "seconds": life.total,
        "parts": life.parts,
        "causes": {cause.value: seconds for cause, seconds in told.causes.items()},
        "moments": {name: getattr(life, name) - origin for name in names},
        "run": None if told.run is None else run_tree(told.run, origin),
        "delays": [_delay(delay, origin) for delay in told.delays],
        "worker_free": told.free,
    }


def _delay(delay: Delay, origin: float) -> dict[str, Any]:
    if delay.cause is Cause.OTHER:
        return {"seconds": delay.seconds, "cause": delay.cause.value}
    why = delay.run.why
    return {
        "seconds": delay.seconds,
        "cause": delay.cause.value,
        **run_tree(delay.run, origin),
        "numbers": {} if why is None else why.numbers,
        "reason": "" if why is None else why.reason,
        "own_numbers": None if delay.passed_over is None else delay.passed_over.numbers,
    }


def run_tree(run: RunRecord, origin: float) -> dict[str, Any]:
    """A run; one that has not ended has no end."""
    return {
        "run": run.id,
        "decision": run.decision,
        "worker": run.worker,
        "unit": run.unit,
        "class": run.query_class,
        "queries": list(run.queries),
        "tuples": run.tuples,
        "began": run.began - origin,
        "evaluated": None if run.unfinished else run.evaluated - origin,
        "ended": None if run.unfinished else run.ended - origin,
    }
