"""Partial aggregates of several panes as one: rows with equal keys become one row."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headgate.spark.compile.panes.functions import Array, Merge, Partial, UnfitError

_ROW = "_row"
_SIMPLE = frozenset({Merge.SUM, Merge.MIN, Merge.MAX})  # Arrow merges these itself
_LISTED = frozenset({Merge.LIST, Merge.SET})
Numbers = npt.NDArray[Any]


def column_names(number: int, partial: Partial) -> tuple[str, ...]:
    """The columns of the partial aggregate with this number.

    >>> column_names(2, Partial(Merge.HIGHEST, ("max_by(a, b)", "max(b)")))
    ('_p2_0', '_p2_1')
    """
    return tuple(f"_p{number}_{part}" for part in range(len(partial.texts)))


@dataclass(frozen=True)
class _Groups:
    """Rows by the group that they belong to: `rows` are their numbers in the order of groups of these `sizes`."""

    rows: Numbers
    sizes: Numbers

    @cached_property
    def starts(self) -> Numbers:
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)

    @cached_property
    def of_row(self) -> Numbers:
        """The group of each row, in the order of `rows`."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def sums(self, values: Numbers) -> Numbers:
        return np.add.reduceat(values, self.starts) if len(values) else values

    def lowest(self, values: Numbers) -> Numbers:
        return np.minimum.reduceat(values, self.starts) if len(values) else values

    def highest(self, values: Numbers) -> Numbers:
        return np.maximum.reduceat(values, self.starts) if len(values) else values


def merge(table: pa.Table, keys: Sequence[str], partials: Sequence[Partial]) -> pa.Table:
    """One row for each combination of keys, of the same columns in the same order.

    >>> rows = pa.table({"k": ["a", "b", "a"], "_p0_0": [1, 2, 3]})
    >>> merge(rows, ["k"], [Partial(Merge.SUM, ("count(*)",))]).to_pydict()
    {'k': ['a', 'b'], '_p0_0': [4, 2]}
    """
    if not table.num_rows:
        return table
    named = {number: column_names(number, partial) for number, partial in enumerate(partials)}
    simple = [(named[number][0], partial.merge) for number, partial in enumerate(partials) if partial.merge in _SIMPLE]
    special = [number for number, partial in enumerate(partials) if partial.merge not in _SIMPLE]
    wanted = [(name, str(how)) for name, how in simple]
    if special:
        table = table.append_column(_ROW, pa.array(np.arange(table.num_rows)))
        wanted.append((_ROW, "list"))
    grouped = table.group_by(list(keys), use_threads=False).aggregate(wanted)
    columns = {key: grouped[key] for key in keys}
    columns |= {name: grouped[f"{name}_{how}"] for name, how in simple}
    if special:
        lists = grouped[f"{_ROW}_list"].combine_chunks()
        groups = _Groups(lists.flatten().to_numpy(), pc.list_value_length(lists).to_numpy())
        for number in special:
            inputs = [table[name].combine_chunks() for name in named[number]]
            columns |= zip(named[number], _SPECIAL[partials[number].merge](inputs, groups), strict=True)
    schema = pa.schema([field for field in table.schema if field.name != _ROW])
    return pa.table([columns[name].cast(schema.field(name).type) for name in schema.names], schema=schema)


def _moments(columns: Sequence[Array], groups: _Groups) -> list[Array]:
    """By the formula of Chan, Golub and LeVeque: no difference of large sums.

    Values that are all equal have no deviations, as in Spark, though their means may be rounded.
    """
    fills = (0.0, 0.0, 0.0, math.inf, -math.inf)
    count, mean, squares, low, high = (
        np.asarray(column.cast(pa.float64()).fill_null(fill), np.float64)[groups.rows]
        for column, fill in zip(columns, fills, strict=True)
    )
    counts, lows, highs = groups.sums(count), groups.lowest(low), groups.highest(high)
    with np.errstate(invalid="ignore", over="ignore"):  # infinity less infinity is NaN, in Spark, too
        means = groups.sums(count * mean) / np.where(counts > 0, counts, 1.0)
        deviations = groups.sums(squares + count * (mean - means[groups.of_row]) ** 2)
    equal = (lows == highs) & np.isfinite(lows)
    finite = np.isfinite(lows) & np.isfinite(highs)
    if np.any(finite & ~equal & ~np.isfinite(deviations)):
        raise UnfitError("values are so large that their sums are not finite")
    means, deviations = np.where(equal, lows, means), np.where(equal, 0.0, deviations)
    return [pa.array(values) for values in (counts, means, deviations, lows, highs)]


def _chosen(last: bool) -> Callable[[Sequence[Array], _Groups], list[Array]]:
    """The value that goes with the lowest or the highest, which comes first or last in its group when sorted."""

    def choose(columns: Sequence[Array], groups: _Groups) -> list[Array]:
        value, by = (column.take(pa.array(groups.rows)) for column in columns)
        sorting = pa.table({"group": groups.of_row, "by": by})  # NaN comes after all numbers, and null after NaN
        order = pc.sort_indices(sorting, sort_keys=[("group", "ascending"), ("by", "ascending")]).to_numpy()
        valid = groups.sums(by.is_valid().to_numpy(zero_copy_only=False).astype(np.int64))
        chosen = pa.array(order[groups.starts + (np.maximum(valid, 1) - 1 if last else 0)])
        return [value.take(chosen), by.take(chosen)]

    return choose


def _list(columns: Sequence[Array], groups: _Groups) -> list[Array]:
    lists = columns[0].take(pa.array(groups.rows))
    lengths = groups.sums(pc.list_value_length(lists).to_numpy(zero_copy_only=False))
    return [_lists(lists.flatten(), lengths, columns[0].type)]


def _set(columns: Sequence[Array], groups: _Groups) -> list[Array]:
    lists = columns[0].take(pa.array(groups.rows))
    owners = groups.of_row[pc.list_parent_indices(lists).to_numpy()]
    values = pa.table({"owner": owners, "value": lists.flatten()})
    once = values.group_by(["owner", "value"], use_threads=False).aggregate([]).sort_by("owner")
    lengths = np.bincount(once["owner"].to_numpy(), minlength=len(groups.sizes))
    return [_lists(once["value"].combine_chunks(), lengths, columns[0].type)]


def _lists(values: Array, lengths: Numbers, kind: pa.DataType) -> Array:
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values).cast(kind)


_SPECIAL: Mapping[Merge, Callable[[Sequence[Array], _Groups], list[Array]]] = {
    Merge.MOMENTS: _moments,
    Merge.LOWEST: _chosen(last=False),
    Merge.HIGHEST: _chosen(last=True),
    Merge.LIST: _list,
    Merge.SET: _set,
}
