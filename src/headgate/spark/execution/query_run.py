"""One query's part of a run: what it reads, its result, and the form in which commits store that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.plan.places import Place
from headgate.spark.compile import executor_reads, fragment_rows
from headgate.spark.compile.fragments import Fragment
from headgate.spark.compile.frames import WholeQuery
from headgate.spark.compile.leaf_rows import Leaf
from headgate.spark.compile.prepared_query import Failure, Result
from headgate.spark.queries.reading import Reading
from headgate.spark.queries.running_query import Logs, RunningQuery
from headgate.spark.sinks.registry import parse_sink
from headgate.spark.sinks.result_files import load
from headgate.spark.store.commits.records import Output

LetterRecord = dict[str, Any]  # a dead letter, as a commit stores it


def letter(query: str, failure: Failure, now: float) -> tuple[str | None, LetterRecord]:
    """A failure as a dead letter, with its stream: that of the first tuple if there are several, None if unknown.

    >>> letter("q", Failure((("s", 7),), "division by zero: 1 / k", '{"k":0}'), 2.5)[1]
    {'reason': 'query q: division by zero: 1 / k', 'arrival': 2.5, 'query': 'q', 'offset': 7, 'values': '{"k":0}'}
    """
    offsets, closes = failure.key
    record: LetterRecord = {"reason": f"query {query}: {failure.reason}", "arrival": now, "query": query}
    if offsets:
        record["offset"] = offsets[0][1]
    if len(offsets) > 1:
        record["offsets"] = [list(stream_offset) for stream_offset in offsets]
    if closes is not None:
        record["closes"] = closes
    return offsets[0][0] if offsets else None, {**record, "values": failure.row}


def letters_of(
    failures: Iterable[tuple[str, Failure]], default_streams: Mapping[str, str], now: float
) -> dict[str, list[LetterRecord]]:
    """Failures of queries as dead letters by stream; those without a stream go to the query's default stream."""
    letters: dict[str, list[LetterRecord]] = {}
    for query, failure in failures:
        stream, record = letter(query, failure, now)
        letters.setdefault(stream or default_streams[query], []).append(record)
    return letters


@dataclass(slots=True, eq=False)
class QueryRun:
    """A fragment of a query with the offsets that it takes in one run, and later its result."""

    running: RunningQuery
    fragment: Fragment
    reading: Reading
    executors_write: bool = False  # executors write the results of a very long train to Parquet files themselves
    result: Result = field(init=False)
    intermediate: pa.Table | None = None  # rows for the next fragment
    error: str = ""  # why there is no result
    jobs: int = 0  # Spark jobs run for it
    jobs_share: float = 0.0  # of those, its own share: a job of several queries counts once for all of them
    rows_read: float = 0.0  # by these jobs, its share

    @classmethod
    def of(cls, running: RunningQuery, fragment: Fragment, reading: Reading) -> QueryRun:
        executors_write = (
            reading.vast
            and fragment.feeds is None
            and parse_sink(running.query.sink or "parquet").name == "parquet"
            and executor_reads.plain(fragment.prepared.schema)
        )
        return cls(running, fragment, reading, executors_write)

    @property
    def leaves(self) -> dict[Place, Leaf]:
        return self.reading.leaves

    @property
    def whole(self) -> WholeQuery | None:
        return self.reading.whole

    @property
    def name(self) -> str:
        return self.running.name

    @property
    def chunks(self) -> tuple[tuple[float, int], ...]:
        """When the tuples behind the intermediate rows arrived."""
        return () if self.intermediate is None else fragment_rows.arrivals(self.intermediate)

    @property
    def rows(self) -> pa.Table:
        """The query's results; empty if the rows go to another fragment."""
        schema = self.fragment.prepared.schema
        return self.result.rows.select(schema.names) if self.fragment.feeds is None else schema.empty_table()

    @property
    def has_rows(self) -> bool:
        """Whether the query has results that are in memory."""
        return self.fragment.feeds is None and self.result.rows.num_rows > 0

    @property
    def streams_read(self) -> dict[Place, Leaf]:
        """The streams below the fragment, with the offsets that its results cover."""
        return self.leaves if self.whole is None else dict(self.whole.leaves)

    def evaluate(self, logs: Logs, aside: Path) -> Result:
        all_logs = {**logs, **self.running.layout.logs}
        return self.fragment.prepared.run(self.leaves, all_logs, self.whole, aside if self.executors_write else None)

    def written_output(self, aside: Path) -> Output | None:
        """The results that executors have written, as a commit stores them; None if there are none."""
        if self.result.written is None or not self.result.count:
            return None
        return Output.written(aside, self.result.written.files)

    def intermediate_output(self) -> Output | None:
        """The rows for the next fragment as a commit stores them; None if there are none."""
        return None if self.intermediate is None or self.fragment.feeds is None else Output.inline(self.intermediate)

    def tables(self, aside: Path) -> list[pa.Table]:
        """The query's results for followers; results that executors wrote are read back."""
        if self.result.written is None:
            return [self.rows]
        schema = self.fragment.prepared.schema
        return [load(aside / name, schema) for name in self.result.written.files]

    def done(self, result: Result, now: float) -> None:
        """Take the result, and compute the rows for the next fragment."""
        self.result = result
        if (feeds := self.fragment.feeds) is None:
            return
        reached = [self.streams_read[(*self.fragment.place, *local)].range for local in feeds.below]
        if result.rows.num_rows or self._moves_frontier():
            old, new = [offsets.first for offsets in reached], [offsets.last for offsets in reached]
            self.intermediate = fragment_rows.written(feeds, result.rows, old, new, now)

    def _moves_frontier(self) -> bool:
        """Whether the run moves the event-time frontier: then fragments above must be told even if it gives no rows."""
        prepared = self.fragment.prepared
        old, new = (prepared.frontiers(self.leaves, self.whole, cut) for cut in (False, True))
        return old != new


def inline_outputs(query_runs: Iterable[QueryRun]) -> dict[int, Output]:
    """The small results of query runs as a commit stores them, by the `id` of the query run."""
    small = [run for run in query_runs if not run.error and run.result.written is None and run.has_rows]
    outputs = Output.inline_all([run.result.rows for run in small], [run.fragment.prepared.schema for run in small])
    return {id(run): output for run, output in zip(small, outputs, strict=True)}
