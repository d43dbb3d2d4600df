"""What a run must read: for each leaf its offsets and event times, for each aggregate the windows that close.

Results are never updated, so each result must be made exactly once, by whichever run completes it. Let R(n, p) be all
results of a node n when the leaves have read up to position p (the offsets before or after the run). The *entries* of
a plan are its streams, aggregates and excepts with no other aggregate or except above them; the operators above them
are monotone. So the results that a run adds are the union, over the entries with something new, of the plan with

    this entry: what is new;   entries left of it: R at the old position;   entries right of it: R at the new position.

Example: a join of a and b, and a run with new tuples A of a and B of b, after A0 and B0. Its readings are A ⋈ (B0 ∪ B)
and A0 ⋈ B: each new pair once. Of the side that is not new only the event times within the join's bound are read.

An aggregate has as R(n, p) the windows that end by the *frontier* of its input at p: no later input falls into them.
For 10 s windows whose frontier moves from 12 s to 31 s, the windows that end at 20 s and 30 s close, and event times
from 10 s to just before 30 s are read, exactly those, so that tumbling windows need no filter. Late tuples are below
the frontier: aggregates, joins and excepts do not see them; a leaf below none of these reads them like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf

from headgate.model import Aggregate, EventTime, Except, HeadgateError, Join, Operator, Source, Stream, Union
from headgate.plan.places import Place, below_window
from headgate.spark.compile.event_time_columns import END, reference, steps, window_columns, window_of
from headgate.spark.compile.fragment_stream import Ref, event_times
from headgate.spark.compile.leaf_rows import Leaf, Range
from headgate.spark.compile.time_spans import ALWAYS, NEVER, Span, ceiling, first_end, last_end, micros, snapped

Node = Operator | Source
Within = Mapping[Ref, Span]  # asks of a node only rows whose event times lie inside these spans
Lows = Mapping[Ref, EventTime]  # rows whose event times are all at or after these
ANYWHEN: Within = {}
NO_OFFSETS = Range(0, 0)
_FOREVER = 1 << 62


@dataclass(frozen=True, slots=True)
class Extent:
    """Which results of a sub-plan are meant: all at the old or new position, or those caused by one entry's new input.

    With `ever`, entries that are not the cause are not taken at a position but with all that they will ever have.
    """

    new: bool = True
    cause: Place | None = None
    ever: bool = False

    def caused_in(self, place: Place) -> bool:
        """Whether what is new comes from this sub-plan."""
        return self.cause is not None and self.cause[: len(place)] == place

    def is_new(self, place: Place) -> bool:
        """Whether an entry that is not the cause is taken at the new position."""
        return self.ever or (self.new if self.cause is None else place > self.cause)


@dataclass(frozen=True, slots=True)
class Reading:
    """A node and what a run reads of it: of a source offsets and event times, of a window operator the window ends."""

    node: Node
    place: Place
    inputs: tuple[Reading, ...] = ()
    span: Span = ALWAYS  # of window ends
    offsets: Range = NO_OFFSETS
    times: Within = field(default_factory=dict)
    late: bool = False  # a source gives late tuples too
    partner: Partner | None = None  # of a source below a join; see `join_keys`


@dataclass(frozen=True, slots=True)
class Partner:
    """The other stream of a join, and the columns that are equal in every pair: a stream's own and the other's."""

    reading: Reading
    columns: tuple[str, ...]
    other_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Survey:
    """Finds out what one run of a plan reads. `train_span` gives the span of an event time in a leaf's new tuples.

    If the plan is a fragment, `place` is where it stands in the whole query's plan, and `whole` is the survey of that
    plan at the stream offsets behind the rows read so far: so a fragment has exactly the frontiers of the uncut query.
    """

    plan: Operator
    streams: Mapping[str, Stream]
    leaves: Mapping[Place, Leaf]
    train_span: Callable[[Place, Ref], Span]
    whole: Survey | None = None
    place: Place = ()

    def readings(self) -> list[Reading]:
        """One reading of the plan for each entry that has something new."""
        causes = [place for place, node in entries(self.plan) if self._has_news(node, place)]
        readings = (self.reading(self.plan, (), Extent(cause=place), ANYWHEN) for place in causes)
        return [reading for reading in readings if reading is not None]

    def closes(self) -> bool:
        """Whether the run closes a window at an entry."""
        return any(self._has_news(node, place) for place, node in self._windows())

    def closed_windows(self) -> tuple[EventTime, ...]:
        """The last end of a closed window at the new position, for each window operator that is an entry.

        A run closes a window exactly if these differ before and after it.
        """
        return tuple(last_end(node.window, self.closed(node, place, True)) for place, node in self._windows())

    def kept(self) -> dict[Place, list[Lows]]:
        """Which of the tuples before the new position later runs may still read, whatever offsets those runs take.

        A tuple may be read if its event times are at or after all those of one `Lows` in its leaf's list: an empty list
        means none is read, an empty `Lows` any. All later runs are surveyed as one that begins here, never ends, and
        sees all that other entries will ever have: so it asks for no less than each of them.
        """
        kept: dict[Place, list[Lows]] = {place: [] for place in self.leaves}
        ahead = self._ahead()
        for cause, node in entries(self.plan):
            if ahead._has_news(node, cause):
                reading = ahead.reading(self.plan, (), Extent(cause=cause, ever=True), ANYWHEN)
                for leaf in _leaves_of(reading):
                    if leaf.offsets.first < self.leaves[leaf.place].range.last:
                        kept[leaf.place].append({ref: span.low for ref, span in leaf.times.items()})
        return kept

    def reading(self, node: Node, place: Place, extent: Extent, within: Within) -> Reading | None:
        """What a sub-plan reads; None if it certainly gives nothing."""
        if any(span.empty for span in within.values()):
            return None
        if isinstance(node, Source):
            return self._source(node, place, extent, within)
        span = self._ends(node, place, extent, within) if isinstance(node, Aggregate | Except) else ALWAYS
        if span.empty:
            return None
        inputs = [
            self.reading(node.inputs[number], (*place, number), inner, narrowed)
            for number, inner, narrowed in self._inputs(node, place, extent, within, span)
        ]
        return _unless_empty(Reading(node, place, tuple(child for child in inputs if child is not None), span), inputs)

    def frontier(self, node: Node, place: Place, ref: Ref, new: bool) -> EventTime:
        """The frontier of a node in the event time `ref`: no result to come is earlier."""
        if self.whole is not None:
            whole_place = (*self.place, *place)
            return self.whole.frontier(node_at(self.whole.plan, whole_place), whole_place, ref, new)
        if isinstance(node, Source):
            return self.leaves[place].frontier(new) if self._is_time(node, ref) else -inf
        if isinstance(node, Aggregate | Except):
            end = first_end(node.window, self.closed(node, place, new))
            return end if self._names_end(node, ref) else end - micros(node.window.size)
        if isinstance(node, Join):
            return self._join_frontier(node, place, ref, new)
        frontiers = [
            step.above(self.frontier(node.inputs[step.input], (*place, step.input), step.ref, new))
            for step in steps(node, ref, self.streams)
        ]
        return min(frontiers, default=-inf)

    def closed(self, node: Aggregate | Except, place: Place, new: bool) -> EventTime:
        """The event time by which windows are complete: those that end at or before it."""
        if isinstance(node, Aggregate):
            return self.frontier(node.inputs[0], (*place, 0), reference(node.time), new)
        refs, at_end = window_columns(node, self.streams)
        slide, size = micros(node.window.slide), micros(node.window.size)
        moment = min(self.frontier(side, (*place, n), refs[n], new) for n, side in enumerate(node.inputs))
        start = moment - size if at_end else moment
        return ceiling(start, slide) - slide + size

    def span(self, node: Node, place: Place, ref: Ref, extent: Extent, within: Within) -> Span:
        """The values that the event time `ref` can have in the rows of an extent."""
        asked = within.get(ref, ALWAYS)
        if isinstance(node, Source):
            if extent.cause != place or not self._is_time(node, ref):
                return asked
            # The span of a large train is that of whole segments, parts of which earlier runs may have taken.
            return asked.meet(self.train_span(place, ref)).meet(Span(self.frontier(node, place, ref, False)))
        if isinstance(node, Aggregate | Except):
            ends = self._ends(node, place, extent, within)
            size = 0 if self._names_end(node, ref) else -micros(node.window.size)
            return ends.plus(size, size)
        inputs = {number: (inner, narrowed) for number, inner, narrowed in self._inputs(node, place, extent, within)}
        span = NEVER
        for step in steps(node, ref, self.streams):
            if step.input in inputs:
                inner, narrowed = inputs[step.input]
                below = self.span(node.inputs[step.input], (*place, step.input), step.ref, inner, narrowed)
                span = span.hull(step.up(below))
        return asked.meet(span)

    def _ahead(self) -> Survey:
        """The survey of one endless run that takes all that is to come."""
        whole = None if self.whole is None else replace(self.whole, leaves=_endless(self.whole.leaves))
        return replace(self, leaves=_endless(self.leaves), train_span=lambda *_: ALWAYS, whole=whole)

    def _windows(self) -> Iterator[tuple[Place, Aggregate | Except]]:
        for place, node in entries(self.plan):
            if isinstance(node, Aggregate | Except):
                yield place, node

    def _has_news(self, node: Node, place: Place) -> bool:
        if isinstance(node, Source):
            return self.leaves[place].range.first < self.leaves[place].range.last
        assert isinstance(node, Aggregate | Except)
        return not self._ends(node, place, Extent(cause=place), ANYWHEN).empty

    def _source(self, node: Source, place: Place, extent: Extent, within: Within) -> Reading | None:
        leaf = self.leaves[place]
        first, last = leaf.start, leaf.range.last if extent.is_new(place) else leaf.range.first
        if extent.cause == place:
            first, last = leaf.range.first, leaf.range.last
        times = {ref: within[ref] for ref in event_times(self.streams[node.stream]) if ref in within}
        if first >= last:
            return None
        return Reading(node, place, offsets=Range(first, last), times=times, late=not self._below_window(place))

    def _ends(self, node: Aggregate | Except, place: Place, extent: Extent, within: Within) -> Span:
        """From the first to the last end of the windows in an extent."""
        if extent.cause == place:
            old, new = (self.closed(node, place, new) for new in (False, True))
            ends = Span(first_end(node.window, old), new) if old < new else NEVER
        else:
            ends = ALWAYS if extent.ever else Span(-inf, self.closed(node, place, extent.is_new(place)))
        for ref, span in within.items():
            size = 0 if self._names_end(node, ref) else micros(node.window.size)
            ends = ends.meet(span.plus(size, size))
        return ends if ends.empty else snapped(node.window, ends)

    def _names_end(self, node: Aggregate | Except, ref: Ref) -> bool:
        if isinstance(node, Aggregate):
            return ref == END
        window = window_of(node, ref, self.streams)
        return window is not None and window[1]

    def _inputs(
        self, node: Operator, place: Place, extent: Extent, within: Within, ends: Span | None = None
    ) -> Iterator[tuple[int, Extent, Within]]:
        """Each input that is read, which extent of it, and inside which event times."""
        if isinstance(node, Aggregate | Except):
            yield from self._below_windows(node, place, extent, ends or ALWAYS)
            return
        asked = [self._down(node, number, within) for number in range(len(node.inputs))]
        if isinstance(node, Join):
            asked = self._joined(node, place, extent, asked)
        only = isinstance(node, Union) and extent.caused_in(place)
        for number, narrowed in enumerate(asked):
            if not only or extent.caused_in((*place, number)):
                yield number, extent, narrowed

    def _below_windows(
        self, node: Aggregate | Except, place: Place, extent: Extent, ends: Span
    ) -> Iterator[tuple[int, Extent, Within]]:
        inner = Extent(new=extent.cause == place or extent.is_new(place), ever=extent.ever)
        size = micros(node.window.size)
        if isinstance(node, Aggregate):
            yield 0, inner, {reference(node.time): Span(ends.low - size, ends.high - 1)}
            return
        refs, at_end = window_columns(node, self.streams)
        span = ends if at_end else ends.plus(-size, -size)
        for number, ref in enumerate(refs):
            yield number, inner, {ref: span}

    def _joined(self, node: Join, place: Place, extent: Extent, asked: list[Within]) -> list[Within]:
        """What is asked of a join's sides, each narrowed to what the other's event times can reach."""
        times = reference(node.left_time)[bool(node.left) :], reference(node.right_time)[1:]
        low, high = micros(node.lower), micros(node.upper)
        left, right = (self.span(node.inputs[n], (*place, n), times[n], extent, asked[n]) for n in (0, 1))
        return [_and(asked[0], times[0], right.plus(-high, -low)), _and(asked[1], times[1], left.plus(low, high))]

    def _join_frontier(self, node: Join, place: Place, ref: Ref, new: bool) -> EventTime:
        """A result to come has a new row on one side, and its partner may be as old as the join's bound allows.

        The partner is any row that there will ever be: a frontier must depend on its position alone, or the next run
        would not begin where this one ends.
        """
        times = reference(node.left_time)[bool(node.left) :], reference(node.right_time)[1:]
        (step,) = steps(node, ref, self.streams) or (None,)
        if step is None:
            return -inf
        side, other = step.input, 1 - step.input
        own_frontier = self.frontier(node.inputs[side], (*place, side), step.ref, new)
        other_frontier = self.frontier(node.inputs[other], (*place, other), times[other], new)
        partner = Span(other_frontier + (micros(node.lower) if side == 1 else -micros(node.upper)))
        reached = self.span(node.inputs[side], (*place, side), step.ref, Extent(ever=True), {times[side]: partner})
        return min(own_frontier, reached.low)

    def _down(self, node: Operator, number: int, within: Within) -> Within:
        asked: Within = {}
        for ref, span in within.items():
            for step in steps(node, ref, self.streams):
                if step.input == number:
                    asked = _and(asked, step.ref, step.down(span))
        return asked

    def _below_window(self, place: Place) -> bool:
        """Whether the query has a window operator above a leaf, which must then leave out late tuples."""
        if self.whole is not None:
            return self.whole._below_window((*self.place, *place))
        return below_window(self.plan, place)

    def _is_time(self, node: Source, ref: Ref) -> bool:
        return ref in event_times(self.streams[node.stream])


def entries(node: Node, place: Place = ()) -> Iterator[tuple[Place, Node]]:
    """Streams, aggregates and excepts that have no other aggregate or except above them, left to right."""
    if isinstance(node, Source | Aggregate | Except):
        yield place, node
        return
    for number, child in enumerate(node.inputs):
        yield from entries(child, (*place, number))


def node_at(plan: Node, place: Place) -> Node:
    """The operator or stream at a place of a plan."""
    for number in place:
        assert isinstance(plan, Operator)
        plan = plan.inputs[number]
    return plan


def sources(node: Node, place: Place = ()) -> Iterator[tuple[Place, Source]]:
    """All leaves of a plan with their places, left to right."""
    if isinstance(node, Source):
        yield place, node
        return
    for number, child in enumerate(node.inputs):
        yield from sources(child, (*place, number))


def _endless(leaves: Mapping[Place, Leaf]) -> dict[Place, Leaf]:
    """Leaves of a run that begins where these end, and takes all that will ever come."""
    return {
        place: replace(leaf, range=Range(leaf.range.last, _FOREVER), frontier_old=leaf.frontier_new, frontier_new=inf)
        for place, leaf in leaves.items()
    }


def _leaves_of(reading: Reading | None) -> Iterator[Reading]:
    if reading is None:
        return
    if isinstance(reading.node, Source):
        yield reading
    for input_reading in reading.inputs:
        yield from _leaves_of(input_reading)


def _unless_empty(reading: Reading, inputs: list[Reading | None]) -> Reading | None:
    """A reading, or None where inputs without rows leave it none: a join needs both sides, an except the left one."""
    by_kind = {Union: any(inputs), Except: bool(inputs) and inputs[0] is not None}
    return reading if by_kind.get(type(reading.node), all(inputs)) else None


def _and(within: Within, ref: Ref, span: Span) -> Within:
    return {**within, ref: within.get(ref, ALWAYS).meet(span)}


def check_leaves(plan: Operator, leaves: Mapping[Place, Leaf]) -> None:
    """Raise an error if a run leaves out one of the plan's leaves."""
    for place, source in sources(plan):
        if place not in leaves or leaves[place].stream != source.stream:
            raise HeadgateError(
                f"the run says nothing of leaf {place}, stream '{source.stream}'", hint="give its range"
            )
