"""The windows that close for the queries of a group, made of panes.

One job folds the rows of the train into the panes; merging them is done here, on the driver. Where all that queries
select of a window are its bounds, its keys and aggregates, that is all. Otherwise a second small job over the windows
computes expressions and HAVING.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate import logs as log_lines
from headgate.model import Aggregate, EventTime, Window
from headgate.spark.compile.event_time_columns import END, START
from headgate.spark.compile.fused.aggregates import NOTHING, FusedAggregates, MemberReads, reads_of
from headgate.spark.compile.fused.input_rows import ship_rows
from headgate.spark.compile.fused.membership import Numbers, Pairs, hand_out
from headgate.spark.compile.fused.tags import MEMBER
from headgate.spark.compile.leaf_rows import Leaf, Leaves, Logs, check_kept
from headgate.spark.compile.panes.functions import Call, Function, UnfitError, comparable, function, pane_width, parse
from headgate.spark.compile.panes.merging import column_names
from headgate.spark.compile.panes.pane_set import LATEST, WINDOW_END, Contents, Need, PaneSet
from headgate.spark.compile.panes.pane_sets import PaneSets
from headgate.spark.compile.quick_frames import collect, ship
from headgate.spark.compile.schemas import ARRIVAL, CLOSES, arrow_schema
from headgate.spark.compile.time_spans import first_end, in_long, micros
from headgate.spark.jvm.errors import SPARK_ERRORS, may_be_of_values, one_line

_log = log_lines.logger("engine")
_MOMENT = pa.timestamp("us", "UTC")


@dataclass(frozen=True, slots=True)
class PanedAggregates:
    """A group of aggregates with equal window and keys whose functions can be made of panes."""

    group: FusedAggregates
    sets: PaneSets
    window: Window
    contents: Contents
    functions: tuple[Function, ...]  # in the order of the group's functions
    outputs: tuple[tuple[str, ...] | None, ...]  # each member's columns of a window; None: it computes something

    @classmethod
    def of(cls, group: FusedAggregates, sets: PaneSets) -> PanedAggregates | None:
        """The group over panes, or None where only Spark can compute one of its functions, or panes are too short."""
        core = group.core
        width = pane_width(core.window)
        calls = [parse(column.text) for column in group.functions]
        if width is None or any(call is None for call in calls):
            return None
        functions = _functions(group, core, [call for call in calls if call is not None])
        if functions is None:
            return None
        filters = tuple(dict.fromkeys(group.predicates))
        partials = dict.fromkeys([LATEST, *(partial for made in functions for partial in made.partials)])
        keys = tuple(key.expression for key in core.keys)
        texts = [*keys, *(text for own in filters for text in own), *(column.text for column in group.functions)]
        columns = tuple(name for name in group.columns if name == group.time or _mentioned(name, texts))
        types = dict(group.catalog.streams[group.stream].schema)
        contents = Contents(
            group.stream, group.time, {name: types[name] for name in columns}, keys, filters, tuple(partials), width
        )
        plain = dict(zip(group.plain, _window_columns(group), strict=True))
        outputs = [
            tuple(plain[text] for text in own) if not tests and all(text in plain for text in own) else None
            for own, tests in zip(group.outputs, group.tests, strict=True)
        ]
        return cls(group, sets, core.window, contents, functions, tuple(outputs))

    def run(self, leaves: Sequence[Leaves], logs: Logs) -> list[pa.Table | None]:
        """The rows that the run adds for each member; None: it must read its windows from the log."""
        log = logs[self.contents.stream]
        unserved: list[pa.Table | None] = [None] * len(leaves)
        try:
            with self.sets.use(self.group.catalog.spark, log, self.contents) as panes:
                return unserved if panes is None else self._run(panes, leaves)
        except UnfitError as error:
            _log.debug("windows are read from the log", stream=self.contents.stream, reason=str(error))
        except SPARK_ERRORS as error:
            if not may_be_of_values(error):
                raise
            _log.debug("windows are read from the log", stream=self.contents.stream, reason=one_line(error))
        return unserved

    def _run(self, panes: PaneSet, leaves: Sequence[Leaves]) -> list[pa.Table | None]:
        prepared_queries = self.group.prepared_queries
        sources = [next(iter(own.values())) for own in leaves]
        spans = {leaf: self._times(leaf) for leaf in dict.fromkeys(sources)}
        needs = [
            Need(id(query), leaf.start, leaf.range.last, *spans[leaf])
            for query, leaf in zip(prepared_queries, sources, strict=True)
        ]
        panes.provide(needs)
        reads = self._reads(leaves, sources)
        for own in {*reads} - {NOTHING}:
            check_kept(panes.log, self.contents.stream, own.offsets.first, {self.contents.time: own.times.low})
        usable = {own: own is NOTHING or panes.usable(own.offsets.first, own.times) for own in {*reads}}
        tables = self._results(panes, [own if usable[own] else NOTHING for own in reads])
        panes.release(needs)
        return [table if usable[own] else None for table, own in zip(tables, reads, strict=True)]

    def _times(self, leaf: Leaf) -> tuple[EventTime, EventTime]:
        """From which event time on a query wants rows in this run and in later ones."""
        size = micros(self.window.size)
        low, next_low = (first_end(self.window, leaf.frontier(new)) - size for new in (False, True))
        return low, next_low

    def _reads(self, leaves: Sequence[Leaves], sources: Sequence[Leaf]) -> list[MemberReads]:
        """What each member reads: as all have one window, it depends on its leaf alone."""
        found: dict[Leaf, MemberReads] = {}
        for query, own, leaf in zip(self.group.prepared_queries, leaves, sources, strict=True):
            if leaf not in found:
                found[leaf] = reads_of(query, own)
        return [found[leaf] for leaf in sources]

    def _results(self, panes: PaneSet, reads: Sequence[MemberReads]) -> list[pa.Table]:
        size, slide = micros(self.window.size), micros(self.window.slide)
        ends = sorted({end for span in {own.ends for own in reads} for end in panes.ends(span, size, slide)})
        if not ends:
            return [query.hidden_schema.empty_table() for query in self.group.prepared_queries]
        windows = self._windows(panes, ends)
        places = {predicates: number for number, predicates in enumerate(panes.contents.filters)}
        filters = np.array([places[predicates] for predicates in self.group.predicates])
        return self._handed_out(windows, _closing(windows, filters, reads))

    def _windows(self, panes: PaneSet, ends: Sequence[int]) -> pa.Table:
        """The windows that end then: their bounds, keys, aggregates, `_arrival`, and for which filter they are."""
        size, held = micros(self.window.size), panes.contents.partials
        merged = panes.windows([(end - size, end) for end in ends])

        def columns(made: Function) -> list[pa.ChunkedArray]:
            return [merged[name] for partial in made.partials for name in column_names(held.index(partial), partial)]

        closes = merged[WINDOW_END]
        bounds = [pc.subtract(closes, size).cast(_MOMENT), closes.cast(_MOMENT)]
        keys = [merged[name] for name in panes.contents.key_names]
        values = [made.finish(columns(made)) for made in self.functions]
        (arrival,) = column_names(held.index(LATEST), LATEST)
        names = [*_window_columns(self.group), ARRIVAL, CLOSES, MEMBER]
        return pa.table([*bounds, *keys, *values, merged[arrival], bounds[1], merged[MEMBER]], names=names)

    def _handed_out(self, windows: pa.Table, pairs: Pairs) -> list[pa.Table]:
        """Each member's rows. For the members that compute something of their windows, one job does."""
        plain = [number for number, own in enumerate(self.outputs) if own is not None]
        computing = [number for number, own in enumerate(self.outputs) if own is None]
        names = [own for own in self.outputs if own is not None]
        schemas = [self.group.schemas[number] for number in plain]
        rows, members = _only(pairs, plain)
        renumbered = Pairs(rows, np.searchsorted(plain, members))
        found = dict(zip(plain, hand_out(windows, renumbered, names, schemas), strict=True))
        if computing:
            tables = self._computed(windows, *_only(pairs, computing))
            found |= {number: tables[number] for number in computing}
        return [found[number] for number in range(len(self.outputs))]

    def _computed(self, windows: pa.Table, rows: Numbers, members: Numbers) -> list[pa.Table]:
        """What members compute of windows, given as pairs of a window and a member."""
        if not len(rows):
            return [query.hidden_schema.empty_table() for query in self.group.prepared_queries]
        own = windows.drop_columns([CLOSES, MEMBER]).take(pa.array(rows))
        own = own.append_column(MEMBER, pa.array(members.astype(np.int32)))
        frame = ship_rows(self.group.catalog.spark, own, meets=True)
        return self.group.handed_out(collect(self.group.outputs_of(frame)))


def _functions(group: FusedAggregates, core: Aggregate, calls: Sequence[Call]) -> tuple[Function, ...] | None:
    """The group's functions by partial aggregates, after Spark has told the types of keys and arguments."""
    texts = [text for call in calls for text in call.arguments if text != "*"]
    stream = group.catalog.streams[group.stream]
    frame = ship(group.catalog.spark, arrow_schema(stream).empty_table(), 1)
    asked = [*(key.expression for key in core.keys), *texts]
    types = [column.dataType for column in frame.selectExpr(*asked).schema] if asked else []
    of_keys, of_texts = types[: len(core.keys)], dict(zip(texts, types[len(core.keys) :], strict=True))
    if not all(map(comparable, of_keys)):
        return None
    made = [function(call, [of_texts[text] for text in call.arguments if text != "*"]) for call in calls]
    functions = tuple(one for one in made if one is not None)
    return functions if len(functions) == len(calls) else None


def _window_columns(group: FusedAggregates) -> list[str]:
    return [*START, *END, *(key.name for key in group.core.keys), *(column.name for column in group.functions)]


def _mentioned(name: str, texts: Sequence[str]) -> bool:
    """Whether a column may be used; a part of another word counts as well."""
    return any(name.lower() in text.lower() for text in texts)


def _closing(windows: pa.Table, filters: Numbers, reads: Sequence[MemberReads]) -> Pairs:
    """The windows of each member: those of its filter, by number, that close for it."""
    of_windows = windows[MEMBER].to_numpy()
    order = np.argsort(of_windows, kind="stable")
    firsts, lasts = (np.searchsorted(of_windows[order], filters, side) for side in ("left", "right"))
    counts = lasts - firsts
    members = np.repeat(np.arange(len(filters)), counts)
    rows = order[np.arange(len(members)) + np.repeat(firsts - (np.cumsum(counts) - counts), counts)]
    lows = np.array([in_long(own.ends.low) for own in reads])
    highs = np.array([in_long(own.ends.high) for own in reads])
    ends = windows[END[0]].cast(pa.int64()).to_numpy()[rows]
    closing = (ends >= lows[members]) & (ends <= highs[members])
    return Pairs(rows[closing], members[closing])


def _only(pairs: Pairs, members: Sequence[int]) -> Pairs:
    """The pairs of some members."""
    kept = np.isin(pairs.members, members)
    return Pairs(pairs.rows[kept], pairs.members[kept])
