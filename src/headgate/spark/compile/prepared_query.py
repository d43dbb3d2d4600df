"""A query that Spark has checked and that can run: `prepare_query` checks the plan, `PreparedQuery.run` executes a run.

If an expression fails on a row (a division by zero, a cast of nonsense), the run is repeated with row isolation: the
other rows give their results, and the row is reported as a `Failure`. From then on the query's runs are isolating.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headgate.model import EventTime, Except, HeadgateError, Operator, Source, Stream, Union
from headgate.plan.places import Place
from headgate.spark.compile import fragment_rows
from headgate.spark.compile.admission.allowed_nodes import check
from headgate.spark.compile.arrow_types import plain, to_arrow
from headgate.spark.compile.executor_writes import Written, write
from headgate.spark.compile.failure_sites import Sites
from headgate.spark.compile.fragment_rows import OutputColumns
from headgate.spark.compile.fragment_stream import FragmentStream, Ref
from headgate.spark.compile.frames import (
    Builder,
    Catalog,
    Finish,
    RowsOf,
    WholeQuery,
    compile_run,
    finish_in_order,
    survey_of,
)
from headgate.spark.compile.known_forms import Analysis, KnownForms
from headgate.spark.compile.leaf_rows import Leaves, Logs
from headgate.spark.compile.log_reader import LogRows
from headgate.spark.compile.quick_frames import collect
from headgate.spark.compile.read_sets import Reading
from headgate.spark.compile.row_isolation import IsolatingBuilder
from headgate.spark.compile.schemas import (
    CLOSES,
    FAILED,
    FROM,
    ORIGINS,
    arrow_schema,
    check_result,
    interned,
    result_schema,
    with_hidden,
)
from headgate.spark.compile.stored_tables import without_rows
from headgate.spark.jvm.errors import SPARK_ERRORS, first_line, may_be_of_values, of_values, spark_message

FailureKey = tuple[tuple[tuple[str, int], ...], int | None]  # tuples as (stream, offset), and the end of a window


@dataclass(frozen=True, slots=True)
class Failure:
    """What an expression failed on and why: a tuple, a pair of a join, or a group by its first and last tuple."""

    offsets: tuple[tuple[str, int], ...]  # (stream, offset)
    reason: str
    row: str = "{}"  # the values that the expression was computed from, as JSON
    closes: int | None = None  # of a group: the end of its window, microseconds

    @property
    def key(self) -> FailureKey:
        """Failures of a query with equal keys are one failure: a tuple that is read for several windows fails once."""
        return tuple(sorted(set(self.offsets))), self.closes


@dataclass(frozen=True, slots=True)
class Result:
    """What a run added: the rows with `_arrival` and `_closes`, and what an expression failed on.

    If executors have written the rows themselves, `written` names the files, and `rows` is empty.
    """

    rows: pa.Table
    failures: tuple[Failure, ...] = ()
    written: Written | None = None

    @property
    def count(self) -> int:
        """How many rows it added, in memory or in files."""
        return self.rows.num_rows if self.written is None else self.written.rows


class Isolation(IntEnum):
    """Which expressions of a query are guarded, so that a failure is one of a row and not of the job.

    A run that fails raises the level for itself and for the runs after it.
    """

    NONE = 0
    EXPRESSIONS = 1
    JOIN_KEYS = 2  # also equalities in joins: they may hide a cast that fails, but guarded Spark cannot hash them


@dataclass(slots=True)
class PreparedQuery:
    """A plan that Spark has checked and that can run. `schema` is its output without the hidden columns."""

    catalog: Catalog
    plan: Operator
    schema: pa.Schema
    finish: Finish
    output_columns: OutputColumns | None = None
    isolation: Isolation = Isolation.NONE
    sites: Sites = field(init=False)

    def __post_init__(self) -> None:
        self.sites = Sites(self.catalog.spark)

    @property
    def isolating(self) -> bool:
        """Whether its runs guard expressions against failing rows."""
        return self.isolation > Isolation.NONE

    def run(
        self,
        leaves: Leaves,
        logs: Logs,
        whole: WholeQuery | None = None,
        aside: Path | None = None,
    ) -> Result:
        """Compile and execute one run; given a folder `aside`, executors write the rows there, without hidden columns.

        Once an expression has failed on a row, this run is repeated with isolation, and later runs use it at once.
        """
        isolation = self.isolation
        try:
            return self.run_once(leaves, logs, whole, aside)
        except SPARK_ERRORS as error:
            if not may_be_of_values(error) or isolation is Isolation.JOIN_KEYS:
                raise
            failed = error
        self.isolation = Isolation(isolation + 1)
        try:
            result = self.run(leaves, logs, whole, aside)
        except Exception as error:
            self.isolation = isolation
            if may_be_of_values(error):  # isolation did not help
                raise failed from error
            raise  # it was cancelled meanwhile, or Spark is gone: the rows are not to blame
        if not result.failures and not (isinstance(failed, PySparkException) and of_values(failed)):
            self.isolation = isolation  # the error was a passing one and not about rows
        return result

    def frame(self, leaves: Leaves, logs: Logs, whole: WholeQuery | None = None) -> DataFrame | None:
        """One run as a frame; None: nothing to run."""
        return compile_run(self.catalog, self.plan, leaves, logs, self.finish, whole, self._builder)

    def _builder(self, catalog: Catalog, rows: RowsOf) -> Builder:
        if not self.isolating:
            return Builder(catalog, rows, tracked=self.tracked)
        return IsolatingBuilder(catalog, rows, sites=self.sites, keys_too=self.isolation is Isolation.JOIN_KEYS)

    @property
    def tracked(self) -> bool:
        """Whether rows must say what they were made of: another fragment of the query may fail on them."""
        return self.output_columns is not None and self.output_columns.tracked

    def frontiers(self, leaves: Leaves, whole: WholeQuery | None, new: bool) -> dict[Ref, EventTime]:
        """The frontiers of the results before or after a run, for the event times in `output_columns`."""
        survey = survey_of(self.catalog, self.plan, leaves, whole=whole)
        times = () if self.output_columns is None else self.output_columns.times
        return {ref: survey.frontier(self.plan, (), ref, new) for ref in times}

    def closes(self, leaves: Leaves, whole: WholeQuery | None = None) -> bool:
        """Whether a run closes a window."""
        return survey_of(self.catalog, self.plan, leaves, whole=whole).closes()

    def closed(self, leaves: Leaves) -> tuple[EventTime, ...]:
        """For each window operator the end of the last window that is closed after a run."""
        return survey_of(self.catalog, self.plan, leaves).closed_windows()

    @property
    def hidden_schema(self) -> pa.Schema:
        """The output with `_arrival`, `_closes`, and if it feeds another fragment the event times and `_from`."""
        times = () if self.output_columns is None else self.output_columns.times
        inner = [pa.field(f"_t{number}", pa.int64()) for number in range(len(times))]
        origins = [pa.field(FROM, ORIGINS)] if self.tracked else []
        return pa.schema([*result_schema(self.schema), *inner, *origins])

    def run_once(
        self, leaves: Leaves, logs: Logs, whole: WholeQuery | None = None, aside: Path | None = None
    ) -> Result:
        """The same without a repetition: an expression that fails on a row fails the run, and isolation stays."""
        frame = self.frame(leaves, logs, whole)
        if frame is None:
            return Result(self.hidden_schema.empty_table())
        if aside is not None:
            return self._written(frame, aside)
        if not self.isolating:
            return Result(execute(frame, self.hidden_schema))
        rows = collect(frame)
        failed = pc.is_valid(rows[FAILED])
        return Result(self._good(rows.filter(pc.invert(failed))), self._failures(rows.filter(failed)))

    def _written(self, frame: DataFrame, aside: Path) -> Result:
        """Executors write the results; failures come back in a job of their own."""
        no_rows, names = self.hidden_schema.empty_table(), self.schema.names
        if not self.isolating:
            return Result(no_rows, written=write(frame, names, aside))
        failures = self._failures(collect(frame.where(f"{FAILED} IS NOT NULL")))
        return Result(no_rows, failures, write(frame.where(f"{FAILED} IS NULL"), names, aside))

    def _good(self, rows: pa.Table) -> pa.Table:
        if not rows.num_rows:  # then some columns may be missing
            return self.hidden_schema.empty_table()
        return rows.select(self.hidden_schema.names).cast(self.hidden_schema)

    def _failures(self, rows: pa.Table) -> tuple[Failure, ...]:
        """The failures behind rows that carry a note in `_failed`, each once."""
        notes = rows[FAILED].to_pylist()
        failures: dict[FailureKey, Failure] = {}
        for note, reason, origins, closes in zip(
            notes,
            self.sites.reasons(notes),
            rows[FROM].to_pylist(),
            rows[CLOSES].cast(pa.int64()).to_pylist(),
            strict=True,
        ):
            offsets = tuple((origin["stream"], origin["offset"]) for origin in origins or ())
            failure = Failure(offsets, reason, self.sites.row_of(note), closes)
            failures.setdefault(failure.key, failure)
        return tuple(failures.values())


def prepare_query(
    spark: SparkSession,
    plan: Operator,
    streams: Mapping[str, Stream],
    tables: Mapping[str, DataFrame],
    output_columns: OutputColumns | None = None,
    known: KnownForms | None = None,
) -> PreparedQuery:
    """Check a plan with Spark's analyser over empty streams; refuse unknown functions and types that do not fit.

    A whole query, one without `output_columns`, of a form that is `known` need not be analysed again.
    """
    if known is None or output_columns is not None:
        return _checked(spark, plan, streams, tables, output_columns)
    key = known.key(plan, streams, tables)
    if (analysis := known.find(key)) is not None:
        return PreparedQuery(Catalog(spark, streams, tables, analysis.types), plan, analysis.schema, analysis.finish)
    prepared = _checked(spark, plan, streams, tables, None)
    known.keep(key, Analysis(prepared.catalog.types, prepared.schema, prepared.finish))
    return prepared


def _checked(
    spark: SparkSession,
    plan: Operator,
    streams: Mapping[str, Stream],
    tables: Mapping[str, DataFrame],
    output_columns: OutputColumns | None,
) -> PreparedQuery:
    try:
        types, frame = _analysed(Catalog(spark, streams, without_rows(spark, plan, tables)), plan)
        check(frame)
        finish = finish_in_order(frame.columns) if output_columns is None else output_columns.finished
        feeds = output_columns is not None and output_columns.tracked
        kept = to_arrow if feeds else plain  # results are plain texts and intervals
        output = kept(finish(frame, ()).schema)
    except PySparkException as error:
        raise HeadgateError(f"Spark refuses the query: {spark_message(error)}", hint="correct the expression") from None
    except (Py4JError, ValueError, pa.ArrowException) as error:
        raise HeadgateError(f"Spark refuses the query: {first_line(error)}", hint="correct the expression") from None
    check_result(output)
    catalog = Catalog(spark, streams, tables, types)
    hidden = 2 + len(output_columns.times if output_columns else ())
    return PreparedQuery(catalog, plan, interned(pa.schema([*output][:-hidden])), finish, output_columns)


def execute(frame: DataFrame, schema: pa.Schema) -> pa.Table:
    """One Spark job: the rows of a frame as Arrow."""
    return collect(frame).cast(schema)


def _analysed(catalog: Catalog, plan: Operator) -> tuple[dict[Place, StructType], DataFrame]:
    """The types that set operations agree on, by place, and a frame without rows like those of the runs."""
    types: dict[Place, StructType] = {}

    def build(node: Operator, place: Place) -> DataFrame:
        typed = Catalog(catalog.spark, catalog.streams, catalog.tables, types)
        frame = Builder(typed, _no_rows(typed), schema_only=True).frame(_everything(node, place), {})
        assert frame is not None
        return frame

    def visit(node: Operator | Source, place: Place) -> None:
        if isinstance(node, Source):
            return
        for number, child in enumerate(node.inputs):
            visit(child, (*place, number))
        if isinstance(node, Union | Except):
            union = build(Union(inputs=node.inputs), place)
            types[place] = StructType(union.schema.fields[:-2])  # without the hidden columns

    visit(plan, ())
    return types, build(plan, ())


def _no_rows(catalog: Catalog) -> RowsOf:
    def rows(reading: Reading) -> LogRows:
        assert isinstance(reading.node, Source)
        stream = catalog.streams[reading.node.stream]
        if isinstance(stream, FragmentStream):
            return LogRows(fragment_rows.empty(stream))
        return LogRows(with_hidden(arrow_schema(stream)).empty_table())

    return rows


def _everything(node: Operator | Source, place: Place) -> Reading:
    if isinstance(node, Source):
        return Reading(node, place)
    below = tuple(_everything(child, (*place, number)) for number, child in enumerate(node.inputs))
    return Reading(node, place, below)
