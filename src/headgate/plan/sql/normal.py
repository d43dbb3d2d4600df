"""The canonical form of an expression, by which equal ones are known. It never runs: what runs are its author's words.

What the form says otherwise than the author did, and why two expressions of one form give one result and fail alike:

* spaces, line breaks, capitals for words and small letters for names of columns: Spark reads them so;
* parentheses that precedence puts back, also in `a AND (b AND c)`: the same operands are asked in the same order;
* `a AND b AND a` without the second `a`: it would give what it gave before;
* operands of AND and OR in the order of their text, as far as they are total: what cannot fail fails nowhere;
* `90 < temp` as `temp > 90`, `b = a` as `a = b` for columns of one type: the first is not null, or the second cannot
  fail;
* `==` as `=`, `!=` as `<>`, `!` as NOT, `x NOT IN y` as `NOT x IN y`, `x::t` as CAST: Spark's parser gives one tree.

Total is an operand that fails on no row, going by its words and the declared types of its columns (`is_total`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from headgate.model import Expression
from headgate.plan.sql.parse import expression
from headgate.plan.sql.vocabulary import INTERVAL_UNITS
from headgate.plan.sql.words import Put, Span, bare, is_atomic, written

Types = Mapping[str, str]  # the declared type of a column, by its reference; those that are not known are missing
UNTYPED: Types = MappingProxyType({})

_COMPARISONS = (
    *(exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.GT, exp.GTE, exp.LT, exp.LTE),
    *(exp.Is, exp.In, exp.Like, exp.ILike, exp.RegexpLike, exp.Between),
)
_PRECEDENCE: dict[type[exp.Expr], int] = {
    exp.Or: 1,
    exp.And: 2,
    exp.Not: 3,
    **dict.fromkeys(_COMPARISONS, 4),
    exp.Add: 5,
    exp.Sub: 5,
    exp.Mul: 6,
    exp.Div: 6,
    exp.Mod: 6,
    exp.IntDiv: 6,
    exp.Neg: 7,
}
_SEPARATE = (exp.Anonymous, exp.Alias, exp.Where, exp.Tuple, exp.Paren, exp.If, exp.Case, exp.Distinct, exp.Bracket)
_SIGNS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.NullSafeEQ: "<=>",
    exp.GT: ">",
    exp.LT: "<",
    exp.GTE: ">=",
    exp.LTE: "<=",
}
_MIRROR: dict[type[exp.Expr], type[exp.Expr]] = {
    **{kind: kind for kind in (exp.EQ, exp.NEQ, exp.NullSafeEQ)},
    exp.GT: exp.LT,
    exp.LT: exp.GT,
    exp.GTE: exp.LTE,
    exp.LTE: exp.GTE,
}
_WHOLE = frozenset({"tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long"})
_FLOATING = frozenset({"float", "real", "double"})
_QUOTED = frozenset({TokenType.STRING, TokenType.RAW_STRING, TokenType.HEX_STRING, TokenType.IDENTIFIER})
_MOST_DIGITS = 18  # of a number that is compared with a column, without a thought of overflows


def form(node: exp.Expr, types: Types = UNTYPED) -> str:
    """The canonical form of an expression.

    >>> form(expression("1 < (A) and ((b == 'x') or c is null)"))
    "a > 1 AND (b = 'x' OR c IS NULL)"
    >>> form(expression("b > 1 AND a > 1")), form(expression("b > 1 AND a > 1"), {"a": "int", "b": "int"})
    ('b > 1 AND a > 1', 'a > 1 AND b > 1')
    """
    return _form(bare(node), types)


def canonical(node: exp.Expr, types: Types = UNTYPED) -> Expression:
    """An expression of a plan: its author's words with their form."""
    return Expression(written(bare(node)), form(node, types))


def name_of(identifier: exp.Expr) -> str:
    """A name as it counts: unquoted ones in lower case."""
    quoted = isinstance(identifier, exp.Identifier) and identifier.args.get("quoted")
    return identifier.name if quoted else identifier.name.lower()


@lru_cache(maxsize=4096)
def quoted(name: str) -> str:
    """A column's name as it is written in an expression.

    >>> quoted("temp"), quoted("my stream"), quoted("select")
    ('temp', '`my stream`', '`select`')
    """
    return name if _plain(name) else "`" + name.replace("`", "``") + "`"


def is_column(text: str) -> bool:
    """Whether an expression is a column, or a field of one, as it is.

    >>> is_column("sensors.temp"), is_column("`my id`"), is_column("temp + 1"), is_column("1")
    (True, True, False, False)
    """
    return re.fullmatch(r"(`[^`]+`|[a-z_]\w*)(\.(`[^`]+`|[a-z_]\w*))*", text) is not None


def conjuncts(node: exp.Expr | None) -> list[exp.Expr]:
    """The operands of nested ANDs, parentheses and TRUE aside."""
    parts, ahead = [], [] if node is None else [node]
    while ahead:
        inner = bare(ahead.pop())
        if isinstance(inner, exp.And):
            ahead += (inner.expression, inner.this)
        elif not (isinstance(inner, exp.Boolean) and inner.this):
            parts.append(inner)
    return parts


def conjunction(parts: Iterable[exp.Expr], types: Types = UNTYPED) -> Expression:
    """Parts that must all hold, asked in their order; empty if there are none."""
    listed = list(parts)
    text = " AND ".join(f"({written(part)})" if isinstance(part, exp.Or) else written(part) for part in listed)
    return Expression(text, _connected("AND", [(_form(part, types), part) for part in listed], types))


def is_total(node: exp.Expr, types: Types) -> bool:
    """Whether an expression fails on no row: tests of columns that take no cast between types that differ.

    >>> types = {"k": "int", "s": "string"}
    >>> [is_total(expression(x), types) for x in ("k = 1", "s = 'a' OR k IS NULL", "k = '1'", "s > 1", "1 / k > 2")]
    [True, True, False, False, False]
    """
    match bare(node):
        case exp.And() | exp.Or() as both:
            return is_total(both.this, types) and is_total(both.expression, types)
        case exp.Not() as negated:
            return is_total(negated.this, types)
        case exp.Is() as asked:
            return isinstance(bare(asked.this), exp.Column) and isinstance(asked.expression, exp.Null)
        case exp.Between() as between:
            return _alike([between.this, between.args["low"], between.args["high"]], types)
        case exp.Like() as like:  # without an escape: a pattern that ends in one fails
            pattern = bare(like.expression)
            plain = isinstance(pattern, exp.Literal) and pattern.is_string and "\\" not in written(pattern)
            return plain and _kind(bare(like.this), types) == "string"
        case exp.In() as listed if listed.expressions:
            return _alike([listed.this, *listed.expressions], types)
        case exp.Column() as column:
            return _kind(column, types) == "boolean"
        case exp.Boolean():
            return True
        case exp.Binary() as compared if type(compared) in _MIRROR:
            return _alike([compared.this, compared.expression], types)
    return False


def _alike(sides: list[exp.Expr], types: Types) -> bool:
    """Whether columns and constants are compared as they are."""
    kinds = {_kind(bare(side), types) for side in sides}
    return "" not in kinds and (len(kinds) == 1 or kinds <= {"whole", "floating"})


def _kind(side: exp.Expr, types: Types) -> str:
    """What a column or a constant is compared as; empty if it is something else, or may be cast on the way."""
    if isinstance(side, exp.Neg):
        return _kind(side.this, types) if isinstance(side.this, exp.Literal) and not side.this.is_string else ""
    if isinstance(side, exp.Literal):
        if side.is_string:
            return "string"
        return "whole" if side.name.isdigit() and len(side.name) <= _MOST_DIGITS else ""
    if isinstance(side, exp.Boolean):
        return "boolean"
    declared = types.get(written(side), "").lower() if isinstance(side, exp.Column | exp.Dot) else ""
    if declared in _WHOLE:
        return "whole"
    if declared in _FLOATING:
        return "floating"
    return declared if declared in ("string", "boolean", "date", "timestamp") else ""


@lru_cache(maxsize=4096)
def _plain(name: str) -> bool:
    """Whether a name needs no quotes."""
    if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
        return False
    try:
        compared = expression(f"t.{name} < {name}")
    except Exception:  # whatever a reserved word makes of it
        return False
    return isinstance(compared, exp.LT) and isinstance(compared.expression, exp.Column)


def _form(node: exp.Expr, types: Types) -> str:
    """The form of a node without parentheses around it."""
    match node:
        case exp.And() | exp.Or():
            sign = "AND" if isinstance(node, exp.And) else "OR"
            return _connected(sign, [(_form(part, types), part) for part in _operands(node)], types)
        case exp.Not():
            return f"NOT {_operand(node.this, node, types)}"
        case exp.Column() if not isinstance(node.this, exp.Star):
            return ".".join(quoted(name_of(part)) for part in node.parts)
        case exp.Identifier():
            return _as_written(node)
        case exp.Literal() if node.is_string:
            return _string(_as_written(node))
        case exp.Cast() if not isinstance(node, exp.TryCast) and not _is_typed_literal(node):
            return f"CAST({_operand(node.this, node, types)} AS {_words(node.args['to'], types)})"
        case exp.Binary() if type(node) in _SIGNS:
            return _comparison(node, types)
    return _words(node, types)


def _operand(child: exp.Expr, parent: exp.Expr, types: Types) -> str:
    """The form of a node within another one, in parentheses if it had some that precedence does not put back."""
    inner = bare(child)
    told = _form(inner, types)
    return f"({told})" if inner is not child and not _droppable(child, inner, parent) else told


def _droppable(child: exp.Expr, inner: exp.Expr, parent: exp.Expr) -> bool:
    """Whether the tree would be the same without the parentheses of a child."""
    if isinstance(parent, _SEPARATE) and not (isinstance(parent, exp.Bracket) and child.arg_key == "this"):
        return True
    if isinstance(child, Put) and is_atomic(inner):
        return True  # it has none
    around, within = _PRECEDENCE.get(type(parent)), _PRECEDENCE.get(type(inner))
    if around is None:
        return False
    if within is None:
        return is_atomic(inner)
    return within > around or (within == around > 4 and child.arg_key == "this" and not isinstance(parent, exp.Neg))


def _comparison(node: exp.Expr, types: Types) -> str:
    """Columns left of constants, and of two columns the one whose text comes first."""
    kind = type(node)
    left, right = (_operand(side, node, types) for side in (node.this, node.expression))
    if _mirrored(bare(node.this), bare(node.expression), right < left, types):
        left, right, kind = right, left, _MIRROR[kind]
    return f"{left} {_SIGNS[kind]} {right}"


def _mirrored(left: exp.Expr, right: exp.Expr, later: bool, types: Types) -> bool:
    """Whether the sides of a comparison change places: only if neither of them can fail, or be null, before the other.

    A null on the left keeps Spark from evaluating the right side. A text may be cast to the type of the other side.
    """
    if isinstance(left, exp.Column) and isinstance(right, exp.Column):
        return later and _alike([left, right], types)
    if not _is_constant(left) or _is_constant(right):
        return False
    return not (isinstance(left, exp.Literal) and left.is_string) or _kind(right, types) == "string"


def _is_constant(node: exp.Expr) -> bool:
    return isinstance(node.this if isinstance(node, exp.Neg) else node, exp.Literal | exp.Boolean)


def _is_typed_literal(node: exp.Cast) -> bool:
    """Whether it is `DATE '2026-01-01'`, where the type comes first."""
    return _span(node.args["to"]).first < _span(node.this).first


def _operands(node: exp.Expr) -> list[exp.Expr]:
    """The operands of a chain of ANDs, or of ORs."""
    operands, ahead = list[exp.Expr](), [node]
    while ahead:
        operand = bare(ahead.pop())
        if type(operand) is type(node):
            ahead += (operand.expression, operand.this)
        else:
            operands.append(operand)
    return operands


def _connected(sign: str, parts: list[tuple[str, exp.Expr]], types: Types) -> str:
    """Operands once each, in the order of their text up to one that may fail; from there on as written.

    What is asked of a row, and so may fail on it, depends on what was asked before.
    """
    by_text = dict(reversed(parts))
    texts = list(dict.fromkeys(text for text, _ in parts))
    first = next((place for place, text in enumerate(texts) if not is_total(by_text[text], types)), len(texts))
    ordered = [*sorted(texts[:first]), *texts[first:]]
    if len(ordered) == 1:
        return ordered[0]
    wrapped = [f"({text})" if sign == "AND" and isinstance(by_text[text], exp.Or) else text for text in ordered]
    return f" {sign} ".join(wrapped)


def _words(node: exp.Expr, types: Types) -> str:
    """The words of a node in one spelling, around the forms of the nodes below it."""
    span = _span(node)
    if isinstance(node, exp.DataType) and "<" in (whole := _as_written(node)):
        return whole  # the names of fields keep their letters
    pieces: list[str] = []
    at = span.first
    below = [child for child in node.iter_expressions() if "span" in child.meta or "negated" in child.meta]
    for child in sorted(below, key=lambda child: _span(child).first):
        own = _span(child)
        pieces += _spelled(node, span, at, own.first - 1)
        pieces.append(_operand(child, node, types))
        at = own.last + 1
    pieces += _spelled(node, span, at, span.last)
    return _spaced(pieces, node)


def _span(node: exp.Expr) -> Span:
    span: Span | None = node.meta.get("span") or node.meta.get("negated")
    assert span is not None, f"{node.key} was not made of a text"
    return span


def _as_written(node: exp.Expr) -> str:
    span = _span(node)
    return span.words.text(span.first, span.last)


def _spelled(node: exp.Expr, span: Span, first: int, last: int) -> list[str]:
    """Words of a node's own: in capitals, but not what stands in quotes; the NOT of `a NOT IN b` stands before all."""
    found = []
    for at in range(first, last + 1):
        word, token = span.words.spelled[at], span.words.tokens[at].token_type
        if token == TokenType.NOT and "negated" in node.meta:
            continue
        if token not in _QUOTED:
            word = word.upper()
        if isinstance(node, exp.Interval):
            word = f"'{word}'" if token == TokenType.NUMBER else word
            word = word.removesuffix("S") if word in INTERVAL_UNITS else word
        if word:
            found.append(word)
    return found


def _spaced(pieces: list[str], node: exp.Expr) -> str:
    """Pieces with spaces between them as people set them."""
    text, before = "", ""
    for place, piece in enumerate(pieces):
        shift = before in ("<", ">") and piece == before
        tight = shift or piece in (",", ")", "]", ".", "[") or before in ("(", "[", ".", "")
        called = piece == "(" and place == 1 and not isinstance(node, exp.In)
        signed = place == 1 and isinstance(node, exp.Unary) and not isinstance(node, exp.Not)
        text += piece if tight or called or signed or (before == "FILTER" and piece == "(") else f" {piece}"
        before = piece
    return text


def _string(text: str) -> str:
    """A text in single quotes, if that needs no thought; else as it is written."""
    return f"'{text[1:-1]}'" if re.fullmatch(r'"[^"\\\']*"', text) else text
