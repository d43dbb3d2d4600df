"""What a run must read: for each leaf its offsets and event times, for each aggregate the windows that close.

Let R(n, c) be all results of a node n when the leaves stand at cut c (the offsets before or after the run). Above
aggregates and excepts, plans are monotone, so the results that a run adds are the union, over those *entries* (streams,
aggregates, excepts) that have something new, of the plan with

    this entry: what is new;   entries left of it: R at the old cut;   entries right of it: R at the new cut.

An aggregate has as R(n, c) the windows that end by the *frontier* of its input at c: no later input falls into them.
So each result is made exactly once, however the runs are cut. Joins bound the event times of both sides, windows those
of their rows: both narrow what is read, and a span that is asked for is read exactly, so that tumbling windows need no
filter. Late tuples are below the frontier, so for an aggregate, a join or an except they do not exist; a leaf that is
below none of these takes them as it takes any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf

from headgate.model import Aggregate, EventTime, Except, HeadgateError, Join, Operator, Source, Stream, Union
from headgate.plan.sharing import Place, below_window
from headgate.spark.compile.event_times import END, reference, steps, window_columns, window_of
from headgate.spark.compile.fragment_stream import Ref, event_times
from headgate.spark.compile.leaf_rows import Leaf, Range
from headgate.spark.compile.time_spans import (
    ALWAYS,
    NEVER,
    Span,
    ceiling,
    first_end,
    last_end,
    micros,
    snapped,
)

Node = Operator | Source
Within = Mapping[Ref, Span]  # what is asked of a node's rows: event times inside these spans
Lows = Mapping[Ref, EventTime]  # event times at or after these
ANYWHEN: Within = {}
NO_OFFSETS = Range(0, 0)
_FOREVER = 1 << 62


@dataclass(frozen=True, slots=True)
class Slice:
    """Which results of a sub-plan are meant: all at the new or old cut, or those caused by one entry's news.

    With `ever` entries that are not the cause are not taken at a cut but with all that they will ever have.
    """

    new: bool = True
    cause: Place | None = None
    ever: bool = False

    def caused_in(self, place: Place) -> bool:
        """Whether the news come from this sub-plan."""
        return self.cause is not None and self.cause[: len(place)] == place

    def is_new(self, place: Place) -> bool:
        """Whether an entry that is not the cause is taken at the new cut."""
        return self.ever or (self.new if self.cause is None else place > self.cause)


@dataclass(frozen=True, slots=True)
class Reading:
    """A node with what it takes: a source its offsets and event times, a window operator the `span` of window ends."""

    node: Node
    place: Place
    inputs: tuple[Reading, ...] = ()
    span: Span = ALWAYS
    offsets: Range = NO_OFFSETS
    times: Within = field(default_factory=dict)
    late: bool = False  # of a source: late tuples too


@dataclass(frozen=True, slots=True)
class Survey:
    """Finds out what one run of a plan reads. `train` tells the span of an event time in a leaf's new tuples.

    Where the plan is a piece of a query, found at `place` of its plan, `whole` is the survey of that plan at the cut
    that the rows read so far stand for: a piece's frontiers are then exactly those of the query in one piece.
    """

    plan: Operator
    streams: Mapping[str, Stream]
    leaves: Mapping[Place, Leaf]
    train: Callable[[Place, Ref], Span]
    whole: Survey | None = None
    place: Place = ()

    def readings(self) -> list[Reading]:
        """One reading of the plan for each entry with news."""
        causes = [place for place, node in entries(self.plan) if self._has_news(node, place)]
        made = (self.reading(self.plan, (), Slice(cause=place), ANYWHEN) for place in causes)
        return [one for one in made if one is not None]

    def closes(self) -> bool:
        """Whether a window closes whose results are new."""
        return any(self._has_news(node, place) for place, node in self._windows())

    def closed_windows(self) -> tuple[EventTime, ...]:
        """The last end of a closed window at the new cut, for each operator whose results have windows.

        A run closes a window exactly if these differ before and after it.
        """
        return tuple(last_end(node.window, self.closed(node, place, True)) for place, node in self._windows())

    def kept(self) -> dict[Place, list[Lows]]:
        """Which of the tuples that each leaf has at the new cut runs to come may still read, however they are cut.

        A tuple may be read if its event times are at or after all those of one entry: with no entry none is, with an
        empty one any. What is to come is surveyed as runs are: as one that begins here, never ends, and finds all that
        other entries will ever have. So it asks for no less than any of those that it stands for.
        """
        found: dict[Place, list[Lows]] = {place: [] for place in self.leaves}
        ahead = self._ahead()
        for cause, node in entries(self.plan):
            if ahead._has_news(node, cause):
                reading = ahead.reading(self.plan, (), Slice(cause=cause, ever=True), ANYWHEN)
                for leaf in _leaves_of(reading):
                    if leaf.offsets.first < self.leaves[leaf.place].range.last:
                        found[leaf.place].append({ref: span.low for ref, span in leaf.times.items()})
        return found

    def reading(self, node: Node, place: Place, part: Slice, within: Within) -> Reading | None:
        """What a sub-plan reads, None if that is certainly nothing."""
        if any(span.empty for span in within.values()):
            return None
        if isinstance(node, Source):
            return self._source(node, place, part, within)
        span = self._ends(node, place, part, within) if isinstance(node, Aggregate | Except) else ALWAYS
        if span.empty:
            return None
        made = [
            self.reading(node.inputs[number], (*place, number), inner, narrowed)
            for number, inner, narrowed in self._inputs(node, place, part, within, span)
        ]
        return self._whole(Reading(node, place, tuple(one for one in made if one is not None), span), made)

    def frontier(self, node: Node, place: Place, ref: Ref, new: bool) -> EventTime:
        """A moment that no result to come is earlier than, in the event time that `ref` names."""
        if self.whole is not None:
            there = (*self.place, *place)
            return self.whole.frontier(node_at(self.whole.plan, there), there, ref, new)
        if isinstance(node, Source):
            return self.leaves[place].frontier(new) if self._is_time(node, ref) else -inf
        if isinstance(node, Aggregate | Except):
            end = first_end(node.window, self.closed(node, place, new))
            return end if self._names_end(node, ref) else end - micros(node.window.size)
        if isinstance(node, Join):
            return self._join_frontier(node, place, ref, new)
        found = [
            step.above(self.frontier(node.inputs[step.input], (*place, step.input), step.ref, new))
            for step in steps(node, ref, self.streams)
        ]
        return min(found, default=-inf)

    def closed(self, node: Aggregate | Except, place: Place, new: bool) -> EventTime:
        """Windows that end by this moment are complete."""
        if isinstance(node, Aggregate):
            return self.frontier(node.inputs[0], (*place, 0), reference(node.time), new)
        refs, at_end = window_columns(node, self.streams)
        slide, size = micros(node.window.slide), micros(node.window.size)
        moment = min(self.frontier(side, (*place, n), refs[n], new) for n, side in enumerate(node.inputs))
        start = moment - size if at_end else moment
        return ceiling(start, slide) - slide + size

    def span(self, node: Node, place: Place, ref: Ref, part: Slice, within: Within) -> Span:
        """The event times that `ref` can have in the rows of a part."""
        asked = within.get(ref, ALWAYS)
        if isinstance(node, Source):
            if part.cause != place or not self._is_time(node, ref):
                return asked
            # What is known of a large train is that of whole segments: some of it may have been taken before.
            return asked.meet(self.train(place, ref)).meet(Span(self.frontier(node, place, ref, False)))
        if isinstance(node, Aggregate | Except):
            ends = self._ends(node, place, part, within)
            size = 0 if self._names_end(node, ref) else -micros(node.window.size)
            return ends.plus(size, size)
        inputs = {number: (inner, narrowed) for number, inner, narrowed in self._inputs(node, place, part, within)}
        found = NEVER
        for step in steps(node, ref, self.streams):
            if step.input in inputs:
                inner, narrowed = inputs[step.input]
                below = self.span(node.inputs[step.input], (*place, step.input), step.ref, inner, narrowed)
                found = found.hull(step.up(below))
        return asked.meet(found)

    def _ahead(self) -> Survey:
        """The survey of all that is to come."""
        whole = None if self.whole is None else replace(self.whole, leaves=_endless(self.whole.leaves))
        return replace(self, leaves=_endless(self.leaves), train=lambda *_: ALWAYS, whole=whole)

    def _windows(self) -> Iterator[tuple[Place, Aggregate | Except]]:
        for place, node in entries(self.plan):
            if isinstance(node, Aggregate | Except):
                yield place, node

    def _has_news(self, node: Node, place: Place) -> bool:
        if isinstance(node, Source):
            return self.leaves[place].range.first < self.leaves[place].range.last
        assert isinstance(node, Aggregate | Except)
        return not self._ends(node, place, Slice(cause=place), ANYWHEN).empty

    def _source(self, node: Source, place: Place, part: Slice, within: Within) -> Reading | None:
        leaf = self.leaves[place]
        first, last = leaf.start, leaf.range.last if part.is_new(place) else leaf.range.first
        if part.cause == place:
            first, last = leaf.range.first, leaf.range.last
        times = {ref: within[ref] for ref in event_times(self.streams[node.stream]) if ref in within}
        if first >= last:
            return None
        return Reading(node, place, offsets=Range(first, last), times=times, late=not self._below_window(place))

    def _whole(self, reading: Reading, made: list[Reading | None]) -> Reading | None:
        """Without rows on one side a join has none; an except needs rows on its left, a union on any side."""
        needed = {Union: any(made), Except: bool(made) and made[0] is not None}.get(type(reading.node), all(made))
        return reading if needed else None

    def _ends(self, node: Aggregate | Except, place: Place, part: Slice, within: Within) -> Span:
        """The first and the last end of the windows that a part takes."""
        if part.cause == place:
            old, new = (self.closed(node, place, cut) for cut in (False, True))
            ends = Span(first_end(node.window, old), new) if old < new else NEVER
        else:
            ends = ALWAYS if part.ever else Span(-inf, self.closed(node, place, part.is_new(place)))
        for ref, span in within.items():
            size = 0 if self._names_end(node, ref) else micros(node.window.size)
            ends = ends.meet(span.plus(size, size))
        return ends if ends.empty else snapped(node.window, ends)

    def _names_end(self, node: Aggregate | Except, ref: Ref) -> bool:
        if isinstance(node, Aggregate):
            return ref == END
        found = window_of(node, ref, self.streams)
        return found is not None and found[1]

    def _inputs(
        self, node: Operator, place: Place, part: Slice, within: Within, ends: Span | None = None
    ) -> Iterator[tuple[int, Slice, Within]]:
        """Each input that is read, which part of it, and what is asked of it."""
        if isinstance(node, Aggregate | Except):
            yield from self._below_windows(node, place, part, ends or ALWAYS)
            return
        asked = [self._down(node, number, within) for number in range(len(node.inputs))]
        if isinstance(node, Join):
            asked = self._joined(node, place, part, asked)
        only = isinstance(node, Union) and part.caused_in(place)
        for number, narrowed in enumerate(asked):
            if not only or part.caused_in((*place, number)):
                yield number, part, narrowed

    def _below_windows(
        self, node: Aggregate | Except, place: Place, part: Slice, ends: Span
    ) -> Iterator[tuple[int, Slice, Within]]:
        inner = Slice(new=part.cause == place or part.is_new(place), ever=part.ever)
        size = micros(node.window.size)
        if isinstance(node, Aggregate):
            yield 0, inner, {reference(node.time): Span(ends.low - size, ends.high - 1)}
            return
        refs, at_end = window_columns(node, self.streams)
        wanted = ends if at_end else ends.plus(-size, -size)
        for number, ref in enumerate(refs):
            yield number, inner, {ref: wanted}

    def _joined(self, node: Join, place: Place, part: Slice, asked: list[Within]) -> list[Within]:
        """What is asked of a join's sides, each narrowed to the reach of the other."""
        times = reference(node.left_time)[bool(node.left) :], reference(node.right_time)[1:]
        low, high = micros(node.lower), micros(node.upper)
        left, right = (self.span(node.inputs[n], (*place, n), times[n], part, asked[n]) for n in (0, 1))
        return [_and(asked[0], times[0], right.plus(-high, -low)), _and(asked[1], times[1], left.plus(low, high))]

    def _join_frontier(self, node: Join, place: Place, ref: Ref, new: bool) -> EventTime:
        """Results to come have a new row on either side, and its partner may be as old as the bound allows.

        Whichever row the partner is, of those that there will ever be: a frontier depends on its own cut alone, or the
        next run would begin elsewhere than this one ends.
        """
        times = reference(node.left_time)[bool(node.left) :], reference(node.right_time)[1:]
        (step,) = steps(node, ref, self.streams) or (None,)
        if step is None:
            return -inf
        mine, other = step.input, 1 - step.input
        own = self.frontier(node.inputs[mine], (*place, mine), step.ref, new)
        theirs = self.frontier(node.inputs[other], (*place, other), times[other], new)
        partner = Span(theirs + (micros(node.lower) if mine == 1 else -micros(node.upper)))
        reached = self.span(node.inputs[mine], (*place, mine), step.ref, Slice(ever=True), {times[mine]: partner})
        return min(own, reached.low)

    def _down(self, node: Operator, number: int, within: Within) -> Within:
        asked: Within = {}
        for ref, span in within.items():
            for step in steps(node, ref, self.streams):
                if step.input == number:
                    asked = _and(asked, step.ref, step.down(span))
        return asked

    def _below_window(self, place: Place) -> bool:
        """Whether windows of the query hold a leaf's tuples: those that come too late for them are passed over."""
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
    """The operator or stream at a place."""
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
    for one in reading.inputs:
        yield from _leaves_of(one)


def _and(within: Within, ref: Ref, span: Span) -> Within:
    return {**within, ref: within.get(ref, ALWAYS).meet(span)}


def check_leaves(plan: Operator, leaves: Mapping[Place, Leaf]) -> None:
    """Refuse a run that leaves out one of the plan's leaves."""
    for place, source in sources(plan):
        if place not in leaves or leaves[place].stream != source.stream:
            raise HeadgateError(
                f"the run says nothing of leaf {place}, stream '{source.stream}'", hint="give its range"
            )
