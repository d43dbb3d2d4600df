"""Queries in a short form: operators given by cost, one string each."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.model import (
    Given,
    HeadgateError,
    Join,
    Kind,
    Operator,
    Project,
    Select,
    Source,
    Spec,
    TableJoin,
    Value,
    unknown,
)

Short = str | Sequence["Short"]  # an operator, or a chain of operators in which a chain of its own is a branch

STREAM = "s"  # what is read where nothing is said
_SETTINGS = ("cost", "overhead", "selectivity", "bytes", "name", "from")
_PLAIN: dict[str, type[Operator]] = {Kind.SELECT: Select, Kind.PROJECT: Project, Kind.TABLE_JOIN: TableJoin}


def plan(short: Short) -> Operator:
    """The plan that a short form describes.

    A string is one operator, a list a chain of them from leaf to root. Lists inside the list are branches, which
    the next operator takes as its inputs; what it still lacks it reads from streams (`from`).

    >>> plan(["select, cost=2ms, selectivity=0.5", "project, from=s"]).inputs[0].given.cost
    0.002
    >>> branches = [["select, from=left"], ["select, from=right"], "join, window=10s"]
    >>> plan(branches).inputs[1].inputs
    (Source(stream='right', alias=''),)
    """
    built: list[Operator | Source] = []
    for step in [short] if isinstance(short, str) else short:
        if isinstance(step, str):
            built = [_operator(Spec.parse(step), built)]
        else:
            built.append(plan(step))
    if len(built) != 1 or not isinstance(built[0], Operator):
        raise HeadgateError(f"{short!r} does not end in one operator", hint="end it with a join of its branches")
    return built[0]


def _operator(spec: Spec, built: list[Operator | Source]) -> Operator:
    wanted = 2 if spec.name == Kind.JOIN else 1
    named = spec.settings.get("from", [])
    sources = [Source(str(name)) for name in (named if isinstance(named, list) else [named])]
    lacking = wanted - len(built)
    inputs = (*built, *(sources + [Source(STREAM)] * wanted)[: max(0, lacking)])
    if len(inputs) != wanted:
        raise HeadgateError(f"'{spec}' takes {wanted} inputs, found {len(inputs)}", hint="join the branches first")
    name = spec.settings.get("name")
    label = None if name is None else str(name)
    if spec.name == Kind.JOIN:
        spec.only((*_SETTINGS, "window"))
        window = _number(spec, "window", 0.0)
        return Join(inputs=inputs, name=label, given=_given(spec), lower=-window, upper=window)
    if spec.name not in _PLAIN:
        raise unknown("operator of the short form", spec.name, (*_PLAIN, Kind.JOIN))
    spec.only(_SETTINGS)
    return _PLAIN[spec.name](inputs=inputs, name=label, given=_given(spec))


def _given(spec: Spec) -> Given:
    settings = spec.settings
    return Given(
        cost=_number(spec, "cost", 0.0),
        overhead=_number(spec, "overhead", 0.0),
        selectivity=_number(spec, "selectivity", 1.0) if "selectivity" in settings else None,
        bytes=int(_number(spec, "bytes", 1)) if "bytes" in settings else None,
    )


def _number(spec: Spec, setting: str, default: float) -> float:
    value: Value = spec.settings.get(setting, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise HeadgateError(f"{setting} of '{spec}' must be a number, found {value}")
    return float(value)
