"""Refuses values that grow exponentially in a `reduce`, and comparisons whose number is the square of a long array's.

Spark cannot stop the computation of a single value: it keeps its core for as long as that takes, or all memory is used
up. What depends on constants in the query is refused before it runs: `reduce(xs, s, (a, x) -> concat(a, a))`, which
doubles its value with every element, and `array_distinct` over arrays that the query makes of 200,000 elements. What
depends on the rows shows only when it runs (docs/decisions/0041-java-dies.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log
from typing import TYPE_CHECKING

from headgate.model import HeadgateError
from headgate.spark.compile.admission.constants import LONGEST, is_function, is_loop, kind_of, length
from headgate.spark.compile.admission.lists import length_argument, listed

if TYPE_CHECKING:
    from headgate.spark.compile.admission.allowed_nodes import Node

COMPARISONS = 1_000_000_000  # of elements in all expressions of a query, about half a minute of a core
_GROWING = frozenset({"string", "binary", "array", "map", "struct", "variant"})  # types of values of any length
_ONE_OF_ALL = frozenset(
    {"If", "CaseWhen", "Coalesce", "Nvl", "Nvl2", "NullIf", "Greatest", "Least", "CreateNamedStruct"}
)


def check_growth(plan: Node) -> None:
    """Refuse a plan that has such an expression."""
    compared = _check(plan, 1.0)
    if compared > COMPARISONS:
        hint = "let the arrays that it makes and compares have fewer elements"
        raise HeadgateError(f"the query compares elements of arrays {compared:.0e} times for each row", hint=hint)


def _check(node: Node, times: float) -> float:
    """How many comparisons an expression takes that is computed so many times."""
    if kind_of(node) == "ArrayAggregate":
        _check_reduce(node)
    compared = 0.0
    if kind_of(node) in listed("quadratic"):
        compared = times * sum(_elements(child) for child in node.children) ** 2
    inner = times * _elements(node.children[0]) if is_loop(node) else times
    return compared + sum(_check(child, inner if is_function(child) else times) for child in node.children)


def _elements(node: Node) -> float:
    """The largest number of elements or characters that the query itself gives a value."""
    return max(length(node), max(map(_elements, node.children), default=1.0))


def _check_reduce(node: Node) -> None:
    values, _, merge = node.children[:3]
    body, made = merge.children[:2]
    factor = _factor(body, made.fields.get("variable", ""))
    steps = len(values.children) if kind_of(values) == "CreateArray" else _elements(values)
    known = steps > 1 or kind_of(values) == "CreateArray"
    if factor > 1 and (not known or steps * log(factor) > log(LONGEST)):
        much = f"{factor:.0f} times as long" if factor < inf else "longer and longer"
        hint = "use what it has made so far once only, as in concat(made, x)"
        raise HeadgateError(f"a reduce may make its value {much} with every element", hint=hint)


def _factor(node: Node, variable: str) -> float:
    """How many times as long as a variable's value that of an expression over it may be; 0 if it does not grow with it.

    The length of a struct is that of its longest field.
    """
    if node.fields.get("variable") == variable:
        return 1.0 if node.fields.get("type") in _GROWING else 0.0
    if node.fields.get("type") not in {*_GROWING, None}:
        return 0.0
    kind, below = kind_of(node), [_factor(child, variable) for child in node.children]
    if not any(below):
        return 0.0
    if kind in _ONE_OF_ALL:
        return max(below)
    if kind in length_argument():
        return max(below) * length(node)
    if kind in listed("no_longer") and not (kind in ("Cast", "ConcatWs") and _joins(node.children)):
        return sum(below)
    return inf


def _joins(children: Sequence[Node]) -> bool:
    """Whether a text is made of an array, which adds something for each of its elements."""
    return any(child.fields.get("type") not in ("string", "binary") for child in children)
