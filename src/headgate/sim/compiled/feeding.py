"""Arrivals and outcomes, block after block: only those that may still be needed are held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from headgate.sim.compiled.layout import Layout, Row
from headgate.sim.compiled.memory import Memory
from headgate.sim.compiled.needed import least_needed
from headgate.sim.compiled.tables import DELIVERY, Array
from headgate.sim.deliveries import DeliveryBlock
from headgate.sim.randomness import generator
from headgate.workload import Workload

_BYTES = 1 << 21  # outcomes of a block: so many stay in a cache


class _Window:
    """The tuples of one stream that are held: offsets from `base` to `behind`."""

    def __init__(self, rows: Sequence[Row], room: int) -> None:
        self.rows = rows
        self.base = self.behind = 0
        self.times = np.empty(room)
        self.outcomes = np.empty((len(rows), room), dtype=np.uint8)

    def drop_before(self, offset: int) -> None:
        held = self.behind - offset
        begins = offset - self.base
        self.times[:held] = self.times[begins : begins + held].copy()
        self.outcomes[:, :held] = self.outcomes[:, begins : begins + held].copy()
        self.base = offset

    def make_room(self, more: int) -> None:
        needed = self.behind - self.base + more
        if needed > len(self.times):
            grown = 2 * needed
            self.times = np.concatenate([self.times, np.empty(grown - len(self.times))])
            wider = np.empty((len(self.rows), grown), dtype=np.uint8)
            wider[:, : self.outcomes.shape[1]] = self.outcomes
            self.outcomes = wider


class Feed:
    """Gives compiled code the next deliveries, with the arrival times and outcomes of their tuples."""

    def __init__(self, workload: Workload, layout: Layout, blocks: Iterator[DeliveryBlock]) -> None:
        self._blocks = blocks
        self._rows = layout.rows
        self._streams = list(layout.network.streams)
        self._draws = _Draws(workload.seed, layout.rows)
        by_stream = [[row for row in layout.rows if row.stream == name] for name in self._streams]
        self._windows = [_Window(rows, 1024) for rows in by_stream]
        self.arrived = dict.fromkeys(self._streams, 0)

    def fill(self, memory: Memory) -> None:
        """Put the next block in the place of the last one."""
        block = next(self._blocks, None)
        state = memory.state[0]
        state["delivery"] = 0
        if block is None:
            state["deliveries"], state["complete"] = 0, True
            return
        for number, window in enumerate(self._windows):
            moments = block.times.get(self._streams[number])
            if moments is not None and len(moments):
                self._extend(window, least_needed(memory.world, number), moments)
                self.arrived[self._streams[number]] += len(moments)
        state["deliveries"], state["complete"] = len(block.at), block.last
        deliveries = np.zeros(max(1, len(block.at)), DELIVERY)
        deliveries["at"], deliveries["stream"] = block.at, block.stream
        deliveries["tuples"], deliveries["floor"] = block.tuples, block.floor
        memory.put(deliveries=deliveries)
        self._place(memory)

    def exhaust(self) -> None:
        """Count what the simulation has not waited for: tuples that are read only after its end."""
        for block in self._blocks:
            for name, moments in block.times.items():
                self.arrived[name] += len(moments)

    def _extend(self, window: _Window, needed: int, moments: Array) -> None:
        window.drop_before(min(needed, window.behind))
        window.make_room(len(moments))
        begins = window.behind - window.base
        window.times[begins : begins + len(moments)] = moments
        for place, row in enumerate(window.rows):
            self._draws.fill(row, window.behind, window.outcomes[place, begins : begins + len(moments)])
        window.behind += len(moments)
        self._draws.forget()

    def _place(self, memory: Memory) -> None:
        """All windows one behind the other, and where each record finds its own."""
        time_at = outcome_at = 0
        for number, window in enumerate(self._windows):
            room = len(window.times)
            memory.streams[number]["times_at"] = time_at - window.base
            for place, row in enumerate(window.rows):
                row.table[row.place]["outcomes_at"] = outcome_at + place * room - window.base
            time_at += room
            outcome_at += len(window.rows) * room
        memory.put(
            times=joined([window.times for window in self._windows]),
            outcomes=joined([window.outcomes.reshape(-1) for window in self._windows]),
        )


def joined(parts: Sequence[Array]) -> Array:
    """Arrays one behind the other; a single one as it is."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class _Draws:
    """Draws what becomes of tuples, the same as `headgate.sim.draws.Drawn`: from where the last block ended."""

    def __init__(self, seed: int, rows: Sequence[Row]) -> None:
        self._seed = seed
        self._generators: dict[tuple[object, ...], np.random.Generator] = {}
        drawings = [drawing for row in rows for drawing in row.drawings if drawing is not None]
        uses = Counter(drawing.purpose for drawing in drawings)
        self._shared = {purpose for purpose, count in uses.items() if count > 1}
        self._drawn: dict[tuple[object, ...], Array] = {}

    def fill(self, row: Row, offset: int, into: Array) -> None:
        """The outcomes of the tuples from an offset on."""
        if not row.is_chain:
            (drawing,) = row.drawings
            assert drawing is not None
            self._copies(drawing.purpose, drawing.timeline[0][1], into)
            return
        still = None
        into[:] = 0
        for drawing in row.drawings:
            if drawing is not None:
                passes = np.empty(len(into), dtype=np.uint8)
                self._copies(drawing.purpose, drawing.timeline[0][1], passes)
                still = passes if still is None else still & passes
            into += 1 if still is None else still

    def forget(self) -> None:
        """The block is drawn: what several filters have in common will not be asked for again."""
        self._drawn.clear()

    def _copies(self, purpose: tuple[str | int, ...], selectivity: float, into: Array) -> None:
        whole = np.floor(selectivity)
        np.less(self._numbers(purpose, len(into)), selectivity - whole, out=into.view(np.bool_))
        if whole:
            into += np.uint8(whole)

    def _numbers(self, purpose: tuple[str | int, ...], count: int) -> Array:
        if purpose in self._drawn:
            return self._drawn[purpose]
        if purpose not in self._generators:
            self._generators[purpose] = generator(self._seed, *purpose)
        numbers = self._generators[purpose].random(count)
        if purpose in self._shared:
            self._drawn[purpose] = numbers
        return numbers


def block_size(rows: int) -> int:
    """How many tuples to draw at a time."""
    return min(1 << 16, max(256, _BYTES // max(1, rows)))
