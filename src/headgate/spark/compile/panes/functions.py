"""SQL aggregates as partial aggregates: what is computed of the rows of a pane, and what becomes of it in the end.

Example: avg(v) is sum(v) and count(v) of each pane. Both are added up over the panes of a window, and then divided.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from math import gcd
from string import Template
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from headgate.model import Aggregate, Operator, Window
from headgate.plan.fusion_template import template
from headgate.plan.sql.rewriting import AggregateCall
from headgate.spark.compile.time_spans import micros

Array = Any  # of Arrow
Arrays = Sequence[Array]

MOST_PANES = 20_000  # in a window
_NARROW = (ByteType, ShortType, IntegerType)
_FLOATING = (FloatType, DoubleType)
_EXACT = (*_NARROW, LongType, BinaryType, BooleanType, DateType, TimestampType, TimestampNTZType)
_MOST_DIGITS = 28  # of a decimal: a sum has ten more, and 38 is the limit, beyond which it would overflow
_MOST_PLACES = 18  # of a decimal: its mean has four more, and Spark computes it with 38
_COLUMN = re.compile(r"[\w.]+|`[^`]+`")
_SAFE = 9.2e18  # sums of absolute values up to here cannot have left 64 bits on the way, in whatever order


class UnfitError(Exception):
    """These values must be aggregated by Spark itself."""


class Merge(StrEnum):
    """How the partial aggregates of two panes become one."""

    SUM = "sum"
    MIN = "min"
    MAX = "max"
    MOMENTS = "moments"  # a count, a mean, the sum of squared deviations from it, the lowest and the highest value
    LOWEST = "lowest"  # a value and what it is chosen by
    HIGHEST = "highest"
    LIST = "list"
    SET = "set"


@dataclass(frozen=True, slots=True)
class Partial:
    """A partial aggregate: how it is merged, and one or more columns as SQL aggregates of a pane's rows.

    In their texts `$a0` and `$a1` stand for the arguments, so that one that several of them use is computed once:

    >>> squares = Partial(Merge.SUM, ("sum($a0 * $a0)$where",), ("sin(v)",))
    >>> squares.columns({}), squares.columns({"sin(v)": "s"})
    (('sum(sin(v) * sin(v))',), ('sum(s * s)',))
    """

    merge: Merge
    texts: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    where: str = ""

    def columns(self, computed: Mapping[str, str]) -> tuple[str, ...]:
        """The SQL of its columns, given the names of arguments that are columns already."""
        given = {f"a{place}": computed.get(text, text) for place, text in enumerate(self.arguments)}
        return tuple(Template(text).substitute(given, where=self.where) for text in self.texts)

    @property
    def repeated(self) -> tuple[str, ...]:
        """The arguments that may be computed before, as often as its columns use them.

        Not those of an aggregate with a filter: they may fail on rows that it leaves out.
        """
        if self.where:
            return ()
        uses = " ".join(self.texts)
        return tuple(
            text
            for place, text in enumerate(self.arguments)
            if text != "*" and not _COLUMN.fullmatch(text)
            for _ in range(uses.count(f"$a{place}"))
        )


@dataclass(frozen=True, slots=True)
class Function:
    """An aggregate made of partial ones; `finish` gets the columns of each of them, one after the other."""

    partials: tuple[Partial, ...]
    finish: Callable[[Arrays], Array]


@dataclass(frozen=True, slots=True)
class Call:
    """An SQL aggregate taken apart.

    >>> parse("SUM(v + 1) FILTER (WHERE v > 0)")
    Call(name='sum', arguments=('v + 1',), where=' FILTER (WHERE v > 0)', distinct=False, descending=False)
    """

    name: str
    arguments: tuple[str, ...]
    where: str = ""
    distinct: bool = False
    descending: bool = False  # of a sorted list


def parse(text: str) -> Call | None:
    """An SQL aggregate taken apart; None if it is of another form."""
    call = AggregateCall(text)
    descending = False
    if call.sort is not None:
        sort, ascending = call.sort
        if sort != "sort_array" or len(ascending) > 1 or not {said.upper() for said in ascending} <= {"TRUE", "FALSE"}:
            return None
        descending = bool(ascending) and ascending[0].upper() == "FALSE"
    if (call.sort is not None) != (call.name in ("collect_list", "collect_set", "array_agg")):
        return None
    where = f" FILTER (WHERE {call.where})" if call.where else ""
    return Call(call.name, tuple(call.arguments), where, call.distinct, descending)


def function(call: Call, types: Sequence[DataType]) -> Function | None:
    """An aggregate by its partial ones, given the types of its arguments; None: only Spark itself can compute it."""
    if call.distinct:
        return _count_distinct(call, types) if call.name == "count" else None
    make = _MAKERS.get(call.name)
    return None if make is None else make(call, types)


@lru_cache(maxsize=5_000)
def has_panes(plan: Operator) -> bool:
    """Whether the windows of a query may be made of panes, going by its text; the types of its arguments decide."""
    parts = template(plan)
    if parts is None or not isinstance(parts.core, Aggregate) or pane_width(parts.core.window) is None:
        return False
    calls = [parse(column.expression) for column in parts.core.aggregates]
    return all(call is not None and call.name in _MAKERS for call in calls)


def pane_width(window: Window) -> int | None:
    """How long the panes of windows are, microseconds; None if a window would have too many.

    >>> pane_width(Window(10.0, 4.0)), pane_width(Window(3600.0, 0.001001))
    (2000000, None)
    """
    size, slide = micros(window.size), micros(window.slide)
    width = gcd(size, slide)
    return width if size // width <= MOST_PANES else None


def comparable(kind: DataType) -> bool:
    """Whether Arrow groups and compares values as Spark does, NaN aside."""
    return isinstance(kind, (*_EXACT, *_FLOATING, DecimalType)) or _binary_text(kind)


def _binary_text(kind: DataType) -> bool:
    return type(kind) is StringType and kind.isUTF8BinaryCollation()


def _partial(call: Call, merge: Merge, *texts: str) -> Partial:
    return Partial(merge, tuple(f"{text}$where" for text in texts), call.arguments, call.where)


def _first(columns: Arrays) -> Array:
    return columns[0]


def _plain(name: str, merge: Merge) -> Callable[[Call, Sequence[DataType]], Function | None]:
    """An aggregate of which that of a window is made just as that of a pane."""

    def make(call: Call, types: Sequence[DataType]) -> Function | None:
        del types
        given = ", ".join(f"$a{place}" for place in range(len(call.arguments)))
        return Function((_partial(call, merge, f"{name}({given})"),), _first)

    return make


def _extreme(merge: Merge) -> Callable[[Call, Sequence[DataType]], Function | None]:
    def make(call: Call, types: Sequence[DataType]) -> Function | None:
        (kind,) = types
        if not comparable(kind):
            return None
        value = _partial(call, merge, f"{merge}($a0)")
        if not isinstance(kind, _FLOATING) or merge is Merge.MIN:
            return Function((value,), _first)
        return Function((value, _partial(call, Merge.SUM, "count_if(isnan($a0))")), _with_nan)

    return make


def _with_nan(columns: Arrays) -> Array:
    """Arrow leaves NaN out of a maximum; to Spark it is the greatest number."""
    values, count = columns
    return pc.if_else(pc.greater(count, 0), pa.scalar(np.nan, values.type), values)


def _sum(call: Call, types: Sequence[DataType]) -> Function | None:
    (kind,) = types
    total = _partial(call, Merge.SUM, "sum($a0)")
    if isinstance(kind, LongType):
        return Function((total, _partial(call, Merge.SUM, "sum(abs(CAST($a0 AS DOUBLE)))")), _within_64_bits)
    summable = isinstance(kind, (*_NARROW, *_FLOATING)) or _short_decimal(kind)
    return Function((total,), _first) if summable else None


def _short_decimal(kind: DataType) -> bool:
    return isinstance(kind, DecimalType) and kind.precision <= _MOST_DIGITS


def _within_64_bits(columns: Arrays) -> Array:
    total, absolute = columns
    if (pc.max(absolute).as_py() or 0.0) > _SAFE:
        raise UnfitError("a sum may have left 64 bits")
    return total


def _average(call: Call, types: Sequence[DataType]) -> Function | None:
    (kind,) = types
    count = _partial(call, Merge.SUM, "count($a0)")
    if isinstance(kind, (*_NARROW, LongType, *_FLOATING)):
        return Function((_partial(call, Merge.SUM, "sum(CAST($a0 AS DOUBLE))"), count), _quotient)
    if isinstance(kind, DecimalType) and _short_decimal(kind) and kind.scale <= _MOST_PLACES:
        result = pa.decimal128(kind.precision + 4, kind.scale + 4)
        total = _partial(call, Merge.SUM, "sum($a0)")
        return Function((total, count), lambda columns: _decimal_quotient(columns, result))
    return None


def _quotient(columns: Arrays) -> Array:
    total, count = columns
    return pc.divide(total, pc.cast(count, pa.float64()))  # where the count is 0, the sum is null


def _decimal_quotient(columns: Arrays, kind: pa.Decimal128Type) -> Array:
    """Rounded half up, away from zero, as Spark does."""
    means = [
        None if total is None else _rounded_quotient(total, count, kind.scale)
        for total, count in zip(columns[0].to_pylist(), columns[1].to_pylist(), strict=True)
    ]
    return pa.array(means, kind)


def _rounded_quotient(total: Decimal, count: int, places: int) -> Decimal:
    """A quotient rounded half up.

    >>> _rounded_quotient(Decimal("-0.05"), 2, 2), _rounded_quotient(Decimal("1.00"), 3, 4)
    (Decimal('-0.03'), Decimal('0.3333'))
    """
    sign, digits, exponent = total.as_tuple()
    scaled = int("".join(map(str, digits))) * 10 ** (places + int(exponent))
    quotient = (2 * scaled + count) // (2 * count)
    return Decimal((sign, tuple(map(int, str(quotient))), -places))


def _spread(of_sample: bool, root: bool) -> Callable[[Call, Sequence[DataType]], Function | None]:
    """Variances and standard deviations; those of a sample with one value are null."""

    def finish(columns: Arrays) -> Array:
        count, _, squares, _, _ = (np.asarray(column.fill_null(0), np.float64) for column in columns)
        freedom = count - 1 if of_sample else count
        none = freedom <= 0
        spread = squares / np.where(none, 1.0, freedom)
        return pa.array(np.sqrt(spread) if root else spread, pa.float64(), mask=none)

    def make(call: Call, types: Sequence[DataType]) -> Function | None:
        (kind,) = types
        if not isinstance(kind, (*_NARROW, LongType, *_FLOATING, DecimalType)):
            return None
        count, mean, variance, low, high = (
            f"{name}(CAST($a0 AS DOUBLE))$where" for name in ("count", "avg", "var_pop", "min", "max")
        )
        # A count stands for 0 where nothing is counted, but the others are null.
        texts = (count, mean, f"{variance} * {count}", low, high)
        moments = Partial(Merge.MOMENTS, texts, call.arguments, call.where)
        return Function((moments,), finish)

    return make


def _chosen(merge: Merge, by: str) -> Callable[[Call, Sequence[DataType]], Function | None]:
    """max_by and min_by."""

    def make(call: Call, types: Sequence[DataType]) -> Function | None:
        if not all(map(comparable, types)):
            return None
        return Function((_partial(call, merge, f"{by}_by($a0, $a1)", f"{by}($a1)"),), _first)

    return make


def _count_distinct(call: Call, types: Sequence[DataType]) -> Function | None:
    if len(types) != 1 or not _listable(types[0]):
        return None
    values = _partial(call, Merge.SET, "collect_set($a0)")
    return Function((values,), lambda columns: pc.cast(pc.list_value_length(columns[0]), pa.int64()))


def _listable(kind: DataType) -> bool:
    """Whether Arrow takes the same values for equal as Spark and sorts them alike: NaN and -0.0 it does not."""
    return comparable(kind) and not isinstance(kind, _FLOATING)


def _collected(merge: Merge) -> Callable[[Call, Sequence[DataType]], Function | None]:
    def make(call: Call, types: Sequence[DataType]) -> Function | None:
        if not _listable(types[0]):
            return None
        values = _partial(call, merge, f"{call.name}($a0)")
        return Function((values,), lambda columns: _sorted_lists(columns[0], call.descending))

    return make


def _sorted_lists(lists: Array, descending: bool) -> Array:
    """Each list sorted."""
    lists = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    table = pa.table({"list": pc.list_parent_indices(lists), "value": lists.flatten()})
    order = "descending" if descending else "ascending"
    values = table.sort_by([("list", "ascending"), ("value", order)])["value"].combine_chunks()
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values).cast(lists.type)


_AND, _OR = _plain("bool_and", Merge.MIN), _plain("bool_or", Merge.MAX)
_MAKERS: Mapping[str, Callable[[Call, Sequence[DataType]], Function | None]] = {
    "count": _plain("count", Merge.SUM),
    "count_if": _plain("count_if", Merge.SUM),
    "sum": _sum,
    **dict.fromkeys(("avg", "mean"), _average),
    "min": _extreme(Merge.MIN),
    "max": _extreme(Merge.MAX),
    **dict.fromkeys(("bool_and", "every"), _AND),
    **dict.fromkeys(("any", "bool_or", "some"), _OR),
    **dict.fromkeys(("std", "stddev", "stddev_samp"), _spread(of_sample=True, root=True)),
    "stddev_pop": _spread(of_sample=False, root=True),
    **dict.fromkeys(("variance", "var_samp"), _spread(of_sample=True, root=False)),
    "var_pop": _spread(of_sample=False, root=False),
    "max_by": _chosen(Merge.HIGHEST, "max"),
    "min_by": _chosen(Merge.LOWEST, "min"),
    **dict.fromkeys(("collect_list", "array_agg"), _collected(Merge.LIST)),
    "collect_set": _collected(Merge.SET),
}
