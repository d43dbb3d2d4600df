"""Predicates that compare one column with constants, of many members together: a row finds its members by a look-up.

All constants that the members compare a column with are sorted into *boundaries*. They divide the values of the column
into *cells*: a cell for each boundary and one for each gap, and one for null. Every value of a cell gives the same
answers, so for each cell it is known beforehand which members want its rows. Example, for members with `v >= 10`,
`v < 20` and `v IN (10, 30)`:

    cell        0: below 10   1: 10    2: between   3: 20   4: between   5: 30   6: above   7: null
    members     1             0, 1, 2  0, 1         0       0            0, 2    0          none

In the job a row looks up its place among the boundaries (Spark's `ArrayBinarySearch`), which the driver turns into the
cell. Spark copies an array before it searches it; so many boundaries are cut into parts: one search finds the part, a
second one the place in it. NiagaraCQ and TelegraphCQ group filters in this way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.classic.column import Column as ClassicColumn
from sqlglot import exp

from headgate.plan.sql.parse import expression
from headgate.plan.sql.scope import outer_columns
from headgate.plan.sql.words import written
from headgate.spark.compile.sql_text import literal as text_literal

Cells = npt.NDArray[np.int64]
Truth = npt.NDArray[np.int8]  # for each cell: FALSE, UNKNOWN or TRUE
Constant = int | float | str

FALSE, UNKNOWN, TRUE = 0, 1, 2  # in this order AND is the minimum, OR the maximum
PART = 256  # boundaries that are searched at a time
MOST = PART * PART  # boundaries of a column
_LONG = 1 << 63
_COMPARISONS: Mapping[type[exp.Expr], Callable[[Cells, int], npt.NDArray[np.bool_]]] = {
    exp.EQ: lambda cells, at: cells == at,
    exp.NEQ: lambda cells, at: cells != at,
    exp.LT: lambda cells, at: cells < at,
    exp.LTE: lambda cells, at: cells <= at,
    exp.GT: lambda cells, at: cells > at,
    exp.GTE: lambda cells, at: cells >= at,
}
_MIRRORED: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
    exp.LT: exp.GT,
    exp.GT: exp.LT,
    exp.LTE: exp.GTE,
    exp.GTE: exp.LTE,
}
_PLAIN_TEXT = re.compile(r"'[^'\\]*'|\"[^\"\\]*\"")  # without escapes, which only Spark needs to know
_WHOLE = frozenset({"tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long"})


@dataclass(frozen=True, slots=True)
class Comparison:
    """A predicate over one column that only compares it with constants, joined by AND, OR and NOT."""

    column: str
    tree: exp.Expr
    constants: tuple[Constant, ...]


@dataclass(frozen=True, slots=True)
class Boundaries:
    """The constants that a column is compared with, sorted."""

    column: str  # as SQL
    kind: str  # bigint, double or string
    values: tuple[Constant, ...]

    @property
    def cells(self) -> int:
        """How many cells there are; the last one is for null."""
        return 2 * len(self.values) + 2

    def truth(self, comparison: Comparison) -> npt.NDArray[np.bool_]:
        """For each cell whether a comparison holds for its values.

        >>> v = Boundaries("v", "bigint", (10, 20))
        >>> v.truth(comparison("v >= 10", {"v": "bigint"})).astype(int).tolist()
        [0, 1, 1, 1, 1, 0]
        >>> v.truth(comparison("NOT v IN (10, 20)", {"v": "bigint"})).astype(int).tolist()
        [1, 0, 1, 0, 1, 0]
        """
        places = {value: 2 * number + 1 for number, value in enumerate(self.values)}

        def place(literal: exp.Expr) -> int:
            value = _value(literal, self.kind)
            assert value is not None, "a comparison has only such constants"
            return places[value]

        holds: npt.NDArray[np.bool_] = _truth(comparison.tree, np.arange(self.cells - 1), place) == TRUE
        return holds

    @property
    def parts(self) -> bool:
        """Whether the boundaries are cut into parts."""
        return len(self.values) > PART

    def part(self, spark: SparkSession) -> Column:
        """The part that a row's value falls into: the last one whose first boundary is not greater."""
        found = _search(spark, self._value, F.expr(_array(self._texts[PART::PART])))
        return F.when(self._value.isNotNull(), F.abs(found + 1))  # the search takes a null for a zero, now and then

    def place(self, spark: SparkSession, part: str) -> Column:
        """A row's place among the boundaries (of its part, which is in a column), as Java's binary search tells it.

        That is n if its value equals the n-th one, and -n - 1 if n of them are smaller and none is equal.
        """
        array = F.expr(_array(self._texts))
        if self.parts:
            pieces = (self._texts[first : first + PART] for first in range(0, len(self._texts), PART))
            array = F.get(F.expr(f"array({', '.join(map(_array, pieces))})"), F.col(part))
        return F.when(self._value.isNotNull(), _search(spark, self._value, array))

    def cell(self, place: str, part: str) -> str:
        """The cell of a row as SQL, from the columns of its place and its part; null for null.

        >>> Boundaries("v", "bigint", (10, 20)).cell("_place", "_part")
        'IF(_place >= 0, 2 * _place + 1, -2 * (_place + 1))'
        """
        before = f" + {2 * PART} * {part}" if self.parts else ""
        return f"IF({place} >= 0, 2 * {place} + 1, -2 * ({place} + 1)){before}"

    @property
    def _value(self) -> Column:
        texts = {"double": f"CAST({self.column} AS DOUBLE) + 0.0D", "bigint": f"CAST({self.column} AS BIGINT)"}
        return F.expr(texts.get(self.kind, self.column))  # + 0.0 makes -0.0 a plain 0, which the search tells apart

    @property
    def _texts(self) -> list[str]:
        return [_literal(constant, self.kind) for constant in self.values]


def comparison(text: str, types: Mapping[str, str]) -> Comparison | None:
    """A predicate as a comparison of one column, if it is one; `types` are those of the columns that it may be.

    >>> comparison("v > 1 AND (v < 5 OR v = 7)", {"v": "int"}).constants
    (1, 5, 7)
    >>> comparison("v > w", {"v": "int", "w": "int"}), comparison("v > '1'", {"v": "int"}), comparison("v / 2 > 1", {})
    (None, None, None)
    """
    tree = _parsed(text)
    columns = {node.name for node in outer_columns(tree)}
    if len(columns) != 1 or any(node.table for node in outer_columns(tree)):
        return None
    (column,) = columns
    kind = kind_of(types.get(column, ""))
    constants: list[Constant] = []
    return Comparison(column, tree, tuple(constants)) if kind and _compares(tree, kind, constants) else None


def kind_of(declared: str) -> str:
    """How values of a declared type are looked up; empty: not at all.

    >>> kind_of("INT"), kind_of("double"), kind_of("string"), kind_of("float")
    ('bigint', 'double', 'string', '')
    """
    declared = declared.strip().lower()
    if declared in _WHOLE:
        return "bigint"
    return declared if declared in {"double", "string"} else ""


def boundaries(column: str, quoted: str, kind: str, comparisons: Iterable[Comparison]) -> Boundaries:
    """All constants that comparisons of a column have."""
    values = {constant for own in comparisons if own.column == column for constant in own.constants}
    return Boundaries(quoted, kind, tuple(sorted(values, key=_sort_key)))


def _sort_key(value: Constant) -> Any:
    """Spark compares texts by their bytes, which is not how Python compares some characters beyond the first plane."""
    return value.encode() if isinstance(value, str) else value


@lru_cache(maxsize=10_000)
def _parsed(text: str) -> exp.Expr:
    return expression(text)


def _compares(node: exp.Expr, kind: str, constants: list[Constant]) -> bool:
    """Whether a tree only compares a column with constants, which are added to the list."""
    match node:
        case exp.Paren() | exp.Not():
            return _compares(node.this, kind, constants)
        case exp.And() | exp.Or():
            return all(_compares(side, kind, constants) for side in (node.left, node.right))
        case exp.Between():
            found = [node.this, node.args["low"], node.args["high"]]
        case exp.In():
            found = [node.this, *node.expressions]
            if not node.expressions:
                return False
        case exp.Is():
            return isinstance(node.this, exp.Column) and isinstance(node.expression, exp.Null)
        case exp.Binary() if type(node) in _COMPARISONS:
            found = [node.left, node.right]
            if isinstance(node.right, exp.Column):
                found.reverse()
        case _:
            return False
    column, *literals = found
    values = [_value(literal, kind) for literal in literals]
    if not isinstance(column, exp.Column) or any(value is None for value in values):
        return False
    constants += [value for value in values if value is not None]
    return True


def _value(literal: exp.Expr, kind: str) -> Constant | None:
    """A constant as it is compared with a column; None: it would be converted in another way, or the column would."""
    negative = isinstance(literal, exp.Neg)
    literal = literal.this if negative else literal
    if not isinstance(literal, exp.Literal):
        return None
    if literal.is_string or kind == "string":
        plain = _PLAIN_TEXT.fullmatch(written(literal)) is not None
        return literal.name if literal.is_string and kind == "string" and not negative and plain else None
    text = f"-{literal.name}" if negative else literal.name
    whole = literal.name.isdigit()
    if kind == "bigint":
        return int(text) if whole and -_LONG <= int(text) < _LONG else None
    if not (whole or literal.name.replace(".", "", 1).isdigit()):
        return None  # with an exponent or a suffix: seldom, and not worth the thought
    return float(text) + 0.0


def _truth(node: exp.Expr, cells: Cells, place: Callable[[exp.Expr], int]) -> Truth:
    """For each cell, and at the end for null, what a comparison says, by the rules of SQL."""
    match node:
        case exp.Paren():
            return _truth(node.this, cells, place)
        case exp.Not():
            return TRUE - _truth(node.this, cells, place)
        case exp.And():
            return np.minimum(_truth(node.left, cells, place), _truth(node.right, cells, place))
        case exp.Or():
            return np.maximum(_truth(node.left, cells, place), _truth(node.right, cells, place))
        case exp.Between():
            low, high = place(node.args["low"]), place(node.args["high"])
            return _said((cells >= low) & (cells <= high))
        case exp.In():
            return _said(np.isin(cells, [place(literal) for literal in node.expressions]))
        case exp.Is():
            return np.append(np.full(len(cells), FALSE, np.int8), np.int8(TRUE))
    test = type(node)
    assert isinstance(node, exp.Binary)
    if isinstance(node.right, exp.Column):
        return _said(_COMPARISONS[_MIRRORED[test]](cells, place(node.left)))
    return _said(_COMPARISONS[test](cells, place(node.right)))


def _said(holds: npt.NDArray[np.bool_]) -> Truth:
    """What a comparison says of each cell, which for null is unknown."""
    return np.append(np.where(holds, np.int8(TRUE), np.int8(FALSE)), np.int8(UNKNOWN))


def _literal(constant: Constant, kind: str) -> str:
    if isinstance(constant, str):
        return text_literal(constant)
    if kind == "double":
        return f"{constant!r}D" if constant == constant and abs(constant) != float("inf") else f"DOUBLE('{constant}')"
    return f"{constant}L" if constant != -_LONG else f"({constant + 1}L - 1L)"


def _array(texts: Sequence[str]) -> str:
    return f"array({', '.join(texts)})"


def _search(spark: SparkSession, column: Column, array: Column) -> Column:
    jvm: Any = spark._jvm
    utilities, catalyst = jvm.org.apache.spark.sql.classic.ExpressionUtils, jvm.org.apache.spark.sql.catalyst
    left, right = (utilities.expression(side._jc) for side in (array, column))
    return ClassicColumn(utilities.column(catalyst.expressions.ArrayBinarySearch(left, right)))
