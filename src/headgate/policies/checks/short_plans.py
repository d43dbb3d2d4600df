"""Query plans in a short form for checks and tests: one string per operator, with its cost and selectivity."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.model import HeadgateError, Operator, Source
from headgate.workload.kinds import RULES, check_settings, kind_of, make
from headgate.workload.settings import Settings

ShortPlan = str | Sequence["ShortPlan"]  # an operator, or a chain of operators in which a chain of its own is a branch

STREAM = "s"  # read where no `from` names a stream


def build_plan(short: ShortPlan) -> Operator:
    """The plan that a short form describes.

    A string is one operator, a list a chain of them from leaf to root. Lists inside the list are branches, which
    the next operator takes as its inputs; what it still lacks it reads from streams (`from`).

    >>> build_plan(["select, cost=2ms, selectivity=0.5", "project, from=s"]).inputs[0].given.cost
    0.002
    >>> branches = [["select, from=left"], ["select, from=right"], "join, window=10s"]
    >>> build_plan(branches).inputs[1].inputs
    (Source(stream='right', alias=''),)
    """
    built: list[Operator | Source] = []
    for step in [short] if isinstance(short, str) else short:
        if isinstance(step, str):
            built = [_operator(step, built)]
        else:
            built.append(build_plan(step))
    if len(built) != 1 or not isinstance(built[0], Operator):
        raise HeadgateError(f"{short!r} does not end in one operator", hint="end it with a join of its branches")
    return built[0]


def _operator(text: str, built: list[Operator | Source]) -> Operator:
    """One operator as workload files write it, on the branches before it and then on streams."""
    settings = Settings(text)
    kind = kind_of(settings.name)
    check_settings(kind, settings)
    wanted = RULES[kind].fewest
    named = settings.words("from") if "from" in settings else []
    streams = [Source(name) for name in named] + [Source(STREAM)] * wanted
    inputs = (*built, *streams[: max(0, wanted - len(built))])
    if len(inputs) != wanted:
        raise HeadgateError(f"'{text}' takes {wanted} inputs, found {len(inputs)}", hint="join the branches first")
    return make(kind, settings, inputs, settings.named("name"))
