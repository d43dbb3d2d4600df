"""Runs of one query: checked once, then compiled and executed; what an expression fails on is told apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from headgate.model import EventTime, Except, HeadgateError, Operator, Source, Stream, Union
from headgate.plan.sharing import Place
from headgate.spark.compile import fragment_rows
from headgate.spark.compile.admission.allowed_nodes import check
from headgate.spark.compile.executor_writes import Written, write
from headgate.spark.compile.failure_sites import Sites
from headgate.spark.compile.fragment_rows import OutputColumns
from headgate.spark.compile.fragment_stream import FragmentStream, Ref
from headgate.spark.compile.frames import Builder, Catalog, Finish, Found, Whole, compile_run, finishing, survey_of
from headgate.spark.compile.leaf_rows import Leaf, Rows
from headgate.spark.compile.quick_frames import collected
from headgate.spark.compile.read_sets import Reading
from headgate.spark.compile.row_isolation import IsolatingBuilder
from headgate.spark.compile.schemas import (
    CLOSES,
    FAILED,
    FROM,
    ORIGINS,
    arrow_schema,
    check_result,
    result_schema,
    with_hidden,
)
from headgate.spark.compile.stored_tables import without_rows
from headgate.spark.jvm.errors import SPARK_ERRORS, first_line, may_be_of_values, of_values, spark_message

Key = tuple[tuple[tuple[str, int], ...], int | None]


@dataclass(frozen=True, slots=True)
class Failure:
    """What an expression failed on, and why: a tuple, a pair, or a group from its first tuple to its last."""

    offsets: tuple[tuple[str, int], ...]  # (stream, offset)
    reason: str
    row: str = "{}"  # what the expression was computed of, as JSON
    closes: int | None = None  # of a group: the end of its window, microseconds

    @property
    def key(self) -> Key:
        """What tells it from others of its query: a tuple may be met in several windows, and fails once."""
        return tuple(sorted(set(self.offsets))), self.closes


@dataclass(frozen=True, slots=True)
class Result:
    """What a run added: the rows with `_arrival` and `_closes`, and what an expression failed on.

    Where executors have written the rows themselves, `written` tells where, and `rows` has none.
    """

    rows: pa.Table
    failures: tuple[Failure, ...] = ()
    written: Written | None = None

    @property
    def count(self) -> int:
        """How many rows it added, wherever they are."""
        return self.rows.num_rows if self.written is None else self.written.rows


class Care(IntEnum):
    """How much of a query's expressions is guarded; what a failure asks for is kept for the runs to come."""

    NONE = 0
    EXPRESSIONS = 1
    JOIN_KEYS = 2  # also equalities between columns: they may hide a cast that fails, but guarded they are not hashed


@dataclass(slots=True)
class PreparedQuery:
    """A plan that Spark has checked and that can run. `schema` is its output, the hidden columns aside."""

    catalog: Catalog
    plan: Operator
    schema: pa.Schema
    finish: Finish
    output_columns: OutputColumns | None = None
    care: Care = Care.NONE
    sites: Sites = field(init=False)

    def __post_init__(self) -> None:
        self.sites = Sites(self.catalog.spark)

    @property
    def careful(self) -> bool:
        return self.care > Care.NONE

    def run(
        self,
        leaves: Mapping[Place, Leaf],
        logs: Mapping[str, Rows],
        whole: Whole | None = None,
        aside: Path | None = None,
    ) -> Result:
        """Compile and execute one run; given a folder, executors write the rows there, without the hidden columns.

        Once an expression has failed on a row, this run and later ones are guarded.
        """
        care = self.care
        try:
            return self._result(leaves, logs, whole, aside)
        except SPARK_ERRORS as error:
            if not may_be_of_values(error) or care is Care.JOIN_KEYS:
                raise
            failed = error
        self.care = Care(care + 1)
        try:
            found = self.run(leaves, logs, whole, aside)
        except Exception:
            self.care = care  # it did not help
            raise failed from None
        if not found.failures and not (isinstance(failed, PySparkException) and of_values(failed)):
            self.care = care  # what went wrong has passed, and had nothing to do with rows
        return found

    def frame(
        self, leaves: Mapping[Place, Leaf], logs: Mapping[str, Rows], whole: Whole | None = None
    ) -> DataFrame | None:
        """One run as a frame; None: nothing to run."""
        return compile_run(self.catalog, self.plan, leaves, logs, self.finish, whole, self._builder)

    def _builder(self, catalog: Catalog, rows: Callable[[Reading], Found]) -> Builder:
        if not self.careful:
            return Builder(catalog, rows, tracked=self.tracked)
        return IsolatingBuilder(catalog, rows, sites=self.sites, keys_too=self.care is Care.JOIN_KEYS)

    @property
    def tracked(self) -> bool:
        """Whether rows must say what they were made of: another piece of the query may fail on them."""
        return self.output_columns is not None and self.output_columns.tracked

    def frontiers(self, leaves: Mapping[Place, Leaf], whole: Whole | None, new: bool) -> dict[Ref, EventTime]:
        """The frontiers of the results before or after a run, in the event times that the outlet names."""
        survey = survey_of(self.catalog, self.plan, leaves, whole=whole)
        times = () if self.output_columns is None else self.output_columns.times
        return {ref: survey.frontier(self.plan, (), ref, new) for ref in times}

    def closes(self, leaves: Mapping[Place, Leaf], whole: Whole | None = None) -> bool:
        """Whether a window closes in a run."""
        return survey_of(self.catalog, self.plan, leaves, whole=whole).closes()

    def closed(self, leaves: Mapping[Place, Leaf]) -> tuple[EventTime, ...]:
        """The last ends of the windows that have closed after a run."""
        return survey_of(self.catalog, self.plan, leaves).closed_windows()

    @property
    def hidden_schema(self) -> pa.Schema:
        """The output with `_arrival`, `_closes`, and for another piece the event times and `_from`."""
        times = () if self.output_columns is None else self.output_columns.times
        inner = [pa.field(f"_t{number}", pa.int64()) for number in range(len(times))]
        told = [pa.field(FROM, ORIGINS)] if self.tracked else []
        return pa.schema([*result_schema(self.schema), *inner, *told])

    def _result(
        self, leaves: Mapping[Place, Leaf], logs: Mapping[str, Rows], whole: Whole | None, aside: Path | None
    ) -> Result:
        frame = self.frame(leaves, logs, whole)
        if frame is None:
            return Result(self.hidden_schema.empty_table())
        if aside is not None:
            return self._written(frame, aside)
        if not self.careful:
            return Result(execute(frame, self.hidden_schema))
        rows = collected(frame)
        failed = pc.is_valid(rows[FAILED])
        return Result(self._good(rows.filter(pc.invert(failed))), self._failures(rows.filter(failed)))

    def _written(self, frame: DataFrame, aside: Path) -> Result:
        """Executors write the results; what failed comes back in a job of its own."""
        none, names = self.hidden_schema.empty_table(), self.schema.names
        if not self.careful:
            return Result(none, written=write(frame, names, aside))
        failures = self._failures(collected(frame.where(f"{FAILED} IS NOT NULL")))
        return Result(none, failures, write(frame.where(f"{FAILED} IS NULL"), names, aside))

    def _good(self, rows: pa.Table) -> pa.Table:
        if not rows.num_rows:  # then some columns may be missing
            return self.hidden_schema.empty_table()
        return rows.select(self.hidden_schema.names).cast(self.hidden_schema)

    def _failures(self, rows: pa.Table) -> tuple[Failure, ...]:
        """What failed, each once."""
        notes = rows[FAILED].to_pylist()
        found: dict[Key, Failure] = {}
        for note, reason, origins, closes in zip(
            notes,
            self.sites.reasons(notes),
            rows[FROM].to_pylist(),
            rows[CLOSES].cast(pa.int64()).to_pylist(),
            strict=True,
        ):
            offsets = tuple((each["stream"], each["offset"]) for each in origins or ())
            failure = Failure(offsets, reason, self.sites.held(note), closes)
            found.setdefault(failure.key, failure)
        return tuple(found.values())


def prepare_query(
    spark: SparkSession,
    plan: Operator,
    streams: Mapping[str, Stream],
    tables: Mapping[str, DataFrame],
    output_columns: OutputColumns | None = None,
) -> PreparedQuery:
    """Check a plan with Spark's analyser over empty streams; refuse unknown functions and types that do not fit."""
    try:
        types, frame = _analysed(Catalog(spark, streams, without_rows(spark, plan, tables)), plan)
        check(frame)
        finish = finishing(frame.columns) if output_columns is None else output_columns.finished
        output = to_arrow_schema(finish(frame, ()).schema, timezone="UTC")
    except PySparkException as error:
        raise HeadgateError(f"Spark refuses the query: {spark_message(error)}", hint="correct the expression") from None
    except (Py4JError, ValueError, pa.ArrowException) as error:
        raise HeadgateError(f"Spark refuses the query: {first_line(error)}", hint="correct the expression") from None
    check_result(output)
    catalog = Catalog(spark, streams, tables, types)
    hidden = 2 + len(output_columns.times if output_columns else ())
    return PreparedQuery(catalog, plan, pa.schema([*output][:-hidden]), finish, output_columns)


def execute(frame: DataFrame, schema: pa.Schema) -> pa.Table:
    """One Spark job: the rows of a frame as Arrow."""
    return collected(frame).cast(schema)


def _analysed(catalog: Catalog, plan: Operator) -> tuple[dict[Place, StructType], DataFrame]:
    """The types that set operations agree on, inner ones first, and a frame like those of the runs."""
    types: dict[Place, StructType] = {}

    def build(node: Operator, place: Place) -> DataFrame:
        known = Catalog(catalog.spark, catalog.streams, catalog.tables, types)
        made = Builder(known, _no_rows(known), shape_only=True).frame(_everything(node, place), {})
        assert made is not None
        return made

    def visit(node: Operator | Source, place: Place) -> None:
        if isinstance(node, Source):
            return
        for number, child in enumerate(node.inputs):
            visit(child, (*place, number))
        if isinstance(node, Union | Except):
            whole = build(Union(inputs=node.inputs), place)
            types[place] = StructType(whole.schema.fields[:-2])

    visit(plan, ())
    return types, build(plan, ())


def _no_rows(catalog: Catalog) -> Callable[[Reading], Found]:
    def rows(reading: Reading) -> Found:
        assert isinstance(reading.node, Source)
        stream = catalog.streams[reading.node.stream]
        if isinstance(stream, FragmentStream):
            return Found(fragment_rows.empty(stream))
        return Found(with_hidden(arrow_schema(stream)).empty_table())

    return rows


def _everything(node: Operator | Source, place: Place) -> Reading:
    if isinstance(node, Source):
        return Reading(node, place)
    below = tuple(_everything(child, (*place, number)) for number, child in enumerate(node.inputs))
    return Reading(node, place, below)
