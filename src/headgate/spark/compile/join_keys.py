"""Which old rows of a join can find a partner: those with keys that the other side has.

A join with a long window reads many old rows in every run, and few of them have the key of a new row. The driver looks
for these before it ships anything: a look at a row takes some nanoseconds, shipping and joining it some microseconds.

It is a matter of speed only: a row that is left out has a key that no row of the other side has, so it is in no pair.
What is compared here must be equal exactly where Spark's `=` says so. Hence keys are columns as they are, of one type
on both sides, and not of floating point (-0.0 = 0.0) or with a collation; null equals nothing. With any other key all
rows are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from headgate.model import Join, Select, Source
from headgate.plan.fusion_template import join_conditions
from headgate.spark.compile.arrow_types import note
from headgate.spark.compile.read_sets import Partner, Reading

KeyColumns = tuple[tuple[str, str], ...]  # a column of the left side, and the column of the right side that equals it


@lru_cache(maxsize=1000)
def key_columns(equalities: tuple[str, ...], left: str, right: str) -> KeyColumns:
    """The columns in a join's equalities; none if one of them is not between a column of each side.

    >>> key_columns(("x.id = y.id", "y.room = x.hall"), "x", "y")
    (('id', 'id'), ('hall', 'room'))
    >>> key_columns(("x.id = y.id", "x.place.room = y.room"), "x", "y")
    ()
    """
    from headgate.plan.sql.joins import equated  # here: it takes long to import

    found: list[tuple[str, str]] = []
    for text in equalities:
        sides = dict(names for names in equated(text) if len(names) == 2)
        if left == right or set(sides) != {left, right}:
            return ()
        found.append((sides[left], sides[right]))
    return tuple(found)


def comparable(keys: Sequence[tuple[str, str]], left: pa.Schema, right: pa.Schema) -> bool:
    """Whether Arrow finds the same keys equal as Spark, for tables with these columns.

    >>> ids, texts = pa.schema([("id", pa.int64())]), pa.schema([("id", pa.string())])
    >>> comparable([("id", "id")], ids, ids), comparable([("id", "id")], ids, texts), comparable([], ids, ids)
    (True, False, False)
    """
    return bool(keys) and all(
        own in left.names and other in right.names and _alike(left.field(own), right.field(other))
        for own, other in keys
    )


def have_partner(rows: pa.Table, columns: Sequence[str], others: pa.Table, other_columns: Sequence[str]) -> pa.Array:
    """For each row whether each of its keys is in the other side's column; so perhaps more than have a partner.

    >>> rows, others = pa.table({"id": [1, 2, None]}), pa.table({"key": [2, 3, None]})
    >>> have_partner(rows, ["id"], others, ["key"]).to_pylist()
    [False, True, False]
    """
    found = None
    for own, other in zip(columns, other_columns, strict=True):
        inside = pc.is_in(rows[own], value_set=pc.unique(others[other]), skip_nulls=True)
        found = inside if found is None else pc.and_(found, inside)
    return found


def paired(reading: Reading) -> Reading:
    """A reading in which both streams of a join know each other as partners, if the join has keys."""
    inputs = tuple(map(paired, reading.inputs))
    node = reading.node
    if isinstance(node, Join) and len(inputs) == 2:
        keys = key_columns(join_conditions(node.condition)[0], node.left, node.right)
        left, right = map(_source, inputs)
        if keys and left is not None and right is not None:
            own, other = zip(*keys, strict=True)
            inputs = _with(inputs[0], Partner(right, own, other)), _with(inputs[1], Partner(left, other, own))
    return replace(reading, inputs=inputs)


def _source(reading: Reading) -> Reading | None:
    """The stream below nothing but selections."""
    while isinstance(reading.node, Select) and reading.inputs:
        reading = reading.inputs[0]
    return reading if isinstance(reading.node, Source) else None


def _with(reading: Reading, partner: Partner) -> Reading:
    if isinstance(reading.node, Source):
        return replace(reading, partner=partner)
    return replace(reading, inputs=(_with(reading.inputs[0], partner),))


def _alike(left: pa.Field, right: pa.Field) -> bool:
    if note(left) is not None or note(right) is not None:  # texts with a collation
        return False
    own, other, types = left.type, right.type, pa.types
    tests = (types.is_signed_integer, types.is_boolean, types.is_string, types.is_binary, types.is_date32)
    exact = any(test(own) for test in (*tests, types.is_timestamp, types.is_decimal128))
    return own == other and exact
