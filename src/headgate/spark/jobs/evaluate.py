"""Runs of one query: checked once, then compiled and executed, with failing rows found in a second look."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from headgate.model import Except, HeadgateError, Operator, Project, Select, Source, Split, Stream, TableJoin, Union
from headgate.plan.sharing import Place
from headgate.spark.jobs import waiting
from headgate.spark.jobs.allowed import check
from headgate.spark.jobs.compile import Builder, Catalog, Finish, Found, Whole, compile_run, finishing, survey_of
from headgate.spark.jobs.direct import collected
from headgate.spark.jobs.guard import PLAIN, Careful
from headgate.spark.jobs.inner import Inner, Ref
from headgate.spark.jobs.problems import of_values, told
from headgate.spark.jobs.reading import Reading, sources
from headgate.spark.jobs.rows import Leaf, Range, Rows
from headgate.spark.jobs.schemas import arrow_schema, result_schema, with_hidden
from headgate.spark.jobs.spans import Moment
from headgate.spark.jobs.tables import without_rows
from headgate.spark.jobs.waiting import Outlet
from headgate.spark.jobs.writing import Written, write

MOST_FAILURES = 16  # rows whose reasons one run looks for: each takes several jobs


@dataclass(frozen=True, slots=True)
class Failure:
    """A tuple on which an expression of the query failed, and why."""

    stream: str
    offset: int
    reason: str


@dataclass(frozen=True, slots=True)
class Result:
    """What a run added: the rows with `_arrival` and `_closes`, and new tuples on which an expression failed.

    Where executors have written the rows themselves, `written` tells where, and `rows` has none. `careful` says that
    the run had to be repeated with guarded expressions: the caller may start so the next time.
    """

    rows: pa.Table
    failures: tuple[Failure, ...] = ()
    careful: bool = False
    written: Written | None = None

    @property
    def count(self) -> int:
        """How many rows it added, wherever they are."""
        return self.rows.num_rows if self.written is None else self.written.rows


@dataclass(slots=True)
class Evaluation:
    """A plan that Spark has checked and that can run. `schema` is its output, the hidden columns aside."""

    catalog: Catalog
    plan: Operator
    schema: pa.Schema
    finish: Finish
    outlet: Outlet | None = None
    careful: bool = field(default=False)

    def run(
        self,
        leaves: Mapping[Place, Leaf],
        logs: Mapping[str, Rows],
        whole: Whole | None = None,
        aside: Path | None = None,
    ) -> Result:
        """Compile and execute one run; given a folder, executors write the rows there, without the hidden columns.

        Once a row has failed, later runs are guarded from the start.
        """
        if self.careful:
            return replace(self._result(leaves, logs, whole, aside), careful=True)
        try:
            return self._result(leaves, logs, whole, aside)
        except PySparkException as error:
            if not of_values(error):
                raise
        self.careful = True
        found = self._result(leaves, logs, whole, aside)
        return replace(found, failures=tuple(self._failures(leaves, logs)), careful=True)

    def frame(
        self, leaves: Mapping[Place, Leaf], logs: Mapping[str, Rows], whole: Whole | None = None
    ) -> DataFrame | None:
        """One run as a frame; None: nothing to run."""
        guard = Careful(self.catalog.spark) if self.careful else PLAIN
        return compile_run(self.catalog, self.plan, leaves, logs, guard, self.finish, whole)

    def frontiers(self, leaves: Mapping[Place, Leaf], whole: Whole | None, new: bool) -> dict[Ref, Moment]:
        """The frontiers of the results before or after a run, in the event times that the outlet names."""
        survey = survey_of(self.catalog, self.plan, leaves, whole=whole)
        times = () if self.outlet is None else self.outlet.times
        return {ref: survey.frontier(self.plan, (), ref, new) for ref in times}

    def closes(self, leaves: Mapping[Place, Leaf], whole: Whole | None = None) -> bool:
        """Whether a window closes in a run."""
        return survey_of(self.catalog, self.plan, leaves, whole=whole).closes()

    def closed(self, leaves: Mapping[Place, Leaf]) -> tuple[Moment, ...]:
        """The last ends of the windows that have closed after a run."""
        return survey_of(self.catalog, self.plan, leaves).closed_windows()

    @property
    def hidden_schema(self) -> pa.Schema:
        """The output with `_arrival`, `_closes` and the outlet's event times."""
        times = () if self.outlet is None else self.outlet.times
        inner = [pa.field(f"_t{number}", pa.int64()) for number in range(len(times))]
        return pa.schema([*result_schema(self.schema), *inner])

    def _result(
        self, leaves: Mapping[Place, Leaf], logs: Mapping[str, Rows], whole: Whole | None, aside: Path | None
    ) -> Result:
        frame = self.frame(leaves, logs, whole)
        if frame is None:
            return Result(self.hidden_schema.empty_table())
        if aside is None:
            return Result(execute(frame, self.hidden_schema))
        return Result(self.hidden_schema.empty_table(), written=write(frame, self.schema.names, aside))

    def _failures(self, leaves: Mapping[Place, Leaf], logs: Mapping[str, Rows]) -> Iterator[Failure]:
        found = 0
        for place, source in sources(self.plan):
            chain = _stateless_above(self.plan, place)
            if chain is None:
                continue
            for failure in self._halve(chain, leaves[place], source, logs):
                yield failure
                found += 1
                if found == MOST_FAILURES:
                    return

    def _halve(self, chain: Operator, leaf: Leaf, source: Source, logs: Mapping[str, Rows]) -> Iterator[Failure]:
        """The failing tuples of a leaf: run what reads only this leaf on ever smaller halves of its train."""
        reason = self._reason(chain, leaf, logs) if leaf.range.first < leaf.range.last else None
        if reason is None:
            return
        first, last = leaf.range.first, leaf.range.last
        if last - first == 1:
            yield Failure(source.stream, first, reason)
            return
        middle = (first + last) // 2
        for half in (Range(first, middle), Range(middle, last)):
            yield from self._halve(chain, replace(leaf, range=half), source, logs)

    def _reason(self, chain: Operator, leaf: Leaf, logs: Mapping[str, Rows]) -> str | None:
        (place,) = (place for place, _ in sources(chain))
        frame = compile_run(self.catalog, chain, {place: leaf}, logs)
        try:
            if frame is not None:
                frame.toArrow()
        except PySparkException as error:
            if of_values(error):
                return told(error)
            raise
        return None


def evaluation(
    spark: SparkSession,
    plan: Operator,
    streams: Mapping[str, Stream],
    tables: Mapping[str, DataFrame],
    outlet: Outlet | None = None,
) -> Evaluation:
    """Check a plan with Spark's analyser over empty streams; refuse unknown functions and types that do not fit."""
    try:
        types, frame = _analysed(Catalog(spark, streams, without_rows(spark, plan, tables)), plan)
        check(frame)
        finish = finishing(frame.columns) if outlet is None else outlet.finished
        output = to_arrow_schema(finish(frame).schema, timezone="UTC")
    except PySparkException as error:
        raise HeadgateError(f"Spark refuses the query: {told(error)}", hint="correct the expression") from None
    catalog = Catalog(spark, streams, tables, types)
    hidden = 2 + len(outlet.times if outlet else ())
    return Evaluation(catalog, plan, pa.schema([*output][:-hidden]), finish, outlet)


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
        if isinstance(stream, Inner):
            return Found(waiting.empty(stream))
        return Found(with_hidden(arrow_schema(stream)).empty_table())

    return rows


def _everything(node: Operator | Source, place: Place) -> Reading:
    if isinstance(node, Source):
        return Reading(node, place)
    below = tuple(_everything(child, (*place, number)) for number, child in enumerate(node.inputs))
    return Reading(node, place, below)


def _stateless_above(plan: Operator, place: Place) -> Operator | None:
    """The operators over a leaf that look at one tuple at a time, up to the first that does not."""
    nodes: list[Operator | Source] = [plan]
    for number in place:
        node = nodes[-1]
        assert isinstance(node, Operator)
        nodes.append(node.inputs[number])
    found: Operator | None = None
    for node in reversed(nodes[:-1]):
        if not isinstance(node, Select | Project | Split | TableJoin):
            break
        found = node
    return found
