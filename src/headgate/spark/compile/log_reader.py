"""Reads for one run what its plan needs of the logs, each range once; large sealed parts are left to the executors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from headgate.model import Source, Stream
from headgate.plan.places import Place
from headgate.spark.compile import fragment_rows
from headgate.spark.compile.executor_reads import SealedRows, sealed_rows, train_span
from headgate.spark.compile.fragment_stream import FragmentStream, Ref
from headgate.spark.compile.leaf_rows import Leaves, Logs, Range, check_kept, read_kept
from headgate.spark.compile.read_sets import Reading, Within
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
        """The rows that a leaf takes in the run."""
        assert isinstance(reading.node, Source)
        return self.read(reading.node.stream, reading.offsets, reading.times, reading.late)

    def read(self, stream_name: str, offsets: Range, times: Within, late: bool) -> LogRows:
        """Rows of a log by offsets, and by event times where spans are given; with `late` also late ones."""
        bounded = {ref: span for ref, span in times.items() if span.bounded}
        key = (stream_name, offsets.first, offsets.last, late, *sorted(bounded.items()))
        if key not in self._cache:
            log, stream = self.logs[stream_name], self.streams[stream_name]
            self._cache[key] = read_kept(
                log, offsets.first, lambda first: self._read_from(stream_name, first, offsets.last, bounded, late)
            )
            lows = {fragment_rows.time_column(stream, ref): span.low for ref, span in bounded.items()}
            check_kept(log, stream_name, offsets.first, lows)
        return self._cache[key]

    def _read_from(self, stream_name: str, first: int, last: int, bounded: Within, late: bool) -> LogRows:
        log, stream = self.logs[stream_name], self.streams[stream_name]
        if isinstance(stream, FragmentStream):
            return LogRows(fragment_rows.read(log, stream, first, last, bounded))
        span = next(iter(bounded.values()), ALWAYS)
        sealed = sealed_rows(log, first, last, stream.event_time, span, late=late)
        rest = first if sealed is None else sealed.end
        return LogRows(log.read(rest, last) if late else log.read_window(rest, last, span.low, span.high), sealed)

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
