"""Jobs that run again and again on other rows: planned once, then only the leaves of the plan are replaced.

Between two runs of a group only the rows change, yet Spark would analyse, optimise and plan the job anew, and generate
its code. A `RepeatedJob` keeps the executed plan of its first run. For every later run it gives the plan new leaves,
which are scans of the new rows, builds the nodes above them again with `withNewChildren`, and runs that. Short trains
are evaluated by Spark's interpreter: for some hundred rows, to generate code takes longer than to do without.

This leans on the inside of Spark, so it is kept in this one module and used only where all is as it knows it: the plan
has no other nodes than those in `KNOWN`, and a probe, once for each Spark session, gives the rows of the ordinary way.
Otherwise, and for large trains, the ordinary way serves. What shuffles or broadcasts has no place among the known
nodes: an exchange keeps the rows that it has computed once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, cast

import pyarrow as pa
from pyspark.serializers import NoOpSerializer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.util import _load_from_socket

from headgate import logs
from headgate.spark.compile.arrow_types import Note, notes, plain
from headgate.spark.compile.quick_frames import arrow_types, collect, java_frame, ship
from headgate.spark.compile.rows_read import add_rows
from headgate.spark.jvm.errors import SPARK_ERRORS, may_be_of_values, one_line

FEW = 20_000  # rows of a train whose plan is repeated
INTERPRETED = 5_000  # rows that the interpreter evaluates faster than Spark generates code for them
_SHORT = 2_000  # rows whose bytes go with a call
OFF = "HEADGATE_REPEATED_JOBS"  # set to "off", every run is planned anew: for measuring and for comparing results
KNOWN = frozenset(
    {
        *("RDDScanExec", "ProjectExec", "FilterExec", "CoalesceExec", "GenerateExec", "UnionExec"),
        *("HashAggregateExec", "ObjectHashAggregateExec", "SortAggregateExec", "SortExec"),
        *("WholeStageCodegenExec", "InputAdapter"),
    }
)
_INTERPRETED = ("spark.sql.codegen.factoryMode", "NO_CODEGEN")
_log = logs.logger("compile")

Java = Any  # an object in the JVM
_Columns = tuple[pa.Schema, tuple[Note, ...]]
Build = Callable[[Sequence[DataFrame]], DataFrame]


@dataclass(slots=True)
class RepeatedJob:
    """A job over tables of the driver, one or several; `build` makes its frame from theirs."""

    spark: SparkSession
    build: Build
    interpreted: int = INTERPRETED  # rows up to which it is not worth generating code
    _plans: dict[tuple[bool, tuple[_Columns, ...]], _Plan | None] = field(default_factory=dict)

    def collect(self, *tables: pa.Table, rows: int = FEW) -> pa.Table:
        """One Spark job: the rows of the frame over these tables, shipped with at most `rows` rows in a partition."""
        count = sum(table.num_rows for table in tables)
        plan = self._plan(tables, count <= self.interpreted) if count <= FEW else None
        if plan is not None:
            try:
                return plan.run(tables)
            except SPARK_ERRORS as error:
                if not may_be_of_values(error):
                    raise
                # The ordinary way tells what has failed, in words that are known.
        return collect(self.build([ship(self.spark, table, rows) for table in tables]))

    def _plan(self, tables: Sequence[pa.Table], interpret: bool) -> _Plan | None:
        key = interpret, tuple((table.schema, notes(table.schema)) for table in tables)
        if key not in self._plans:
            spark = interpreting(self.spark) if interpret else self.spark
            self._plans[key] = _planned(spark, self.build, tables) if usable(self.spark) else None
        return self._plans[key]


def usable(spark: SparkSession) -> bool:
    """Whether plans can be repeated in this Spark; a probe finds out, once."""
    return os.environ.get(OFF) != "off" and _probe(spark)


class _Node(NamedTuple):
    """A node of a plan with those below it; a leaf has the number of its table."""

    java: Java
    below: tuple[_Node, ...]
    table: int


class _Scan(NamedTuple):
    """A leaf of a plan, with those of its arguments that stay the same."""

    java: Java
    before: tuple[Java, ...]
    after: tuple[Java, ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """An executed plan, whose leaves are replaced for every run."""

    frame: DataFrame  # whose plan it is
    root: _Node
    scans: tuple[_Scan, ...]
    schema: pa.Schema

    def run(self, tables: Sequence[pa.Table]) -> pa.Table:
        """One Spark job on other rows of the same types."""
        spark = self.frame.sparkSession
        frame, tools = cast(Any, self.frame), _tools(spark)
        with _active(spark):
            leaves = [_with_rows(spark, scan, table) for scan, table in zip(self.scans, tables, strict=True)]
            batches = frame._jdf.toArrowBatchRdd(_rebuilt(self.root, leaves, tools.nothing))
            address, secret, _ = tools.python_rdd.collectAndServe(batches)
        with _load_from_socket((address, secret), NoOpSerializer()) as messages:
            received = list(messages)
        return pa.Table.from_batches(
            [pa.ipc.read_record_batch(pa.py_buffer(batch), self.schema) for batch in received], self.schema
        )


def _planned(spark: SparkSession, build: Build, tables: Sequence[pa.Table]) -> _Plan | None:
    """The plan of a job over tables of these types; None: it has nodes that are not known, or other leaves."""
    frame = build([ClassicDataFrame(shipped(spark, table.slice(0, 0)), spark) for table in tables])
    private: Any = frame
    scans: list[_Scan] = []
    try:
        root = _node(private._jdf.queryExecution().executedPlan(), scans, [table.column_names for table in tables])
    except _UnknownPlanError as error:
        _log.debug("a job is planned anew for every run", reason=str(error))
        return None
    if len(scans) != len(tables):
        return None
    return _Plan(frame, root, tuple(scans), plain(frame.schema))


class _UnknownPlanError(Exception):
    """A plan is unlike those that can be repeated."""


def _node(java: Java, scans: list[_Scan], tables: Sequence[Sequence[str]]) -> _Node:
    kind = java.getClass().getSimpleName()
    if kind not in KNOWN:
        raise _UnknownPlanError(f"{kind} in its plan")
    children = java.children()
    if not children.isEmpty():
        return _Node(java, tuple(_node(children.apply(n), scans, tables) for n in range(children.size())), -1)
    output = java.output()
    names = [output.apply(number).name() for number in range(output.size())]
    if len(scans) >= len(tables) or names != list(tables[len(scans)]):
        raise _UnknownPlanError("a leaf is not the scan of a table")
    arguments = (java.name(), java.outputPartitioning(), java.outputOrdering(), java.stream())
    scans.append(_Scan(java, (output,), arguments))
    return _Node(java, (), len(scans) - 1)


def _with_rows(spark: SparkSession, scan: _Scan, table: pa.Table) -> Java:
    """A leaf like another, over new rows."""
    add_rows(table.num_rows)
    rows = shipped(spark, table).queryExecution().logical().rdd()
    return scan.java.copy(*scan.before, rows, *scan.after)


def _rebuilt(node: _Node, leaves: Sequence[Java], nothing: Java) -> Java:
    """The node and those below it over new leaves."""
    if node.table >= 0:
        return leaves[node.table]
    children = nothing
    for child in reversed(node.below):
        children = getattr(children, "$colon$colon")(_rebuilt(child, leaves, nothing))
    return node.java.withNewChildren(children)


def shipped(spark: SparkSession, table: pa.Table) -> Java:
    """A table as a Java frame of one partition.

    The bytes of a short one go with the call, which is quicker than over a connection of its own.
    """
    if table.num_rows > _SHORT:
        return java_frame(spark, table, table.num_rows)
    _, arrow, text = arrow_types(table.schema)
    (batch,) = table.cast(arrow).combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=arrow)]
    tools, private = _tools(spark), cast(Any, spark)
    batches = tools.iterator.single(batch.serialize().to_pybytes())
    return tools.utilities.toDataFrame(batches, text, private._jsparkSession)


class _Tools(NamedTuple):
    """What is looked up in the JVM once, since every look-up is a few calls."""

    nothing: Java  # an empty list
    iterator: Java
    utilities: Java
    python_rdd: Java
    context: Java
    sessions: Java
    session: Java


@cache
def _tools(spark: SparkSession) -> _Tools:
    jvm: Any = spark._jvm
    context: Any = spark.sparkContext
    nothing = getattr(getattr(jvm.scala.collection.immutable, "Nil$"), "MODULE$")
    sessions, private = jvm.org.apache.spark.sql.classic.SparkSession, cast(Any, spark)
    iterator, utilities, rdds = jvm.scala.collection.Iterator, jvm.PythonSQLUtils, jvm.PythonRDD
    return _Tools(nothing, iterator, utilities, rdds, context._jsc.sc(), sessions, private._jsparkSession)


@cache
def interpreting(spark: SparkSession) -> SparkSession:
    """A clone of the session that plans for Spark's interpreter, without generated code."""
    original: Any = spark
    clone = SparkSession(spark.sparkContext, original._jsparkSession.cloneSession())
    clone.conf.set("spark.sql.codegen.wholeStage", "false")
    clone.conf.set(*_INTERPRETED)
    return clone


@contextmanager
def _active(spark: SparkSession) -> Iterator[None]:
    """Let plans that this thread makes meanwhile belong to the session, and tasks that it starts have its settings.

    Spark does that for its own actions.
    """
    tools = _tools(spark)
    tools.sessions.setActiveSession(tools.session)
    properties = tools.context.getLocalProperties()
    properties.putAll(_settings(spark))
    try:
        yield
    finally:
        properties.remove(_INTERPRETED[0])  # the only one in which the sessions differ
        tools.sessions.clearActiveSession()


@cache
def _settings(spark: SparkSession) -> Java:
    """A session's settings as Java's properties."""
    jvm: Any = spark._jvm
    private: Any = spark
    properties = jvm.java.util.Properties()
    entries = private._jsparkSession.sessionState().conf().getAllConfs().iterator()
    while entries.hasNext():
        entry = entries.next()
        if entry._1().startswith("spark.sql."):
            properties.setProperty(entry._1(), entry._2())
    return properties


@cache
def _probe(spark: SparkSession) -> bool:
    """Whether a repeated plan gives what the ordinary way gives; if anything is unlike that, plans are not repeated."""
    first, second = (pa.table({"n": [n, None], "text": ["a", str(n)]}) for n in (1, 2))

    def build(frames: Sequence[DataFrame]) -> DataFrame:
        return frames[0].selectExpr("n + 1 AS m", "text", "CASE WHEN n > 1 THEN 1L ELSE 0L END AS tags").where("m > 0")

    try:
        plans = [_planned(session, build, [first]) for session in (interpreting(spark), spark)]
        same = all(
            plan is not None and plan.run([table]).equals(collect(build([ship(spark, table, FEW)])))
            for plan in plans
            for table in (first, second)
        )
    except Exception as error:  # whatever it is: the ordinary way does without
        _log.info("jobs are planned anew for every run", reason=one_line(error))
        return False
    if not same:
        _log.info("jobs are planned anew for every run", reason="a repeated plan gave other rows in a probe")
    return same
