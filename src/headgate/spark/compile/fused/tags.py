"""Tags: which members of a group a row is for, as the bits of a long.

A member's bit holds only inside its own offsets and times. These change from run to run, so they come as data: a column
that tells for each row whose it may be. What the members' predicates say is computed in the job.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headgate.spark.compile.schemas import ARRIVAL, CLOSES, result_schema

TAGS = "_tags"
Bits = npt.NDArray[np.int64]


def predicates(texts: Sequence[Sequence[str]], within: str | None = None) -> str:
    """The tags of a row: the members whose predicates all hold, of those that a column allows.

    A member's predicates are not asked about rows that are not its own, on which they may fail. Without a column all
    rows are everyone's: that is a much smaller expression, and what Spark does with an expression takes longer than the
    rows of a small train do.

    >>> predicates([["v > 1"], [], ["v > 1"]], "_in")
    '_in & (CASE WHEN (_in & 5L) != 0 AND (v > 1) THEN 5L ELSE 0L END | 2L)'
    >>> predicates([["v > 1"], []])
    'CASE WHEN (v > 1) THEN 1L ELSE 0L END | 2L'
    """
    alike: dict[tuple[str, ...], int] = {}  # bits by predicates: what several members ask is asked once
    for number, found in enumerate(texts):
        alike[tuple(found)] = alike.get(tuple(found), 0) | 1 << number
    tags = " | ".join(_bits(bits, found, within) for found, bits in alike.items())
    return tags if within is None else f"{within} & ({tags})"


def _bits(bits: int, texts: Sequence[str], within: str | None) -> str:
    if not texts:
        return f"{bits}L"
    own = () if within is None else (f"({within} & {bits}L) != 0",)
    return f"CASE WHEN {' AND '.join((*own, *(f'({text})' for text in texts)))} THEN {bits}L ELSE 0L END"


def pinned(tags: str) -> str:
    """Tags that a filter above does not compute a second time.

    Spark moves a filter below the columns that it reads, and computes them once for the filter and once for the rows
    that pass; what may give another value the second time it leaves where it is.
    """
    return f"({tags}) | (monotonically_increasing_id() & 0L)"


def outputs(texts: Sequence[Sequence[str]], plain: Iterable[str]) -> tuple[list[str], list[list[str]]]:
    """What to select for all members, and for each the columns that are its outputs.

    Equal expressions are computed once, and only for rows that one of their members wants: on others they may fail.

    >>> outputs([["id", "v / w"], ["id"]], ["id", "v", "w"])
    (['id AS _e0', 'CASE WHEN (_tags & 1L) != 0 THEN v / w END AS _e1'], [['_e0', '_e1'], ['_e0']])
    """
    wanted: dict[str, int] = {}  # by expression: the members' bits
    for number, found in enumerate(texts):
        for text in found:
            wanted[text] = wanted.get(text, 0) | 1 << number
    names = {text: f"_e{number}" for number, text in enumerate(wanted)}
    columns = set(plain)
    select = [f"{text if text in columns else _guarded(text, bits)} AS {names[text]}" for text, bits in wanted.items()]
    return select, [[names[text] for text in found] for found in texts]


def _guarded(text: str, bits: int) -> str:
    return f"CASE WHEN ({TAGS} & {bits}L) != 0 THEN {text} END"


def inside(values: Bits, spans: Sequence[tuple[float, float]]) -> Bits:
    """For each value the bits of the spans [low, high) that it lies in.

    >>> inside(np.array([1, 5, 9]), [(0, 6), (5, 10)]).tolist()
    [1, 3, 2]
    """
    bits = np.zeros(len(values), np.int64)
    for number, (low, high) in enumerate(spans):
        bits |= ((values >= low) & (values < high)).astype(np.int64) << number
    return bits


def everyones(bits: Bits, members: int) -> bool:
    """Whether every row is for every member.

    >>> everyones(np.array([3, 3]), 2), everyones(np.array([3, 1]), 2)
    (True, False)
    """
    return bool((bits == (1 << members) - 1).all())


def split(table: pa.Table, columns: Sequence[Sequence[str]], schemas: Sequence[pa.Schema]) -> list[pa.Table]:
    """Each member's rows of a tagged result, in its own columns, with `_arrival` and `_closes` (nulls if not there)."""
    tags = table[TAGS].to_numpy()
    if CLOSES not in table.schema.names:
        table = table.append_column(CLOSES, pa.nulls(table.num_rows, pa.timestamp("us", "UTC")))
    wholes = [result_schema(schema) for schema in schemas]
    hidden = (ARRIVAL, CLOSES)
    return [
        tagged_rows(table, tags, number, (*names, *hidden), whole)
        for number, (names, whole) in enumerate(zip(columns, wholes, strict=True))
    ]


def tagged_rows(table: pa.Table, tags: Bits, number: int, columns: Sequence[str], schema: pa.Schema) -> pa.Table:
    """The rows of one member, some columns under the names and types of a schema."""
    rows = table.filter(pa.array((tags & (1 << number)) != 0))
    arrays = [rows[name].cast(one.type) for name, one in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)
