"""Constants of a query that would read the clock, take all memory or never come to an end.

A task that runs out of memory ends the whole Java process, and a regular expression cannot be stopped. So what makes
long values must say how long in the query itself, and regular expressions stand in the query, not in columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING

from headgate.model import HeadgateError
from headgate.spark.compile.admission.regular_expressions import explosive

if TYPE_CHECKING:
    from headgate.spark.compile.admission.allowed_nodes import Node

LONGEST = 100_000  # characters or elements that a function may make of nothing
STEPS = 10_000_000  # the same, made one by one for the elements of another
PATTERN = 1_000  # characters of a regular expression
WILDCARDS = 20  # in one LIKE

_CLOCK = frozenset({"now", "today", "tomorrow", "yesterday"})
_MOMENTS = frozenset({"date", "timestamp", "timestamp_ntz"})
_VARY = frozenset({"AttributeReference", "NamedLambdaVariable"})
_PATTERNS = MappingProxyType(  # which arguments are regular expressions
    {
        **dict.fromkeys(("RLike", "RegExpReplace", "RegExpExtract", "RegExpExtractAll", "RegExpInStr"), (1,)),
        "StringSplit": (1,),
        "StringToMap": (1, 2),
    }
)
_LENGTHS = MappingProxyType(  # which argument tells how long the value becomes
    {
        **dict.fromkeys(("StringRepeat", "ArrayRepeat", "StringLPad", "StringRPad", "ArrayInsert", "FormatNumber"), 1),
        **dict.fromkeys(("Round", "BRound", "RoundCeil", "RoundFloor"), 1),
        "StringSpace": 0,
    }
)
_LOOPS = frozenset({"ArrayTransform", "ArrayFilter", "ArrayAggregate", "ArrayExists", "ArrayForAll", "ZipWith"})
_NO_DATE = re.compile(r"\s*[Tt]?\d{1,2}:")  # a time of the day alone is one of today
_WIDTH = re.compile(r"\d{5,}")  # in a format such as '%100000d'


def check_constants(node: Node, above: list[Node]) -> None:
    """Refuse what one expression would make of its constants."""
    kind = _kind(node)
    if kind == "Cast":
        _check_moment(node)
    for place in _PATTERNS.get(kind, ()):
        _check_pattern(node.children[place])
    if kind == "Like":
        _check_like(node.children[1])
    if kind in _LENGTHS or kind == "Sequence":
        around = [one for one, below in pairwise((*above, node)) if _kind(one) not in _LOOPS or _is_function(below)]
        looped = any(_kind(one) in _LOOPS for one in around)
        _check_length(prod(_length(one) for one in (*around, node)), STEPS if looped else LONGEST)
    if kind == "FormatString":
        _check_format(_text(node.children[0]))


def _check_like(pattern: Node) -> None:
    """Count the wildcards of a pattern, or of the constants that one is made of."""
    parts = list(_below(pattern))
    found = sum((_text(part) or "").count("%") for part in parts) * prod(map(_length, parts))
    if found > WILDCARDS:
        raise HeadgateError(f"a LIKE has more than {WILDCARDS} wildcards", hint="test for fewer parts")


def _check_moment(node: Node) -> None:
    """Spark takes constants like 'now' for the clock when it plans a job; in columns it does not know them."""
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


def _check_length(length: float, most: int) -> None:
    if length > most:
        told = "whatever a column says" if length == float("inf") else f"{int(length):,}".replace(",", " ")
        hint = "write a smaller number; where a column n tells it, write least(n, 1000)"
        raise HeadgateError(f"the query makes values as long as {told}: they could take all memory", hint=hint)


def _check_format(written: str | None) -> None:
    if written is None or _WIDTH.search(written):
        raise HeadgateError("a format is not a constant text with widths below 10000", hint="write it out")


def _length(node: Node) -> float:
    """How long a value a node makes of nothing, at most; 1 for those that do not."""
    if _kind(node) == "Sequence":
        return _steps(node)
    if _kind(node) in _LOOPS:  # what its function makes, it makes for every element
        return prod(map(_length, _below(node.children[0])))
    place = _LENGTHS.get(_kind(node))
    return 1 if place is None else max(1, _most(node.children[place]))


def _is_function(node: Node) -> bool:
    """Whether it is what a loop does for every element, and not the elements."""
    return _kind(node) == "LambdaFunction"


def _below(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _below(child)


def _most(node: Node) -> float:
    """What a number is at most: itself, or the least of several where one is known."""
    if _kind(node) == "Cast":
        return _most(node.children[0])
    if _kind(node) == "Least":
        return min(map(_most, node.children))
    found = _number(node)
    return float("inf") if found is None else abs(found)


def _steps(node: Node) -> float:
    """The elements of a sequence of numbers; of times, or between columns, nobody knows."""
    numbers = [_number(child) for child in node.children]
    known = [one for one in numbers if one is not None]
    if len(known) < len(numbers) or len(known) < 2:
        return float("inf")
    return abs(known[1] - known[0]) / (abs(known[2]) or 1 if len(known) > 2 else 1) + 1


def _number(node: Node) -> int | None:
    """An integer constant, also where Spark makes it of a text; None: it is not known."""
    if _kind(node) in ("Cast", "UnaryMinus"):
        found = _number(node.children[0])
        return -found if found is not None and _kind(node) == "UnaryMinus" else found
    if _kind(node) != "Literal":
        return None
    value = node.fields.get("value")
    if value is None:
        return 0
    return int(value) if re.fullmatch(r"\s*-?\d+\s*", str(value)) else None


def _text(node: Node) -> str | None:
    """A constant text as it is written; of a null one nothing comes."""
    if _kind(node) != "Literal":
        return None
    value = node.fields.get("value")
    return "" if value is None else str(value)


def _constant_text(node: Node) -> bool:
    """Whether a value is a text made of constants alone."""
    kind = node.fields.get("type")
    if kind is not None and kind != "string":
        return False
    return kind == "string" if _kind(node) == "Literal" else not _varies(node) and _holds_text(node)


def _holds_text(node: Node) -> bool:
    return any(_constant_text(child) for child in node.children)


def _varies(node: Node) -> bool:
    return _kind(node) in _VARY or any(map(_varies, node.children))


def _kind(node: Node) -> str:
    return node.name.rpartition(".")[2]
