"""How large a query may be. Each bound is far from what people write, and near enough that nothing takes minutes.

| bound | most | checked |
|---|---|---|
| characters of the SQL | 250 000 | before it is read |
| characters of one text in it | 20 000 | before it is parsed |
| parentheses, brackets, CASEs and types within one another, signs and NOTs in a row | 100 | before it is parsed |
| names, values and operators | 50 000 | before it is planned |
| elements of a list: IN, arguments, branches of CASE | 10 000 | before it is planned |
| columns of a SELECT or GROUP BY | 1 000 | before it is planned |
| operators above one value, and subqueries within one another | 200 | before it is planned |
| SELECTs | 100 | before it is planned |
| streams read, each time it is named counted | 50 | while it is planned |
| windows that a row falls into (size / slide) | 400 | while it is planned |
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from math import ceil
from threading import RLock

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headgate.model import HeadgateError

CHARACTERS = 250_000
LITERAL = 20_000
NESTED = 100
EXPRESSIONS = 50_000
LISTED = 10_000
COLUMNS = 1_000
DEEP = 200
SELECTS = 100
LEAVES = 50
WINDOWS = 400

_FRAMES = 20_000  # of Python's stack: a level of parentheses takes some thirty in the parser
_room = RLock()
_OPENS = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSES = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_TYPES = {TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT}
_GREATER = {TokenType.GT, TokenType.GTE}
_SIGNS = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE}
_FLAT = (exp.And, exp.Or)  # long chains of these are read and written without recursion, also by Spark


def too_much(what: str, count: int, most: int, hint: str, where: str = "") -> HeadgateError:
    """The refusal of something beyond its bound.

    >>> str(too_much("columns", 2000, 1000, "select fewer"))
    'the query has 2 000 columns, more than the 1 000 that are allowed; select fewer'
    """
    message = f"the query has {_digits(count)} {what}, more than the {_digits(most)} that are allowed"
    return HeadgateError(message, where=where, hint=hint)


@contextmanager
def room() -> Iterator[None]:
    """Room on Python's stack for whatever the bounds let through, wherever we are called from."""
    with _room:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, _FRAMES))
        try:
            yield
        finally:
            sys.setrecursionlimit(before)


def check_text(sql: str) -> None:
    """Before anything is read."""
    if not sql.isascii() and any("\ud800" <= character <= "\udfff" for character in sql):
        raise HeadgateError("the SQL holds half a character, which is no text", hint="write the whole character")
    if len(sql) > CHARACTERS:
        raise too_much("characters", len(sql), CHARACTERS, "keep long lists in a stored table and join with it")


def check_tokens(tokens: Sequence[Token]) -> None:
    """Before the parser, which works recursively."""
    depth = signs = types = 0
    for token, following in pairwise([*tokens, *tokens[-1:]]):
        kind = token.token_type
        depth += (kind in _OPENS) - (kind in _CLOSES)
        signs = signs + 1 if kind in _SIGNS else 0
        types += kind in _TYPES and following.token_type == TokenType.LT
        types = max(0, types - token.text.count(">")) if kind in _GREATER else types
        if max(depth, signs, types) > NESTED:
            hint = "split it with WITH"
            raise HeadgateError("the SQL is nested too deeply to be read", where=f"line {token.line}", hint=hint)
        if kind == TokenType.STRING and len(token.text) > LITERAL:
            what = f"characters in the text on line {token.line}"
            raise too_much(what, len(token.text), LITERAL, "keep long texts in a stored table and join with it")


def check_tree(statement: exp.Expr) -> None:
    """Before the planner, which works recursively, and Spark, which does so too."""
    count = selects = 0
    ahead: list[tuple[exp.Expr, int]] = [(statement, 1)]
    while ahead:
        node, depth = ahead.pop()
        count += 1
        selects += isinstance(node, exp.Select)
        if depth > DEEP:
            raise HeadgateError("the SQL is nested too deeply to be planned", hint="split it with WITH")
        _check_lists(node)
        below = depth if isinstance(node, (*_FLAT, exp.SetOperation)) else depth + 1
        ahead.extend((child, below) for child in node.iter_expressions())
    if count > EXPRESSIONS:
        hint = "keep long lists in a stored table and join with it"
        raise too_much("names, values and operators", count, EXPRESSIONS, hint)
    if selects > SELECTS:
        raise too_much("SELECTs", selects, SELECTS, "make several queries of it")


def check_leaves(leaves: int, where: str) -> None:
    """Streams that a plan reads, each as often as it is read: two CTEs that double each other grow without end."""
    if leaves > LEAVES:
        raise too_much("streams to read", leaves, LEAVES, "make several queries of it", where)


def check_windows(size: float, slide: float, where: str) -> None:
    """A row is put into size / slide windows, each time it is read."""
    windows = ceil(round(size / slide, 6))
    if windows > WINDOWS:
        message = f"windows of {size:g} s every {slide:g} s put each row into {_digits(windows)} windows"
        hint = f"slide by at least {size / WINDOWS:g} s"
        raise HeadgateError(f"{message}, more than the {_digits(WINDOWS)} that are allowed", where=where, hint=hint)


def _check_lists(node: exp.Expr) -> None:
    for key, value in node.args.items():
        if not isinstance(value, list) or len(value) <= COLUMNS:
            continue
        if isinstance(node, exp.Select | exp.Group):
            raise too_much("columns", len(value), COLUMNS, "make several queries of it")
        if len(value) > LISTED:
            what = "values in a list" if key == "expressions" else "branches in a CASE"
            raise too_much(what, len(value), LISTED, "keep long lists in a stored table and join with it")


def _digits(number: int) -> str:
    return f"{number:,}".replace(",", " ")
