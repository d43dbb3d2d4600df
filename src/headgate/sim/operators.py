"""What operators do to tuples in the simulator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections.abc import Callable
from typing import NamedTuple

from headgate.model import Aggregate, Join
from headgate.sim.draws import Outcomes, nothing
from headgate.sim.randomness import mix, uniform


class SimulatedTuple(NamedTuple):
    """A simulated tuple.

    `identity` finds its random numbers. `reference` is when an ideal system would have had to start on it, so that
    slowdown is (emission − reference) / ideal time; for a tuple that is not a composite, its arrival.
    """

    identity: int
    arrival: float
    reference: float


class Effect(ABC):
    """What one operator makes of a tuple on one of its inputs."""

    @abstractmethod
    def results(self, item: SimulatedTuple, port: int) -> list[SimulatedTuple]: ...

    def restorer(self) -> Callable[[], None]:
        """A function that brings back what there is now, as if what comes until then had never come."""
        return nothing


class Filter(Effect):
    """Select, project, split, table join: some number of results per tuple."""

    def __init__(self, outcomes: Outcomes) -> None:
        self.outcomes = outcomes

    def results(self, item: SimulatedTuple, port: int) -> list[SimulatedTuple]:
        copies = self.outcomes.copies(item.identity, item.arrival)
        if copies <= 1:
            return [item] if copies else []
        return [item._replace(identity=mix(item.identity, copy)) for copy in range(copies)]

    def restorer(self) -> Callable[[], None]:
        return self.outcomes.restorer()


class Merge(Effect):
    """Union: every tuple of every input. Offsets of different streams must not be taken for one another."""

    def results(self, item: SimulatedTuple, port: int) -> list[SimulatedTuple]:
        return [item._replace(identity=mix(item.identity, port))]


class Difference(Effect):
    """Except: the right input only takes away."""

    def __init__(self, outcomes: Outcomes) -> None:
        self._outcomes = outcomes

    def results(self, item: SimulatedTuple, port: int) -> list[SimulatedTuple]:
        return [item] if port == 0 and self._outcomes.copies(item.identity, item.arrival) else []

    def restorer(self) -> Callable[[], None]:
        return self._outcomes.restorer()


class WindowAggregate(Effect):
    """Counts tuples per window; a window's results leave with the tuple that closes it.

    Without a selectivity each window gives one result; with one, that share of its tuples, at least one. Results arrive
    with the tuple that closes the window or, if they count `from_end`, at its end: then waiting for that tuple is part
    of their response times.
    """

    def __init__(self, operator: Aggregate, key: int, from_end: bool = False) -> None:
        self._window = operator.window
        self._from_end = from_end
        self.selectivity = operator.given.selectivity
        self._key = key
        self._open: dict[int, int] = {}  # window number ⇒ tuples
        self._next = -1 << 62  # windows before this number are closed: a tuple that is late for one is not counted

    def results(self, item: SimulatedTuple, port: int) -> list[SimulatedTuple]:
        first, last = self._windows(item.arrival)
        closed = [number for number in sorted(self._open) if number < first]
        results = [self._result(number, copy, item) for number in closed for copy in range(self._count(number))]
        for number in closed:
            del self._open[number]
        self._next = max(self._next, first)
        for number in range(self._next, last + 1):
            self._open[number] = self._open.get(number, 0) + 1
        return results

    def restorer(self) -> Callable[[], None]:
        windows, following = dict(self._open), self._next

        def restore() -> None:
            self._open, self._next = windows, following

        return restore

    def _windows(self, moment: float) -> tuple[int, int]:
        """The first and the last window that a moment belongs to; one ends exactly where another begins."""
        slide, panes = self._window.slide, self._window.panes
        last = round(moment / slide)
        while last * slide > moment:
            last -= 1
        whole = round(panes)
        if abs(panes - whole) < 1e-9:
            return last - whole + 1, last
        first = last
        while (first - 1) * slide + self._window.size > moment:
            first -= 1
        return first, last

    def _count(self, number: int) -> int:
        return 1 if self.selectivity is None else max(1, round(self.selectivity * self._open[number]))

    def _result(self, number: int, copy: int, closing: SimulatedTuple) -> SimulatedTuple:
        end = number * self._window.slide + self._window.size
        arrival = min(end, closing.arrival) if self._from_end else closing.arrival
        return SimulatedTuple(mix(self._key, number, copy), arrival, arrival)


class WindowJoin(Effect):
    """A symmetric join over the tuples themselves: every pair inside the window meets once, whoever comes first.

    Each tuple has a uniform number; a pair matches when the right one's lies within `selectivity` beyond the left
    one's, on the circle. So the sides are kept sorted and partners are found without looking at all of them.
    """

    def __init__(self, operator: Join, key: int, selectivity: float, works: tuple[float, float]) -> None:
        self.selectivity = selectivity
        self._join = operator
        self._key = key
        self._works = works  # seconds of processing below each input, this join's included
        self._sides: tuple[list[tuple[float, SimulatedTuple]], list[tuple[float, SimulatedTuple]]] = ([], [])
        self._kept = [64, 64]

    def results(self, item: SimulatedTuple, port: int) -> list[SimulatedTuple]:
        number = uniform(self._key, port, item.identity)
        insort(self._sides[port], (number, item))
        partners = [partner for partner in self._partners(number, port) if self._within(item, partner, port)]
        pairs = [(item, partner) if port == 0 else (partner, item) for partner in partners]
        return [self._composite(left, right) for left, right in pairs]

    def restorer(self) -> Callable[[], None]:
        left, right, kept = list(self._sides[0]), list(self._sides[1]), list(self._kept)

        def restore() -> None:
            self._sides, self._kept = (left, right), kept

        return restore

    def crowded(self, port: int) -> bool:
        """Whether it is time to look for tuples that can have no partner any more."""
        return len(self._sides[port]) > 2 * self._kept[port]

    def expire(self, port: int, earliest: float) -> None:
        """Forget tuples of one side whose partners have all come: those to come arrived at `earliest` or later."""
        reach = -self._join.lower if port == 1 else self._join.upper
        side = [entry for entry in self._sides[port] if entry[1].arrival + reach >= earliest]
        self._sides[port][:] = side
        self._kept[port] = max(64, len(side))

    def _partners(self, number: float, port: int) -> list[SimulatedTuple]:
        """Tuples of the other side that match: an arc of the circle, in one or two pieces."""
        side = self._sides[1 - port]
        if self.selectivity >= 1.0:
            return [item for _, item in side]
        low = number if port == 0 else number - self.selectivity
        high = low + self.selectivity
        arcs = [(low, high)]
        if low < 0.0:
            arcs = [(0.0, high), (low + 1.0, 1.0)]
        elif high > 1.0:
            arcs = [(0.0, high - 1.0), (low, 1.0)]
        cuts = [(bisect_left(side, (start,)), bisect_left(side, (end,))) for start, end in arcs]
        return [item for start, end in cuts for _, item in side[start:end]]

    def _within(self, item: SimulatedTuple, partner: SimulatedTuple, port: int) -> bool:
        apart = partner.arrival - item.arrival if port == 0 else item.arrival - partner.arrival
        return self._join.lower <= apart <= self._join.upper

    def _composite(self, left: SimulatedTuple, right: SimulatedTuple) -> SimulatedTuple:
        """The pair arrives with its later part; waiting for that part is not charged to the system."""
        first, second, work = (
            (left, right, self._works[0]) if left.arrival <= right.arrival else (right, left, self._works[1])
        )
        reference = max(first.reference, second.reference - work)
        return SimulatedTuple(mix(left.identity, right.identity), second.arrival, reference)


class CountedJoin(WindowJoin):
    """A join of windows that are counted: the first so many tuples of both streams, then the next, and so on.

    Tuples are counted where they come in, so that a window holds what filters have left of it.
    """

    def __init__(self, operator: Join, key: int, selectivity: float, works: tuple[float, float]) -> None:
        super().__init__(operator, key, selectivity, works)
        self._tuples = operator.given.tuples
        self._windows: dict[int, tuple[list[tuple[float, SimulatedTuple]], list[tuple[float, SimulatedTuple]]]] = {}

    def results(self, item: SimulatedTuple, port: int) -> list[SimulatedTuple]:
        self._sides = self._windows.setdefault(item.identity // self._tuples, ([], []))
        return super().results(item, port)

    def crowded(self, port: int) -> bool:
        return False  # however late a tuple is, its window is the one that it was counted in

    def restorer(self) -> Callable[[], None]:
        windows = {number: (list(left), list(right)) for number, (left, right) in self._windows.items()}

        def restore() -> None:
            self._windows = windows

        return restore
