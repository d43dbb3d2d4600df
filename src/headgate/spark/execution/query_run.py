"""One query's share of a run: what it reads, what came of it, and what of that is committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.plan.sharing import Place
from headgate.spark.compile import executor_reads, fragment_rows
from headgate.spark.compile.fragments import Fragment
from headgate.spark.compile.frames import WholeQuery
from headgate.spark.compile.leaf_rows import Leaf, Range
from headgate.spark.compile.prepared_query import Failure, Result
from headgate.spark.queries.running_query import Logs, RunningQuery, Taken
from headgate.spark.sinks.registry import parse_sink
from headgate.spark.sinks.result_files import load
from headgate.spark.store.commits.records import Output

Told = dict[str, Any]  # a dead letter, as a commit tells it


def letter(query: str, failure: Failure, now: float) -> tuple[str | None, Told]:
    """A failure as a dead letter, and the stream whose it is: of a pair that of its first tuple, None if unknown.

    >>> letter("q", Failure((("s", 7),), "division by zero: 1 / k", '{"k":0}'), 2.5)[1]
    {'reason': 'query q: division by zero: 1 / k', 'arrival': 2.5, 'query': 'q', 'offset': 7, 'values': '{"k":0}'}
    """
    offsets, closes = failure.key
    told: Told = {"reason": f"query {query}: {failure.reason}", "arrival": now, "query": query}
    if offsets:
        told["offset"] = offsets[0][1]
    if len(offsets) > 1:
        told["offsets"] = [list(each) for each in offsets]
    if closes is not None:
        told["closes"] = closes
    return offsets[0][0] if offsets else None, {**told, "values": failure.row}


def letters_of(
    failures: Iterable[tuple[str, Failure]], otherwise: Mapping[str, str], now: float
) -> dict[str, list[Told]]:
    """Failures of queries as dead letters by stream; `otherwise` is the stream of a query whose failure names none."""
    found: dict[str, list[Told]] = {}
    for query, failure in failures:
        stream, told = letter(query, failure, now)
        found.setdefault(stream or otherwise[query], []).append(told)
    return found


@dataclass(slots=True, eq=False)
class QueryRun:
    """A piece of a query and the offsets it takes in one run."""

    running: RunningQuery
    fragment: Fragment
    taken: Taken
    leaves: dict[Place, Leaf]
    whole: WholeQuery | None
    late: int = 0  # tuples among them that windows pass over
    apart: bool = False  # executors write the results themselves: those of a vast train, into Parquet files
    result: Result = field(init=False)
    handed: pa.Table | None = None  # rows that wait for the next piece
    error: str = ""  # why there is no result
    jobs: int = 0  # that Spark ran for it

    @classmethod
    def of(cls, running: RunningQuery, fragment: Fragment, taken: Taken, logs: Logs) -> QueryRun:
        apart = (
            fragment.feeds is None
            and any(
                executor_reads.vast(running.log(source.stream, logs), taken[place].first, taken[place].last)
                for place, source in fragment.leaves.items()
            )
            and parse_sink(running.query.sink or "parquet").name == "parquet"
            and executor_reads.plain(fragment.prepared.schema)
        )
        return cls(running, fragment, taken, *running.read(fragment, taken, logs), running.late(taken, logs), apart)

    @property
    def name(self) -> str:
        return self.running.name

    @property
    def chunks(self) -> tuple[tuple[float, int], ...]:
        """When the tuples that are handed on came."""
        return () if self.handed is None else fragment_rows.arrivals(self.handed)

    @property
    def tuples(self) -> int:
        """How many tuples it takes; leaves with one queue take the same ones."""
        return sum(each.last - each.first for each in self._ranges(self.taken).values())

    @property
    def arrived(self) -> int:
        """How many of them come from streams."""
        return sum(each.last - each.first for each in self._ranges(self._of_streams()).values())

    @property
    def rows(self) -> pa.Table:
        """The query's results; none where another piece takes them."""
        own = self.fragment.prepared.schema
        return self.result.rows.select(own.names) if self.fragment.feeds is None else own.empty_table()

    @property
    def streams_read(self) -> dict[Place, Leaf]:
        """The streams below, as far as the results reach."""
        return self.leaves if self.whole is None else dict(self.whole.leaves)

    def evaluate(self, logs: Logs, aside: Path) -> Result:
        known = {**logs, **self.running.layout.logs}
        return self.fragment.prepared.run(self.leaves, known, self.whole, aside if self.apart else None)

    def output(self, aside: Path) -> Output | None:
        """The query's results as a commit names them; None where there are none."""
        if self.result.written is not None:
            return Output.written(aside, self.result.written.files) if self.result.count else None
        return Output.inline(self.rows) if self.rows.num_rows else None

    def inside(self) -> Output | None:
        """The rows for the next piece as a commit holds them; None where there are none."""
        return None if self.handed is None or self.fragment.feeds is None else Output.inline(self.handed)

    def tables(self, aside: Path) -> list[pa.Table]:
        """The query's results for those who follow it; what executors wrote is read back, before it is committed."""
        if self.result.written is None:
            return [self.rows]
        schema = self.fragment.prepared.schema
        return [load(aside / name, schema) for name in self.result.written.files]

    def done(self, result: Result, now: float) -> None:
        """The run has ended: what it leaves for the next piece is known."""
        self.result = result
        if (feeds := self.fragment.feeds) is None:
            return
        reached = [self.streams_read[(*self.fragment.place, *local)].range for local in feeds.below]
        if result.rows.num_rows or self._tells():
            old, new = [each.first for each in reached], [each.last for each in reached]
            self.handed = fragment_rows.written(feeds, result.rows, old, new, now)

    def _tells(self) -> bool:
        """Whether operators above must know how far this run has read, though it gives no rows."""
        prepared = self.fragment.prepared
        old, new = (prepared.frontiers(self.leaves, self.whole, cut) for cut in (False, True))
        return old != new

    def _of_streams(self) -> dict[Place, Range]:
        return {place: offsets for place, offsets in self.taken.items() if place in self.running.starts}

    def _ranges(self, taken: Taken) -> dict[int, Range]:
        return {self.running.queues[place]: offsets for place, offsets in taken.items()}
