"""Expressions in one canonical spelling, so that equal ones are equal text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache, reduce

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError, UnsupportedError

from headgate.plan.sql.parse import SPARK, refusal

# Only operators whose precedence is the same in sqlglot and in Spark; around others parentheses stay as written.
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
_TRANSPARENT = (exp.Func, exp.Alias, exp.Where, exp.Having, exp.Join, exp.Group, exp.Select, exp.Tuple, exp.Paren)
_MIRROR: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
    exp.NullSafeEQ: exp.NullSafeEQ,
    exp.NullSafeNEQ: exp.NullSafeNEQ,
    exp.GT: exp.LT,
    exp.LT: exp.GT,
    exp.GTE: exp.LTE,
    exp.LTE: exp.GTE,
}


def normal(node: exp.Expr) -> exp.Expr:
    """The canonical tree of an expression; the given one is left alone.

    >>> import sqlglot
    >>> print(text(normal(sqlglot.parse_one("1 < (A) and ((b = 'x') or c is null)", dialect="spark"))))
    a > 1 AND (b = 'x' OR c IS NULL)
    """
    node = node.copy()
    while isinstance(node, exp.Paren) and _droppable(node):
        node = node.this.copy()
    for paren in [part for part in node.find_all(exp.Paren) if part is not node]:
        if _droppable(paren):
            paren.replace(paren.this)
    return _normal(node)


def text(node: exp.Expr) -> str:
    """An expression in Spark's SQL, on one line."""
    try:
        return SPARK.generate(node, comments=False, unsupported_level=ErrorLevel.RAISE)
    except UnsupportedError as error:
        reason = " ".join(str(error).split()).partition(" when targeting")[0]
        raise refusal(
            node, f"this cannot be written in Spark's SQL: {reason}", "write it with other functions"
        ) from None


def name_of(identifier: exp.Expr) -> str:
    """A name as it counts: unquoted ones in lower case."""
    quoted = isinstance(identifier, exp.Identifier) and identifier.args.get("quoted")
    return identifier.name if quoted else identifier.name.lower()


def column(name: str, table: str = "") -> exp.Column:
    """A reference to a column, quoted where it has to be.

    >>> text(column("temp", "my stream"))
    '`my stream`.temp'
    """
    return exp.Column(this=_identifier(name), table=_identifier(table) if table else None)


def is_column(expression: str) -> bool:
    """Whether a canonical expression is a column, or a field of one, as it is.

    >>> is_column("sensors.temp"), is_column("`my id`"), is_column("temp + 1"), is_column("1")
    (True, True, False, False)
    """
    return re.fullmatch(r"(`[^`]+`|[a-z_]\w*)(\.(`[^`]+`|[a-z_]\w*))*", expression) is not None


def conjuncts(node: exp.Expr | None) -> list[exp.Expr]:
    """The operands of nested ANDs, parentheses and TRUE aside."""
    parts, ahead = [], [] if node is None else [node]
    while ahead:
        inner = ahead.pop().unnest()
        if isinstance(inner, exp.And):
            ahead += (inner.expression, inner.this)
        elif not (isinstance(inner, exp.Boolean) and inner.this):
            parts.append(inner)
    return parts


def conjunction(parts: Iterable[exp.Expr], *, of_join: bool = False) -> str:
    """Canonical parts joined by AND in the canonical order, as text; empty if there are none.

    Those of a join that may fail are asked about pairs that meet the others: these are found by hashing, before.
    """
    chosen = list(parts)
    if of_join:
        chosen.sort(key=_may_fail)
    return text(_connected(exp.And, chosen)) if chosen else ""


@lru_cache(maxsize=4096)
def _plain(name: str) -> bool:
    """Whether a name needs no quotes."""
    if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
        return False
    try:
        parsed = SPARK.parse(f"SELECT t.{name}, {name} < 1 FROM t")[0]
    except SqlglotError:
        return False
    second = parsed.expressions[1] if isinstance(parsed, exp.Select) and len(parsed.expressions) == 2 else None
    return isinstance(second, exp.LT) and isinstance(second.this, exp.Column) and second.this.name == name


def _identifier(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=not _plain(name))


def _droppable(paren: exp.Paren) -> bool:
    """Parentheses that precedence alone puts back where they are needed."""
    inside, parent = paren.this.unnest(), paren.parent
    around = parent is None or type(parent) in _PRECEDENCE or isinstance(parent, _TRANSPARENT)
    return around and (type(inside) in _PRECEDENCE or _atomic(inside))


def _atomic(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column | exp.Literal | exp.Boolean | exp.Null | exp.Case | exp.Cast) or (
        isinstance(node, exp.Func) and not isinstance(node, exp.Binary)
    )


def _normal(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.And | exp.Or):  # a chain as a whole: at each of its links it would take quadratic time
        kind = type(node)
        return _connected(kind, [_wrapped(_normal(operand), node, "this") for operand in _operands(node, kind)])
    for key, value in list(node.args.items()):
        if isinstance(value, exp.Expr):
            node.set(key, _wrapped(_normal(value), node, key))
        elif isinstance(value, list):
            node.set(key, [_normal(item) if isinstance(item, exp.Expr) else item for item in value])
    return _spelled(node)


def _spelled(node: exp.Expr) -> exp.Expr:
    if type(node) in _MIRROR:
        return _oriented(node)
    if isinstance(node, exp.Identifier):
        return _identifier(name_of(node))
    if isinstance(node, exp.Interval):
        return _interval(node)
    if isinstance(node, exp.Anonymous | exp.Var) and isinstance(node.this, str):
        node.set("this", node.this.upper())
    return node


def _wrapped(child: exp.Expr, parent: exp.Expr, key: str) -> exp.Expr:
    inner, outer = _PRECEDENCE.get(type(child)), _PRECEDENCE.get(type(parent))
    if inner is None or outer is None or inner > outer:
        return child
    associates = outer != 4 and key == "this" and not isinstance(parent, exp.Neg)
    return child if inner == outer and (associates or inner < 4) else exp.Paren(this=child)


def _operands(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    operands, ahead = [], [node]
    while ahead:
        operand = ahead.pop()
        if type(operand) is kind:
            ahead += (operand.expression, operand.this)
        else:
            operands.append(operand)
    return operands


def _connected(kind: type[exp.Expr], parts: list[exp.Expr]) -> exp.Expr:
    """Operands once each, in the order of their text up to one that may fail: `x <> 0` must stay a guard of `10 / x`.

    From there on they stay as written: what is asked of a row, and so may fail on it, depends on what comes before.
    """
    bare = [part.this if isinstance(part, exp.Paren) and type(part.this) in _PRECEDENCE else part for part in parts]
    by_text = {text(part): part for part in bare}
    written = list(by_text)
    first = next((place for place, operand in enumerate(written) if _may_fail(by_text[operand])), len(written))
    operands = [by_text[operand].copy() for operand in (*sorted(written[:first]), *written[first:])]
    if len(operands) == 1:
        return operands[0]
    wrapped = [
        exp.Paren(this=operand) if isinstance(operand, exp.Or) and kind is exp.And else operand for operand in operands
    ]
    return reduce(lambda left, right: kind(this=left, expression=right), wrapped)


def _may_fail(node: exp.Expr) -> bool:
    harmless = (exp.Connector, exp.Case, exp.If, exp.Coalesce, exp.RegexpLike)
    arithmetic = (exp.Div, exp.Mod, exp.IntDiv, exp.Bracket, exp.Add, exp.Sub, exp.Mul, exp.Neg)
    return any(
        isinstance(part, arithmetic) or (isinstance(part, exp.Func) and not isinstance(part, harmless))
        for part in node.walk()
    )


def _oriented(node: exp.Expr) -> exp.Expr:
    """Columns left of constants, otherwise sides in the order of their text."""
    left, right = node.this, node.expression
    if _rank(left) <= _rank(right):
        return node
    return _MIRROR[type(node)](this=right, expression=left)


def _rank(side: exp.Expr) -> tuple[bool, str]:
    return side.find(exp.Identifier) is None, text(side)


def _interval(node: exp.Interval) -> exp.Interval:
    unit = node.args.get("unit")
    if isinstance(unit, exp.Var):
        node.set("unit", exp.Var(this=unit.name.upper().removesuffix("S")))
    return node
