"""[[change]] tables: what is different from a moment on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from headgate.model import HeadgateError, Stream, unknown
from headgate.model.policy_names import refuse_from_files
from headgate.workload.arrivals import open_ended
from headgate.workload.kinds import RULES
from headgate.workload.operators import OperatorHandle, WrittenPlan
from headgate.workload.queries import Queries
from headgate.workload.schema import ChangeSection
from headgate.workload.settings import Settings
from headgate.workload.workload import Change

_OF_OPERATOR = [{"cost"}, {"selectivity"}, {"cost", "selectivity"}]
FORMS = (
    frozenset({"stream", "rate"}),
    *(frozenset({"operator", *what}) for what in _OF_OPERATOR),
    *(frozenset({"query", "operator", *what}) for what in _OF_OPERATOR),
    frozenset({"query", "class"}),
    frozenset({"class", "priority"}),
    frozenset({"policy"}),
)
_KINDS = "stream and rate; operator and cost or selectivity; query and class; class and priority; policy"


def read_change(section: ChangeSection, index: int, queries: Queries) -> Change:
    """Read one change; refuse names that do not exist."""
    at = partial(queries.locations.at, "change", index)
    with at():
        _check_form(section.changed)
    with at("stream"):
        _check_stream(section, queries.streams)
    with at("class"):
        _check_name("class", section.query_class, queries.classes)
    with at("query"):
        _check_name("query", section.query, queries.plans)
        _check_alive(section, queries.lives)
    with at("policy"):
        if section.policy is not None:
            Settings(section.policy)
            refuse_from_files(section.policy)
    with at("operator"):
        operator = _operator(section, queries.plans)
    return Change(
        at=section.at,
        stream=section.stream,
        rate=section.rate,
        query=section.query,
        operator=operator,
        selectivity=section.selectivity,
        cost=section.cost,
        query_class=section.query_class,
        priority=section.priority,
        policy=section.policy,
    )


def _check_name(what: str, name: str | None, names: Collection[str]) -> None:
    if name is not None and name not in names:
        raise unknown(what, name, names)


def _check_alive(section: ChangeSection, lives: Mapping[str, tuple[float, float]]) -> None:
    if section.query is not None:
        start, end = lives[section.query]
        if not start <= section.at < end:
            message = f"query '{section.query}' is not there at {section.at:g} s: it runs from {start:g} s to {end:g} s"
            raise HeadgateError(message, hint="let the change be while it runs")


def _check_form(keys: frozenset[str]) -> None:
    if keys in FORMS:
        return
    nearest = next((form for form in FORMS if keys and keys < form), None)
    if nearest is not None:
        missing = " and ".join(sorted(nearest - keys))
        keys_text = " and ".join(sorted(keys))
        raise HeadgateError(f"{keys_text} alone changes nothing", hint=f"add {missing}")
    if not keys:
        raise HeadgateError("changes nothing", hint=f"write one of: {_KINDS}")
    raise HeadgateError(
        f"{', '.join(sorted(keys))} do not go together", hint=f"write one [[change]] for each of: {_KINDS}"
    )


def _check_stream(section: ChangeSection, streams: Mapping[str, Stream]) -> None:
    if section.stream is None:
        return
    if section.stream not in streams:
        raise unknown("stream", section.stream, streams)
    arrivals = streams[section.stream].arrivals
    if arrivals is None or not open_ended(arrivals):
        hint = 'give it a rate: arrivals = "poisson, rate=100"'
        raise HeadgateError(f"stream '{section.stream}' has no rate to change", hint=hint)


def _operator(section: ChangeSection, plans: Mapping[str, WrittenPlan]) -> str | int | None:
    """The operator as the simulator knows it."""
    if section.operator is None:
        return None
    handle = _of_query(section.operator, section.query, plans) if section.query else _named(section.operator, plans)
    low, high = RULES[handle.kind].selectivity
    if section.selectivity is not None and not low <= section.selectivity <= high:
        bound = f"{low:g}" if low == high else f"from {low:g} to {high:g}"
        message = f"selectivity of a {handle.kind} must be {bound}, found {section.selectivity:g}"
        raise HeadgateError(message, hint="correct selectivity")
    if section.selectivity is not None and handle.patterned:
        raise HeadgateError("the operator passes tuples by a fixed pattern", hint="leave out its pass")
    return handle.operator


def _of_query(wanted: str | int, query: str, plans: Mapping[str, WrittenPlan]) -> OperatorHandle:
    handles = plans[query].handles
    if wanted in handles:
        return handles[wanted]
    if isinstance(wanted, int):
        last = max(key for key in handles if isinstance(key, int))
        message = f"query '{query}' has no operator {wanted}"
        raise HeadgateError(message, hint=f"count from 0 to {last}")
    raise unknown("operator", wanted, [key for key in handles if isinstance(key, str)])


def _named(wanted: str | int, plans: Mapping[str, WrittenPlan]) -> OperatorHandle:
    if isinstance(wanted, int):
        raise HeadgateError(f"operator {wanted} of which query?", hint='add query = "…"')
    handles = {h.operator: h for plan in plans.values() for h in plan.handles.values() if isinstance(h.operator, str)}
    if wanted not in handles:
        raise unknown("operator name", wanted, [str(name) for name in handles])
    return handles[wanted]
