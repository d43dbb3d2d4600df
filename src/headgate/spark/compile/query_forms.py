"""The form of a plan: the plan with constants replaced by their types, where Spark's analysis cannot depend on more.

Two plans of one form over the same relations have equal columns, and Spark accepts both or neither. So a constant stays
as it is written unless all of this holds:

* It is outside of every function call: arguments such as patterns, lengths, formats and windows are looked at.
* It is a number that is compared, in an IN or BETWEEN, or an operand of + - * / %; or it is a text that is compared
  with a column of texts. A text beside another column becomes a date or a number, and which texts may is looked at.
* It is not zero, and has at most nine digits before the point: then it is an INT, or a DECIMAL whose precision and
  scale follow from its digits, and these are in the form.

>>> from headgate.model import Source
>>> plan = Select(inputs=(Source("s"),), predicate="name = 'oven' AND temp > 90.5 AND id IN (17, 5)")
>>> form(plan, frozenset({"name"})).predicate
'name = ?text AND temp > ?2.1 AND id IN (?2, ?1)'
>>> form(plan, frozenset()).predicate
"name = 'oven' AND temp > ?2.1 AND id IN (?2, ?1)"
>>> length = Select(inputs=(Source("s"),), predicate="LENGTH(SUBSTRING(name, 2)) > 3")
>>> form(length, frozenset({"name"})).predicate
'LENGTH(SUBSTRING(name, 2)) > ?1'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from headgate.model import Aggregate, Column, Join, Operator, Project, Select, TableJoin, form_of, walk

_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<string>'(?:[^'\\]|\\.)*')|(?P<quoted>`[^`]*`)|(?P<number>\d+(?:\.\d+)?(?![\w.]))"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<sign><=>|<>|!=|<=|>=|==|[=<>+\-*/%(),.])"
)
_COMPARED = frozenset({"=", "<>", "!=", "<", "<=", ">", ">=", "<=>", "=="})
_OPERATED = _COMPARED | {"+", "-", "*", "/", "%"}
_AROUND = frozenset({"AND", "OR", "NOT", "("})  # what a comparison begins after
_BEFORE_A_GROUP = frozenset({"AND", "OR", "NOT", "BETWEEN"})  # words before a parenthesis that call nothing
_AFTER = _OPERATED | {"AND", "OR", ")", ","}  # what may follow a constant; otherwise it is the beginning of something
_MOST_DIGITS = 9  # 999999999 is an INT, and so is every number with fewer digits


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    begin: int

    @property
    def is_name(self) -> bool:
        return self.kind == "quoted" or (self.kind == "word" and self.text not in _BEFORE_A_GROUP)


def form(plan: Operator, texts: frozenset[str]) -> Operator:
    """The form of a plan; `texts` are the names that only columns of texts have."""
    return _form(plan, texts)


def text_columns(plan: Operator, relations: Iterable[Mapping[str, str]]) -> frozenset[str]:
    """The names that only columns of texts have, of relations given as types by name, and in the plan itself.

    >>> from headgate.model import Source
    >>> plan = Project(inputs=(Source("s"),), columns=(Column("b", "b"), Column("c", "TIMESTAMP(a)")))
    >>> sorted(text_columns(plan, [{"a": "string", "b": "string", "c": "string", "d": "int"}]))
    ['a', 'b']
    >>> sorted(text_columns(plan, [{"a": "string", "b": "string", "st": "struct<a:timestamp>"}]))
    ['b']
    """
    types: dict[str, set[str]] = {}
    for relation in relations:
        for name, kind in relation.items():
            types.setdefault(name.lower(), set()).add(kind.lower())
    computed = {column.name.lower() for column in _columns(plan) if not _is_named(column)}
    # A name after a dot may be that of a field, of any type.
    nested = [kind for kinds in types.values() for kind in kinds if "<" in kind]
    if any(kind == "variant" for kinds in types.values() for kind in kinds):
        return frozenset()
    return frozenset(
        name
        for name, kinds in types.items()
        if kinds == {"string"} and name not in computed and not any(name in kind for kind in nested)
    )


def _form(node: Operator, texts: frozenset[str]) -> Operator:
    inputs = tuple(_form(child, texts) if isinstance(child, Operator) else child for child in node.inputs)
    changed: dict[str, Any] = {}
    match node:
        case Select():
            changed["predicate"] = _shape(node.predicate, texts)
        case Project():
            changed["columns"] = tuple(Column(each.name, _shape(each.expression, texts)) for each in node.columns)
        case Join() | TableJoin():
            changed["condition"] = _shape(node.condition, texts)
    return replace(node, inputs=inputs, **changed)


def _columns(plan: Operator) -> Iterator[Column]:
    for node in walk(plan):
        if isinstance(node, Project):
            yield from node.columns
        elif isinstance(node, Aggregate):
            yield from (*node.keys, *node.aggregates)


def _is_named(column: Column) -> bool:
    """Whether it is a column as it is, under the name that it had."""
    written = column.expression.replace("`", "").lower()
    return written.rpartition(".")[2] == column.name.lower() and re.fullmatch(r"[\w.]+", written) is not None


@lru_cache(maxsize=10_000)
def _shape(text: str, texts: frozenset[str]) -> str:
    """An expression with types in place of constants; one that is written in ways that are unknown here stays."""
    text = form_of(text)
    tokens = _tokens(text)
    if tokens is None:
        return text
    parts, end = [], 0
    for place in _constants(tokens, texts):
        token = tokens[place]
        parts += [text[end : token.begin], _marker(token)]
        end = token.begin + len(token.text)
    return "".join([*parts, text[end:]])


def _tokens(text: str) -> list[_Token] | None:
    found, place = [], 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            return None
        if match.lastgroup != "space":
            found.append(_Token(str(match.lastgroup), match[0], place))
        place = match.end()
    return found


def _constants(tokens: Sequence[_Token], texts: frozenset[str]) -> Iterator[int]:
    """The places of the constants that do not matter."""
    calls = 0  # function calls around
    opened: list[str] = []  # what each open parenthesis is of: a "call", a list of "in", a "group"
    for place, token in enumerate(tokens):
        if token.text == "(":
            opened.append(_opening(tokens, place))
            calls += opened[-1] == "call"
        elif token.text == ")" and opened:
            calls -= opened.pop() == "call"
        elif not calls and token.kind in ("number", "string") and _ends(tokens, place):
            listed = bool(opened) and opened[-1] == "in"
            if token.kind == "string":
                matters = not _is_compared_text(tokens, place, texts)
            else:
                matters = not (_is_operand(tokens, place, listed) and _is_plain(token.text))
            if not matters:
                yield place


def _opening(tokens: Sequence[_Token], place: int) -> str:
    before = tokens[place - 1] if place else None
    if before is not None and before.kind == "word" and before.text == "IN":
        return "in"
    return "call" if before is not None and before.is_name else "group"


def _ends(tokens: Sequence[_Token], place: int) -> bool:
    return place + 1 == len(tokens) or tokens[place + 1].text in _AFTER


def _is_operand(tokens: Sequence[_Token], place: int, listed: bool) -> bool:
    before = tokens[place - 1].text if place else ""
    return before in _OPERATED or before in ("BETWEEN", "AND") or (listed and before in ("(", ","))


def _is_plain(number: str) -> bool:
    return len(number.partition(".")[0]) <= _MOST_DIGITS and len(number) <= 2 * _MOST_DIGITS and float(number) != 0


def _is_compared_text(tokens: Sequence[_Token], place: int, texts: frozenset[str]) -> bool:
    """Whether what stands before is a column of texts and the sign of a comparison, and nothing else."""
    if place < 2 or tokens[place - 1].text not in _COMPARED or not tokens[place - 2].is_name:
        return False
    first = place - 2
    while first >= 2 and tokens[first - 1].text == "." and tokens[first - 2].is_name:
        first -= 2
    begins = first == 0 or tokens[first - 1].text in _AROUND
    return begins and tokens[place - 2].text.strip("`").lower() in texts


def _marker(token: _Token) -> str:
    if token.kind == "string":
        return "?text"
    whole, _, fraction = token.text.partition(".")
    digits = len(whole.lstrip("0"))
    return f"?{digits}.{len(fraction)}" if fraction else f"?{digits}"
