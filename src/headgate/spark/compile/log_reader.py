"""Reads for one run what its plan needs of the logs, each range once; large sealed parts are left to the executors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from headgate.model import Source, Stream
from headgate.plan.places import Place
from headgate.spark.compile import executor_reads, fragment_rows
from headgate.spark.compile.executor_reads import SealedRows, sealed_rows, too_many, train_span
from headgate.spark.compile.fragment_stream import FragmentStream, Ref
from headgate.spark.compile.join_keys import comparable, have_partner
from headgate.spark.compile.leaf_rows import Leaves, Logs, Range, check_kept, read_kept
from headgate.spark.compile.read_sets import Partner, Reading, Within
from headgate.spark.compile.schemas import OFFSET
from headgate.spark.compile.time_spans import ALWAYS, NEVER, Span


class LogRows(NamedTuple):
    """Rows of a log: those that the driver has in memory, and before them those that executors are to read."""

    table: pa.Table
    sealed: SealedRows | None = None


@dataclass(slots=True)
class LogReader:
    """Reads logs for one run, each range once, however many operators ask for it."""

    leaves: Leaves
    logs: Logs
    streams: Mapping[str, Stream]
    _cache: dict[tuple[object, ...], LogRows] = field(default_factory=dict)

    def rows_of(self, reading: Reading) -> LogRows:
        """The rows that a leaf takes in the run; of a join's old rows, if that is quicker, those that may match."""
        assert isinstance(reading.node, Source)
        asked = reading.node.stream, reading.offsets, reading.times, reading.late
        if reading.partner is None or not self._worth_pruning(reading, reading.partner):
            return self.read(*asked)
        pruned = self._pruned(self.read(*asked, in_memory=True).table, reading, reading.partner)
        if pruned.num_rows >= executor_reads.LARGE and (rows := self.read(*asked)).sealed is not None:
            return rows
        return LogRows(pruned)

    def read(self, stream_name: str, offsets: Range, times: Within, late: bool, *, in_memory: bool = False) -> LogRows:
        """Rows of a log by offsets, and by event times where spans are given; with `late` also late ones.

        With `in_memory` nothing is left to the executors.
        """
        bounded = {ref: span for ref, span in times.items() if span.bounded}
        key = (stream_name, offsets.first, offsets.last, late, in_memory, *sorted(bounded.items()))
        if key not in self._cache:
            log, stream = self.logs[stream_name], self.streams[stream_name]

            def read_from(first: int) -> LogRows:
                return self._read_from(stream_name, first, offsets.last, bounded, late, in_memory)

            self._cache[key] = read_kept(log, offsets.first, read_from)
            lows = {fragment_rows.time_column(stream, ref): span.low for ref, span in bounded.items()}
            check_kept(log, stream_name, offsets.first, lows)
        return self._cache[key]

    def _read_from(
        self, stream_name: str, first: int, last: int, bounded: Within, late: bool, in_memory: bool
    ) -> LogRows:
        log, stream = self.logs[stream_name], self.streams[stream_name]
        if isinstance(stream, FragmentStream):
            return LogRows(fragment_rows.read(log, stream, first, last, bounded))
        span = next(iter(bounded.values()), ALWAYS)
        sealed = None if in_memory else sealed_rows(log, first, last, stream.event_time, span, late=late)
        rest = first if sealed is None else sealed.end
        return LogRows(log.read(rest, last) if late else log.read_window(rest, last, span.low, span.high), sealed)

    def _worth_pruning(self, reading: Reading, partner: Partner) -> bool:
        """Whether a leaf has old rows, few enough for the driver, and the other side is known without executors."""
        assert isinstance(reading.node, Source)
        assert isinstance(partner.reading.node, Source)
        own, other = reading.node.stream, partner.reading.node.stream
        if reading.late or reading.offsets.first >= self.leaves[reading.place].range.first:
            return False
        streams = self.streams[own], self.streams[other]
        if any(isinstance(stream, FragmentStream) for stream in streams):
            return False
        keys = list(zip(partner.columns, partner.other_columns, strict=True))
        if not comparable(keys, self._schema(own), self._schema(other)):
            return False
        span = next((span for span in reading.times.values() if span.bounded), ALWAYS)
        many = too_many(self.logs[own], reading.offsets, span)
        return not many and self._partner_rows(partner).sealed is None

    def _schema(self, stream_name: str) -> pa.Schema:
        log = self.logs[stream_name]
        return read_kept(log, 0, lambda first: log.read(first, first)).schema

    def _partner_rows(self, partner: Partner) -> LogRows:
        other = partner.reading
        assert isinstance(other.node, Source)
        return self.read(other.node.stream, other.offsets, other.times, other.late)

    def _pruned(self, rows: pa.Table, reading: Reading, partner: Partner) -> pa.Table:
        """New rows are all kept: an expression that fails on one is to be reported, also without a partner."""
        others = self._partner_rows(partner).table
        new = pc.greater_equal(rows[OFFSET], self.leaves[reading.place].range.first)
        return rows.filter(pc.or_(new, have_partner(rows, partner.columns, others, partner.other_columns)))

    def train_span(self, place: Place, ref: Ref) -> Span:
        """The span of an event time in a leaf's new tuples; for a large train one that may be wider."""
        leaf = self.leaves[place]
        stream, log = self.streams[leaf.stream], self.logs[leaf.stream]
        fragment_stream = isinstance(stream, FragmentStream)
        wide = None if fragment_stream else train_span(log, leaf.range.first, leaf.range.last)
        if wide is not None:
            return wide
        rows = self.read(leaf.stream, leaf.range, {}, late=False).table
        times = rows[fragment_rows.time_column(stream, ref)] if fragment_stream else rows[ref[0]].cast(pa.int64())
        bounds = pc.min_max(times).as_py()
        return NEVER if bounds["min"] is None else Span(bounds["min"], bounds["max"])
