"""Checks constants in a query: refuses those that would read the clock, take all memory or run for ever.

A task that runs out of memory ends the whole Java process, and Spark cannot stop a regular expression. So a function
that makes long values needs a bounded length in the query itself, and a regular expression must be a constant.
Examples, with columns s, n and p: `repeat(s, 1000000000)`, `repeat(s, n)` and `s RLIKE p` are refused,
`repeat(s, least(n, 100))` is accepted. Which arguments are checked is in `allowed.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from headgate.model import HeadgateError
from headgate.spark.compile.admission.lists import length_argument, listed, pattern_arguments
from headgate.spark.compile.admission.regular_expressions import explosive

if TYPE_CHECKING:
    from headgate.spark.compile.admission.allowed_nodes import Node

LONGEST = 100_000  # characters or elements of a value that a function makes from short arguments
STEPS = 10_000_000  # the same inside a loop over the elements of an array
PATTERN = 1_000  # characters of a regular expression
WILDCARDS = 20  # in one LIKE

_CLOCK = frozenset({"now", "today", "tomorrow", "yesterday"})
_MOMENTS = frozenset({"date", "timestamp", "timestamp_ntz"})
_VARY = frozenset({"AttributeReference", "NamedLambdaVariable"})  # expressions that differ from row to row
_NO_DATE = re.compile(r"\s*[Tt]?\d{1,2}:")  # Spark takes a time of day without a date for one of today
_WIDTH = re.compile(r"\d{5,}")  # in a format such as '%100000d'


def check_constants(node: Node, above: list[Node]) -> None:
    """Refuse an expression whose constant arguments are not allowed; `above` are its ancestors, the nearest last."""
    kind = kind_of(node)
    if kind == "Cast":
        _check_moment(node)
    for position in pattern_arguments().get(kind, ()):
        _check_pattern(node.children[position])
    if kind == "Like":
        _check_like(node.children[1])
    if kind in length_argument() or kind == "Sequence":
        around = [outer for outer, below in pairwise((*above, node)) if not is_loop(outer) or is_function(below)]
        looped = any(map(is_loop, around))
        _check_length(prod(length(outer) for outer in (*around, node)), STEPS if looped else LONGEST)
    if kind == "FormatString":
        _check_format(_text(node.children[0]))


def _check_like(pattern: Node) -> None:
    """Refuse a pattern with too many wildcards, counted in all constants that it is made of."""
    parts = list(_below(pattern))
    wildcards = sum((_text(part) or "").count("%") for part in parts) * prod(map(length, parts))
    if wildcards > WILDCARDS:
        raise HeadgateError(f"a LIKE has more than {WILDCARDS} wildcards", hint="test for fewer parts")


def _check_moment(node: Node) -> None:
    """Refuse constants such as 'now', which Spark replaces by the clock's time when it plans a job."""
    child = node.children[0]
    if node.fields.get("type") not in _MOMENTS or not _constant_text(child):
        return
    written = _text(child)
    if written is None:
        hint = "write it out: timestamp '2026-01-31 12:00:00'"
        raise HeadgateError("a time is computed from constant texts", hint=hint)
    if written.strip().lower() in _CLOCK or _NO_DATE.match(written):
        message = f"'{written}' as a time is not deterministic: it is the clock's when it is evaluated"
        raise HeadgateError(message, hint="use the stream's event-time column")


def _check_pattern(node: Node) -> None:
    written = _text(node)
    if written is None:
        hint = "write it as a constant text: one from a column could keep Spark busy for ever"
        raise HeadgateError("a regular expression is not a constant", hint=hint)
    if len(written) > PATTERN:
        message = f"a regular expression has {len(written)} characters, more than the {PATTERN} that are allowed"
        raise HeadgateError(message, hint="test for parts of it, or use instr, contains or IN")
    if explosive(written):
        message = (
            f"the regular expression '{written}' can take for ever: a repetition matches the same text in many ways"
        )
        raise HeadgateError(message, hint="let it match in one way only: (a+)+ is a+, (a|ab)* is (ab?)*")


def _check_length(longest: float, most: int) -> None:
    if longest > most:
        length_text = "whatever a column says" if longest == float("inf") else f"{int(longest):,}".replace(",", " ")
        hint = "write a smaller number; where a column n tells it, write least(n, 1000)"
        raise HeadgateError(f"the query makes values as long as {length_text}: they could take all memory", hint=hint)


def _check_format(written: str | None) -> None:
    if written is None or _WIDTH.search(written):
        raise HeadgateError("a format is not a constant text with widths below 10000", hint="write it out")


def length(node: Node) -> float:
    """The largest length of the value that a node makes; 1 for nodes that make no long values."""
    if kind_of(node) == "Sequence":
        return _steps(node)
    if is_loop(node):  # what its function makes, it makes for every element
        return prod(map(length, _below(node.children[0])))
    position = length_argument().get(kind_of(node))
    return 1 if position is None else max(1, _most(node.children[position]))


def is_loop(node: Node) -> bool:
    """Whether it calls a function for every element of an array."""
    return kind_of(node) in listed("loops")


def is_function(node: Node) -> bool:
    """Whether a loop's child is the function that it calls, and not the array."""
    return kind_of(node) == "LambdaFunction"


def _below(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _below(child)


def _most(node: Node) -> float:
    """The largest value of a number: a constant itself, or for `least` the smallest of its constants."""
    if kind_of(node) == "Cast":
        return _most(node.children[0])
    if kind_of(node) == "Least":
        return min(map(_most, node.children))
    number = _number(node)
    return float("inf") if number is None else abs(number)


def _steps(node: Node) -> float:
    """The number of elements of a sequence between constant numbers; infinite for times or columns."""
    numbers = [_number(child) for child in node.children]
    constants = [number for number in numbers if number is not None]
    if len(constants) < len(numbers) or len(constants) < 2:
        return float("inf")
    start, stop, *step = constants
    return abs(stop - start) / (abs(step[0]) or 1 if step else 1) + 1


def _number(node: Node) -> int | None:
    """An integer constant, also one that Spark casts from a text; None: not a constant."""
    if kind_of(node) in ("Cast", "UnaryMinus"):
        number = _number(node.children[0])
        return -number if number is not None and kind_of(node) == "UnaryMinus" else number
    if kind_of(node) != "Literal":
        return None
    value = node.fields.get("value")
    if value is None:
        return 0
    return int(value) if re.fullmatch(r"\s*-?\d+\s*", str(value)) else None


def _text(node: Node) -> str | None:
    """A constant text, empty for null; None: not a constant."""
    if kind_of(node) != "Literal":
        return None
    value = node.fields.get("value")
    return "" if value is None else str(value)


def _constant_text(node: Node) -> bool:
    """Whether a value is a text made of constants alone."""
    kind = node.fields.get("type")
    if kind is not None and kind != "string":
        return False
    return kind == "string" if kind_of(node) == "Literal" else not _varies(node) and _holds_text(node)


def _holds_text(node: Node) -> bool:
    return any(_constant_text(child) for child in node.children)


def _varies(node: Node) -> bool:
    return kind_of(node) in _VARY or any(map(_varies, node.children))


def kind_of(node: Node) -> str:
    """The class of an expression without its package."""
    return node.name.rpartition(".")[2]
