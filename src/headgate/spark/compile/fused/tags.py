"""Tags: which members of a group a row is for, as the bits of a long in the column `_tags`.

Bit n stands for member n of the group. A member's bit may be set only in rows inside its own offsets and event times.
These change from run to run, so they come as data: a column of the input (`_in`) that has the bits of the members which
take the row at all. What the members' predicates say is computed in the job.

Example: of two members, the first wants `v > 1`, the second all rows, but takes offsets from 1 on only.

    offset  v   _in   _tags
    0       5   0b01  0b01
    1       5   0b11  0b11
    2       0   0b11  0b10
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

TAGS = "_tags"
IN = "_in"  # the members that take a row, by its offset and event time
WORD = 60  # members whose bits are in one long
NEW, OLD = "_new", "_old"  # of a row that is joined: the members that take it now, and those that took it before
MEMBER, BIT = "_member", "_bit"  # the number of the member that a row is for, and its bit
Bits = npt.NDArray[np.int64]


def tag_expression(predicates: Sequence[Sequence[str]], within: str | None = None) -> str:
    """The tags of a row as SQL: the members whose predicates all hold, of those in the column `within`.

    A member's predicates are not computed for rows that it does not take, on which they may fail. Without a column
    every member takes every row: that is a much smaller expression, and Spark needs more time to compile an expression
    than for the rows of a small train.

    >>> tag_expression([["v > 1"], [], ["v > 1"]], "_in")
    '_in & (CASE WHEN (_in & 5L) != 0 AND (v > 1) THEN 5L ELSE 0L END | 2L)'
    >>> tag_expression([["v > 1"], []])
    'CASE WHEN (v > 1) THEN 1L ELSE 0L END | 2L'
    """
    tags = " | ".join(_bits(bits, texts, within) for texts, bits in bits_by_predicates(predicates).items())
    return tags if within is None else f"{within} & ({tags})"


def bits_by_predicates(predicates: Sequence[Sequence[str]]) -> dict[tuple[str, ...], int]:
    """The bits of the members with equal predicates, so that these are computed once.

    >>> bits_by_predicates([["v > 1"], [], ["v > 1"]])
    {('v > 1',): 5, (): 2}
    """
    bits: dict[tuple[str, ...], int] = {}
    for number, texts in enumerate(predicates):
        bits[tuple(texts)] = bits.get(tuple(texts), 0) | 1 << number
    return bits


def bits_by_output(outputs: Sequence[Sequence[str]]) -> dict[str, int]:
    """The bits of the members that want an expression, so that equal ones are computed once.

    >>> bits_by_output([["id", "v / w"], ["id"]])
    {'id': 3, 'v / w': 1}
    """
    bits: dict[str, int] = {}
    for number, texts in enumerate(outputs):
        for text in texts:
            bits[text] = bits.get(text, 0) | 1 << number
    return bits


def _bits(bits: int, texts: Sequence[str], within: str | None) -> str:
    if not texts:
        return f"{bits}L"
    own = () if within is None else (f"({within} & {bits}L) != 0",)
    return f"CASE WHEN {' AND '.join((*own, *(f'({text})' for text in texts)))} THEN {bits}L ELSE 0L END"


def pinned(tags: str) -> str:
    """Tags marked as nondeterministic, so that Spark does not push the filter above below them.

    Otherwise it would compute them twice: once for the filter and once for the rows that pass.
    """
    return f"({tags}) | (monotonically_increasing_id() & 0L)"


def select_outputs(
    outputs: Sequence[Sequence[str]], plain: Iterable[str], wanted: Callable[[Sequence[int]], str] | None = None
) -> tuple[list[str], list[list[str]]]:
    """What to select for all members, and for each member the names of its columns in that selection.

    Equal expressions are computed once, and only for rows that one of their members wants: on others they may fail.
    Those in `plain` are columns as they are, which cannot fail. `wanted` says as SQL whether one of some members wants
    a row; by default their bits in `_tags` do.

    >>> select_outputs([["id", "v / w"], ["id"]], ["id", "v", "w"])
    (['id AS _e0', 'CASE WHEN (_tags & 1L) != 0 THEN v / w END AS _e1'], [['_e0', '_e1'], ['_e0']])
    """
    members_of: dict[str, list[int]] = {}
    for member, texts in enumerate(outputs):
        for text in texts:
            members_of.setdefault(text, []).append(member)
    names = {text: f"_e{number}" for number, text in enumerate(members_of)}
    columns, test = set(plain), wanted or _in_tags
    select = [
        f"{text if text in columns else f'CASE WHEN {test(members)} THEN {text} END'} AS {names[text]}"
        for text, members in members_of.items()
    ]
    return select, [[names[text] for text in texts] for texts in outputs]


def _in_tags(members: Sequence[int]) -> str:
    return f"({TAGS} & {sum(1 << member for member in set(members))}L) != 0"


def span_bits(values: Bits, spans: Sequence[tuple[float, float]]) -> Bits:
    """For each value the bits of the spans [low, high) that it lies in.

    >>> span_bits(np.array([1, 5, 9]), [(0, 6), (5, 10)]).tolist()
    [1, 3, 2]
    """
    bits = np.zeros(len(values), np.int64)
    for number, (low, high) in enumerate(spans):
        bits |= ((values >= low) & (values < high)).astype(np.int64) << number
    return bits


def in_any(values: Bits, spans: Iterable[tuple[float, float]]) -> npt.NDArray[np.bool_]:
    """For each value whether one of the spans [low, high) holds it.

    >>> in_any(np.array([1, 5, 9]), [(0, 2), (5, 6), (5, 6)]).tolist()
    [True, True, False]
    """
    found = np.zeros(len(values), bool)
    for low, high in dict.fromkeys(spans):
        found |= (values >= low) & (values < high)
    return found


def all_for_everyone(bits: Bits, members: int) -> bool:
    """Whether every row is for every member.

    >>> all_for_everyone(np.array([3, 3]), 2), all_for_everyone(np.array([3, 1]), 2)
    (True, False)
    """
    return bool((bits == (1 << members) - 1).all())


def with_takers(rows: pa.Table, bits: Bits, members: int, column: str = IN) -> tuple[pa.Table, str | None]:
    """Rows with the members that take them in a column, and its name; without it if everyone takes every row."""
    if all_for_everyone(bits, members):
        return rows, None
    return rows.append_column(column, pa.array(bits)), column
