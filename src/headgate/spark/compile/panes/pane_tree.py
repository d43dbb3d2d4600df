"""Panes by number, and merged panes of 2, 4, 8, … kept for the windows to come.

The node at level n with number i holds the panes from i · 2ⁿ on, 2ⁿ of them. Any stretch of N panes is at most 2 log N
nodes. Example: the panes 3 to 9 are pane 3, the node of 4 to 7 and the node of 8 and 9. As a window slides, nearly all
of its nodes were made for windows before it, and they serve windows of other lengths as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf

import pyarrow as pa

from headgate.model import EventTime

Node = tuple[int, int]  # level and number


@dataclass(slots=True)
class PaneTree:
    """Tables of partial aggregates by pane; `merge` makes one of several."""

    merge: Callable[[pa.Table], pa.Table]
    size: int = 0  # bytes
    _nodes: dict[Node, pa.Table | None] = field(default_factory=dict)
    _first_offsets: dict[int, int] = field(default_factory=dict)  # of the rows in each pane
    _top: int = 0  # the highest level of a node

    @property
    def panes(self) -> list[int]:
        """The numbers of all panes with rows."""
        return list(self._first_offsets)

    def add(self, pane: int, table: pa.Table, first_offset: int) -> None:
        """Add rows to a pane; what was merged with it before is forgotten."""
        former = self._nodes.get((0, pane))
        if former is not None:
            table = self.merge(pa.concat_tables([former, table]))
        self._put((0, pane), table)
        self._first_offsets[pane] = min(first_offset, self._first_offsets.get(pane, first_offset))
        for level in range(1, self._top + 1):
            self._drop((level, pane >> level))

    def cover(self, first: int, end: int) -> list[pa.Table]:
        """Tables that together hold the panes [first, end), each once."""
        return [table for node in cover(first, end) if (table := self._get(*node)) is not None]

    def first_offset(self, first: int, end: int) -> EventTime:
        """The smallest offset of a row in the panes [first, end); infinity if they have none."""
        panes = range(first, end) if end - first < len(self._first_offsets) else self._first_offsets
        return min((self._first_offsets.get(pane, inf) for pane in panes if first <= pane < end), default=inf)

    def drop_before(self, pane: int) -> None:
        """Forget the panes before this one, and all that was merged with them."""
        for level, number in [node for node in self._nodes if node[1] << node[0] < pane]:
            self._drop((level, number))
        for old in [old for old in self._first_offsets if old < pane]:
            del self._first_offsets[old]

    def _get(self, level: int, number: int) -> pa.Table | None:
        node = level, number
        if level and node not in self._nodes:
            halves = [half for half in (self._get(level - 1, 2 * number + n) for n in (0, 1)) if half is not None]
            self._put(node, self.merge(pa.concat_tables(halves)) if len(halves) > 1 else next(iter(halves), None))
            self._top = max(self._top, level)
        return self._nodes.get(node)

    def _put(self, node: Node, table: pa.Table | None) -> None:
        self._drop(node)
        self._nodes[node] = table
        self.size += 0 if table is None else table.nbytes

    def _drop(self, node: Node) -> None:
        table = self._nodes.pop(node, None)
        self.size -= 0 if table is None else table.nbytes


def cover(first: int, end: int) -> Iterator[Node]:
    """The fewest nodes that hold the panes [first, end).

    >>> list(cover(3, 10))
    [(0, 3), (2, 1), (1, 4)]
    """
    while first < end:
        level = min((first & -first).bit_length() - 1 if first else 62, (end - first).bit_length() - 1)
        yield level, first >> level
        first += 1 << level
