"""Expressions of plans taken apart and changed, as text: what does not change stays as its author wrote it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from sqlglot import exp

from headgate.model import Expression
from headgate.plan.sql.aggregates import inside_of
from headgate.plan.sql.normal import canonical, conjuncts
from headgate.plan.sql.parse import expression
from headgate.plan.sql.scope import outer_columns
from headgate.plan.sql.words import bare, hiding, put, raw, written


@lru_cache(maxsize=10_000)
def names_in(text: str) -> frozenset[str]:
    """All names in an expression: of columns, and of whatever they belong to.

    >>> sorted(names_in("a.b + transform(c, x -> x + 1)[0]"))
    ['a', 'b', 'c', 'x']
    """
    return frozenset(part.name for part in expression(text).find_all(exp.Identifier)) if text else frozenset()


def columns_in(text: str) -> list[tuple[str, ...]]:
    """The columns of an expression, each as often as it is read, as names with what qualifies them."""
    return [tuple(part.name for part in column.parts) for column in outer_columns(expression(text))]


def with_columns(text: str, meant: Mapping[str, str]) -> Expression | None:
    """An expression with other expressions in the place of some of its unqualified columns.

    None where a parameter of a lambda hides what such an expression reads.

    >>> with_columns("q > 3 AND id = 1", {"q": "100 / k"})
    '(100 / k) > 3 AND id = 1'
    >>> with_columns("exists(a, k -> k = q)", {"q": "100 / k"}) is None
    True
    """
    root = exp.Paren(this=expression(text))
    for column in list(outer_columns(root)):
        if not column.table and column.name in meant:
            other = expression(meant[column.name])
            if hiding(column, other) is not None:
                return None
            put(column, other)
    return canonical(root.this)


def is_constant(text: str) -> bool:
    """Whether an expression is a number, a text, TRUE or FALSE.

    >>> is_constant("'x'"), is_constant("-1"), is_constant("a")
    (True, False, False)
    """
    return isinstance(expression(text), exp.Literal | exp.Boolean)


def conjuncts_of(texts: Iterable[str]) -> tuple[Expression, ...]:
    """The parts of predicates that must all hold.

    >>> conjuncts_of(["v > 1 AND (w < 2)", "v < 9"])
    ('v > 1', 'w < 2', 'v < 9')
    """
    return tuple(canonical(part) for text in texts for part in conjuncts(expression(text)))


class AggregateCall:
    """An SQL aggregate taken apart: its name, its arguments, its FILTER, and the sort of what it collects.

    >>> call = AggregateCall("sort_array(collect_list(a / b) FILTER (WHERE b <> 0), false)")
    >>> call.name, call.arguments, call.where, call.sort
    ('collect_list', ['a / b'], 'b <> 0', ('sort_array', ['false']))
    """

    def __init__(self, text: str) -> None:
        self.tree = expression(text)
        self._call = inside_of(self.tree)
        assert isinstance(self._call, exp.Anonymous)
        outer = bare(self.tree)
        self.name = self._call.name.lower()
        filtered = self.tree.find(exp.Filter)
        self._where = filtered.expression.this if filtered is not None and filtered.this is self._call else None
        inner = self._call.expressions
        self.distinct = len(inner) == 1 and isinstance(inner[0], exp.Distinct)
        self._arguments = list(inner[0].expressions if self.distinct else inner)
        sorts = isinstance(outer, exp.Anonymous) and outer is not self._call
        self.sort = (outer.name.lower(), [written(part) for part in outer.expressions[1:]]) if sorts else None

    @property
    def arguments(self) -> list[str]:
        """What it computes of each row; `*` of `count(*)`."""
        return [written(argument) for argument in self._arguments]

    @property
    def where(self) -> str:
        """The condition of its FILTER; empty if it has none."""
        return written(self._where) if self._where is not None else ""

    @property
    def computed(self) -> list[str]:
        """The arguments that read columns."""
        return [written(argument) for argument in self._computed()]

    def only_where(self, condition: str, *, filtered: bool = True) -> str:
        """The same with arguments, and FILTER, that are computed only where a condition holds, and null elsewhere.

        >>> AggregateCall("SUM(a / b) FILTER (WHERE c)").only_where("m = 1")
        'SUM(CASE WHEN m = 1 THEN a / b END) FILTER (WHERE CASE WHEN m = 1 THEN c END)'
        """
        parts = [*self._computed(), *([self._where] if filtered and self._where is not None else [])]
        for part in parts:
            put(part, raw(f"CASE WHEN {condition} THEN {written(part)} END"))
        return written(self.tree)

    def named(self, name: str) -> str:
        """The same call, with its FILTER, of another function."""
        arguments = ", ".join(self.arguments)
        call = f"{name}({'DISTINCT ' if self.distinct else ''}{arguments})"
        return f"{call} FILTER (WHERE {self.where})" if self.where else call

    def _computed(self) -> list[exp.Expr]:
        return [part for part in self._arguments if any(True for _ in outer_columns(part))]
