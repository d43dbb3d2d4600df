"""What the engine would refuse in a workload, found before Spark has started, each with its line in the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from headgate.model import HeadgateError, Query, Stream, Table
from headgate.model.target_checks import check_reachable
from headgate.spark.arguments import check_callback
from headgate.spark.compile.schemas import arrow_schema, check_types
from headgate.spark.ingest.sources.registry import try_source
from headgate.spark.machine.lag_limits import parse_lag
from headgate.spark.machine.policy_changes import SHORTEST_JOB
from headgate.spark.sinks.registry import parse_sink
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.log import files
from headgate.spark.store.log.stream_log import StreamLog
from headgate.workload import Workload
from headgate.workload.workload_locations import WorkloadLocations, by_line

NO_PLACES = WorkloadLocations()


def engine_problems(
    workload: Workload, places: WorkloadLocations = NO_PLACES, *, directory: Path | None = None
) -> list[HeadgateError]:
    """All that can be found wrong without Spark, policies aside; the rest is up to Spark's own analysis.

    `directory` is where the run is to go on, if it does: a stream that has ended there needs no source.
    """
    checks = _Checks(workload, places, directory)
    checks.streams()
    for table in workload.tables:
        checks.table(table)
    for query_class in workload.classes:
        with checks.at("class", query_class.name, "lag"):
            if query_class.lag is not None:
                parse_lag(query_class.lag)
        with checks.at("class", query_class.name, "target"):
            check_reachable(query_class.target, SHORTEST_JOB, "a Spark job")
    for query in workload.queries:
        checks.query(query)
    return by_line(checks.problems)


class _Checks:
    """Goes through a workload and keeps what it finds."""

    def __init__(self, workload: Workload, places: WorkloadLocations, directory: Path | None) -> None:
        self._workload, self._places, self._directory = workload, places, directory
        self.problems: list[HeadgateError] = []
        self._seen: set[str] = set()

    @contextmanager
    def at(self, table: str, name: str | int, *keys: str) -> Iterator[None]:
        """Keep an error that is raised inside, with its place."""
        try:
            with self._places.at(table, name, *keys):
                yield
        except HeadgateError as error:
            place = self._places.written_at(table, name, *keys)
            if place not in self._seen:  # one table may describe thousands of streams or queries
                self.problems.append(error)
            self._seen |= {place} if place else set()

    def streams(self) -> None:
        """Columns and sources; all sources are open at the same time, since two may want one port."""
        with ExitStack() as opened:
            for stream in self._workload.streams:
                before = len(self.problems)
                plain = self._columns(stream)
                if len(self.problems) == before:
                    self._source(stream, opened, plain)

    def _columns(self, stream: Stream) -> bool:
        """Whether all types are known without Spark."""
        plain = False
        with self.at("stream", stream.name, "schema"):
            if not stream.schema:
                raise HeadgateError(
                    f"stream '{stream.name}' has no schema, which the engine needs",
                    hint='write for example schema = "id bigint, temp double, ts timestamp"',
                )
            plain = check_types(stream)
        if plain:
            key = "schema" if any(name.startswith("_") for name in stream.columns) else "event_time"
            with self.at("stream", stream.name, key):
                arrow_schema(stream)
        return plain

    def _source(self, stream: Stream, opened: ExitStack, plain: bool) -> None:
        text = stream.source or stream.arrivals
        key = "source" if stream.source else "arrivals"
        if text is None:  # the reader of workload files refuses that
            return
        with self.at("stream", stream.name, key):
            try:
                reader = try_source(text, stream, self._workload.directory, self._workload.seed, opens=plain)
            except HeadgateError:
                if not self._ended(stream):  # one that has ended is not opened again
                    raise
            else:
                if reader is not None:
                    opened.callback(reader.close)

    def _ended(self, stream: Stream) -> bool:
        """Whether the stream ended in an earlier run on the same directory."""
        if self._directory is None:
            return False
        folder = self._directory / "streams" / stream.name
        if not (folder / "stream.json").is_file():
            return False
        with DataDirectory(self._directory):  # opening a log repairs its end, so nobody else may use it
            log = StreamLog.open(folder, *files.stored(folder))
            try:
                return log.finished_at is not None
            finally:
                log.close()

    def table(self, table: Table) -> None:
        with self.at("table", table.name, "schema"):
            check_types(table)
        with self.at("table", table.name, "path"):
            if table.path is not None and not any(sign in table.path for sign in ("://", "*", "?", "{", "[")):
                path = self._workload.directory / table.path
                if not path.exists():
                    raise HeadgateError(f"there is no file or folder '{path}'", hint="correct the path")

    def query(self, query: Query) -> None:
        with self.at("query", query.name):
            if query.sql is None:
                raise HeadgateError(
                    f"query '{query.name}' is given by the costs of its operators, which only the simulator can run",
                    hint="write it as sql, or use headgate simulate",
                )
        with self.at("query", query.name, "sink"):
            parse_sink(query.sink or "parquet")
            check_callback(query.sink, None)
        with self.at("query", query.name, "lag"):
            if query.lag is not None:
                parse_lag(query.lag)
        with self.at("query", query.name, "target"):
            check_reachable(query.target, SHORTEST_JOB, "a Spark job")
