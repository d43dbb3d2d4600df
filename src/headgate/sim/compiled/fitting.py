"""Which simulations compiled code can take: everything that it knows, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from importlib.util import find_spec
from typing import Any

from headgate.core import Scheduler
from headgate.model import (
    Aggregate,
    Except,
    Given,
    Join,
    Kind,
    Level,
    Project,
    Query,
    Select,
    Split,
    Stream,
    TableJoin,
    Train,
    Union,
    Window,
)
from headgate.plan.fusion import Fuse
from headgate.plan.network import Network
from headgate.policies.contract import Policy
from headgate.workload import Workload

_LINEAR = ("level", "train", "ratio", "threshold")
POLICIES: Mapping[str, Collection[str]] = {  # by name, with the settings that are understood; others mean the core
    "fcfs": _LINEAR,
    "fifo": _LINEAR,
    "srpt": _LINEAR,
    "hr": (*_LINEAR, "sharing"),
    "hnr": (*_LINEAR, "sharing"),
    "bsd": (*_LINEAR, "sharing"),
    "lsf": _LINEAR,
    "weighted-hr": _LINEAR,
    "chain": _LINEAR,
    "greedy": _LINEAR,
    "fixed-priority": _LINEAR,
    "rr": (*_LINEAR, "unit"),
    "mrr": _LINEAR,
    "morr": _LINEAR,
    "rr-rb": _LINEAR,
    "mprr": (*_LINEAR, "update"),
    "cqc": (*_LINEAR, "period", "inversion", "at", "equal"),
    "abd": (*_LINEAR, "slice", "inversion", "at", "equal"),
    "mbd": (*_LINEAR, "inversion", "at", "equal", "adapt", "update"),
}
_LEVELS = frozenset({Level.OPERATOR, Level.QUERY, Level.SHARED})
_KINDS = frozenset(Kind) - {Kind.READ}
_KNOWN: Mapping[type, str] = {  # fields that are understood; others must be at their defaults
    Workload: "name duration streams classes queries tables changes seed cores source_cores sources windows drain load "
    "load_of load_by train fuse noise learn run_overhead decision_cost unpriced directory",
    Stream: "name schema event_time watermark ahead arrivals source source_cost source_overhead bytes",
    Given: "cost overhead selectivity passes attribute bytes",
    Window: "size slide",
    Train: "at_most fraction threshold fits",
    Join: "inputs given name left right left_time right_time condition lower upper",
    Aggregate: "inputs given name window time keys aggregates",
    Select: "inputs given name predicate",
    Project: "inputs given name columns",
    Split: "inputs given name",
    TableJoin: "inputs given name table alias left condition how",
    Union: "inputs given name",
    Except: "inputs given name window",
}


def available() -> bool:
    """Whether numba is installed."""
    return find_spec("numba") is not None


def misfit(workload: Workload, policy: Policy) -> str | None:
    """Why a workload under a policy goes through the general simulator; None if compiled code can take it."""
    if not available():
        return "numba is not installed"
    return _misfit_of_policy(policy) or _misfit_of_workload(workload)


def misfit_of_units(scheduler: Scheduler) -> str | None:
    """The same by how the network is cut into units."""
    return _misfit_of_network(scheduler.network) or _misfit_of_cut(scheduler)


def _misfit_of_policy(policy: Policy) -> str | None:
    settings = POLICIES.get(policy.name)
    if settings is None:
        return f"policy {policy.name}"
    for name in policy.given:
        if name not in settings:
            return f"setting {name} of {policy.name}"
    if policy.schedule != 1 or policy.isolation.active:
        return f"settings of {policy.name}"
    return None


def _misfit_of_workload(workload: Workload) -> str | None:
    if unknown := _unknown(workload) or next(filter(None, map(_unknown, workload.streams)), None):
        return unknown
    reasons = {
        "changes": bool(workload.changes),
        "learned statistics": workload.learn,
        "fused queries": workload.fuse is not Fuse.OFF,
        "decision cost": bool(workload.decision_cost),
        "sources as units": workload.reads and any(stream.source_cost for stream in workload.streams),
        "queries that start or end": any(not _stays(query) for query in workload.queries),
        "no queries": not workload.queries,
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


def _misfit_of_network(network: Network) -> str | None:
    for node in network.nodes.values():
        operator, given = node.operator, node.operator.given
        if operator.kind not in _KINDS:
            return f"operator {operator.kind}"
        if unknown := _unknown(operator) or _unknown(given) or _unknown(getattr(operator, "window", None)):
            return unknown
        if operator.kind is Kind.SELECT and (given.selectivity or 0.0) > 1.0:
            return "a select that multiplies"
    return None


def _misfit_of_cut(scheduler: Scheduler) -> str | None:
    seen: set[int] = set()
    for state in scheduler.states:
        unit = state.unit
        if unit.level not in _LEVELS or len(unit.entries) != 1:
            return f"units of level {unit.level}"
        if seen.intersection(unit.queues):
            return "units that share queues"
        seen.update(unit.queues)
        if scheduler.wants_answers and len(unit.queries) > 1:
            return "response times of shared queries"
    return None


def _stays(query: Query) -> bool:
    return query.start <= 0.0 and query.end == float("inf")


def _unknown(thing: Any) -> str | None:
    """What is set of a description that compiled code has not heard of."""
    known = _KNOWN.get(type(thing), "").split()
    for field in fields(thing) if thing is not None else ():
        if field.name in known:
            continue
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if getattr(thing, field.name) != default:
            return f"{field.name} of {type(thing).__name__.lower()}"
    return None
