"""UNION ALL and EXCEPT, and the Split above what a query uses twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from headgate.model import Except, Operator, Source, Split, Union, walk
from headgate.plan.sql.bounds import check_leaves
from headgate.plan.sql.normal import quoted
from headgate.plan.sql.parse import place, refusal
from headgate.plan.sql.scope import Relation, leaves


def combined(node: exp.SetOperation, left: Relation, right: Relation) -> Relation:
    """Two queries of as many columns as one relation."""
    _refuse(node)
    _agree(node, left, right)
    check_leaves(leaves(left.plan) + leaves(right.plan), place(node))
    both = _like_both(_union(left.plan, right.plan), left, right)
    if isinstance(node, exp.Union):
        return both
    if both.window is None:
        hint = "select window_start (or window) at the same place on both sides, from windows of equal size"
        raise refusal(node.expression, "EXCEPT needs the same window on both sides", hint)
    return replace(both, plan=Except(inputs=(left.plan, right.plan), window=both.window))


def split(plan: Operator | Source) -> Operator | Source:
    """Put a Split above every sub-plan that the query uses more than once.

    >>> from headgate.model import Select
    >>> hot = Select(inputs=(Source("s"),), predicate="temp > 90")
    >>> shared = split(Union(inputs=(hot, hot)))
    >>> [node.kind.value for node in walk(shared) if isinstance(node, Operator)]
    ['select', 'split', 'select', 'split', 'union']
    """
    unique = dict.fromkeys(node for node in walk(plan) if isinstance(node, Operator))
    uses = Counter(child for node in unique for child in node.inputs if isinstance(child, Operator))
    copies: dict[Operator | Source, Operator | Source] = {}
    for node in walk(plan):
        if isinstance(node, Source) or node in copies:
            copies.setdefault(node, node)
            continue
        whole = replace(node, inputs=tuple(copies[child] for child in node.inputs))
        copies[node] = Split(inputs=(whole,)) if uses[node] > 1 else whole
    return copies[plan]


def _refuse(node: exp.SetOperation) -> None:
    if node.args.get("by_name"):
        raise refusal(node, "UNION BY NAME is not supported", "list the columns in the same order on both sides")
    if isinstance(node, exp.Intersect):
        hint = "use a window join on the columns that must agree"
        raise refusal(node.expression, "INTERSECT is not supported over streams", hint)
    if isinstance(node, exp.Union) and node.args.get("distinct"):
        hint = "use UNION ALL, and SELECT DISTINCT within a window above it if needed"
        raise refusal(node.expression, "UNION without ALL removes duplicates over an endless stream", hint)
    if isinstance(node, exp.Except) and not node.args.get("distinct"):
        raise refusal(node.expression, "EXCEPT ALL is not supported", "use EXCEPT")


def _union(*plans: Operator | Source) -> Union:
    """One n-ary union, whatever the parentheses."""
    return Union(inputs=tuple(part for plan in plans for part in (plan.inputs if isinstance(plan, Union) else (plan,))))


def _agree(node: exp.SetOperation, left: Relation, right: Relation) -> None:
    if left.fields is None or right.fields is None or len(left.fields) == len(right.fields):
        return
    message = f"the sides of {node.key.upper()} have {len(left.fields)} and {len(right.fields)} columns"
    raise refusal(node.expression, message, "select as many on both sides")


def _like_both(plan: Operator, left: Relation, right: Relation) -> Relation:
    """A set operation's output: the left names; event time and window where both sides have them."""
    if left.fields is None or right.fields is None:
        same = left.times.keys() & right.times.keys()
        return Relation(plan, left.fields, {ref: left.times[ref] for ref in left.times if ref in same})
    twins = {quoted(a.name): quoted(b.name) for a, b in zip(left.fields, right.fields, strict=True)}

    def shared(mine: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
        return {ref: part for ref, part in mine.items() if _twin(ref, twins) in other}

    marks = {ref: part for ref, part in left.marks.items() if right.marks.get(_twin(ref, twins)) == part}
    window = left.window if marks and left.window == right.window else None
    times = shared(left.times, right.times)
    return Relation(plan, left.fields, times, window, marks if window else {}, cut=left.cut if window else "")


def _twin(ref: str, twins: Mapping[str, str]) -> str:
    """The same reference on the other side."""
    for mine, other in twins.items():
        if ref == mine or ref.startswith(f"{mine}."):
            return other + ref[len(mine) :]
    return ref
