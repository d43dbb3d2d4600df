"""One query on logs in a folder, evaluated on lists of rows instead of Spark: whole, in fragments, and joined again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from tests.spark.chaos.plain import prepare_query
from tests.spark.chaos.standins import TYPES

from headgate.model import Level, Query, QueryClass, Stream
from headgate.plan.network import Network
from headgate.plan.places import Place
from headgate.plan.sql import plan_sql
from headgate.spark.compile.fragments import Fragment
from headgate.spark.compile.leaf_rows import Range
from headgate.spark.compile.schemas import arrow_schema
from headgate.spark.execution.cutting import cut_up, remaining_ranges, whole_positions
from headgate.spark.execution.job_runner import Ran
from headgate.spark.execution.query_run import QueryRun
from headgate.spark.queries.layout import Layout, QueryCutter
from headgate.spark.queries.reading import Reading
from headgate.spark.queries.running_query import RunningQuery
from headgate.spark.store.log.stream_log import StreamLog

SECOND = 1_000_000
COLUMNS = (("k", "bigint"), ("v", "bigint"), ("ts", "timestamp"))
STREAMS = {name: Stream(name=name, schema=COLUMNS, event_time="ts") for name in ("a", "b")}
SQL = {
    "chain": "SELECT k, v + 1 AS v FROM (SELECT * FROM a WHERE v > 0) WHERE k < 2",
    "counts": "SELECT window.start AS t, k, COUNT(*) AS n FROM a WHERE v > 0 GROUP BY window(ts, '5 seconds'), k",
    "pairs": "SELECT x.k AS k, x.v AS v, y.v AS w FROM a x JOIN b y ON x.k = y.k "
    "AND y.ts BETWEEN x.ts - INTERVAL 3 SECONDS AND x.ts + INTERVAL 3 SECONDS WHERE x.v > 0",
}
Row = tuple[str, int, int, int]  # (stream, k, v, second)


@contextmanager
def without_spark() -> Iterator[None]:
    """Plans are checked and run by the stand-in for Spark."""
    with (
        patch("headgate.spark.compile.schemas._read", TYPES.__getitem__),
        patch("headgate.spark.compile.fragments.prepare_query", prepare_query),
    ):
        yield


class Runner:
    """Runs a job here."""

    def run(
        self, group: str, description: str, evaluate: Callable[[], Any], label: str = "", queries: Sequence[str] = ()
    ) -> tuple[Any, Ran]:
        return evaluate(), Ran(1, 0)


@dataclass
class PlainQuery:
    """A query at its positions, and all results that it has given so far."""

    folder: Path
    sql: str
    results: Counter[tuple[Any, ...]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.query = Query(name="q", query_class="c", plan=plan_sql(self.sql, STREAMS), sql=self.sql)
        self.network = Network.of([self.query], STREAMS.values(), [QueryClass("c")], share=False)
        self.logs = {
            name: StreamLog.open(self.folder / name, stream, arrow_schema(stream)) for name, stream in STREAMS.items()
        }
        nothing: Any = None
        self.cutter = QueryCutter(nothing, STREAMS, {}, self.folder / "waiting")
        self.whole = Layout((Fragment((), prepare_query(None, self.query.plan, STREAMS, {})),))
        self.layout = self.whole
        self.positions: dict[Place, int] = dict.fromkeys(self.whole.leaves, 0)
        self.starts = dict(self.positions)
        self.epoch = 0

    def close(self) -> None:
        for log in [*self.logs.values(), *self.layout.logs.values()]:
            log.close()

    def append(self, rows: Sequence[Row]) -> None:
        """Append rows one by one; each is a segment of its log, so that retention can drop it alone."""
        for stream, k, v, second in rows:
            columns = {"k": [k], "v": [v], "ts": pa.array([second * SECOND]).cast(pa.timestamp("us", "UTC"))}
            self.logs[stream].append(pa.table(columns), float(second))
            self.logs[stream].seal()

    def finish(self) -> None:
        for log in self.logs.values():
            log.finish()

    def running(self) -> RunningQuery:
        queues = self.network.inputs("q")
        return RunningQuery(
            self.query, self.layout, self.whole.fragments[0], self.starts, dict(self.positions), {}, queues
        )

    def run(self, fragments: int | None = None) -> None:
        """Run fragments, the first few or all, on everything that they have not taken."""
        for fragment in self.layout.fragments[:fragments]:
            running = self.running()
            ends = {place: running.log(source.stream, self.logs).end for place, source in fragment.leaves.items()}
            self._take(fragment, {place: Range(self.positions[place], end) for place, end in ends.items()})

    def _take(self, fragment: Fragment, ranges: Mapping[Place, Range]) -> None:
        running = self.running()
        query_run = QueryRun.of(running, fragment, Reading.of(running, fragment, ranges, self.logs))
        query_run.done(query_run.evaluate(self.logs, self.folder), 0.0)
        if query_run.intermediate is not None:
            assert fragment.feeds is not None
            self.layout.logs[fragment.feeds.name].append(query_run.intermediate, 0.0)
            self.layout.logs[fragment.feeds.name].seal()
        self.results.update(zip(*(column.to_pylist() for column in query_run.rows.columns), strict=True))
        self.positions |= {place: taken.last for place, taken in ranges.items()}

    def cut(self) -> None:
        """Cut the whole query at its operators."""
        self.epoch += 1
        runner: Any = Runner()
        self.layout, self.positions, failures = cut_up(
            self.running(), Level.OPERATOR, self.epoch, self.cutter, runner, self.logs
        )
        assert not failures

    def join(self) -> None:
        """Empty the fragment logs, and make the query whole again."""
        for fragment in self.layout.fragments:
            ranges = remaining_ranges(self.running(), fragment)
            if ranges is not None:
                self._take(fragment, ranges)
        positions = whole_positions(self.running(), self.network)
        self.layout.discard()
        self.layout, self.positions = self.whole, positions
