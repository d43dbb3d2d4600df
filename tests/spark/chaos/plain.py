"""Runs of queries without Spark: what Spark's analyser and its jobs give, from Python lists.

Everything that decides what a run reads is the real code: the survey, the reader of the logs, the rows that wait
between pieces. Only the frames that a run would hand to Spark are lists of rows here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from tests.spark.chaos.expressions import Ref, Values, fold, scalar

from headgate.model import Aggregate, Join, Operator, Project, Select, Source, Stream, Union
from headgate.spark.compile.event_time_columns import END, START, is_reference, reference
from headgate.spark.compile.fragment_rows import OutputColumns, scope
from headgate.spark.compile.fragment_stream import FragmentStream
from headgate.spark.compile.frames import Catalog, RowsOf, WholeQuery, survey_of
from headgate.spark.compile.leaf_rows import Leaves, Logs
from headgate.spark.compile.log_reader import LogReader
from headgate.spark.compile.prepared_query import Failure, PreparedQuery, Result
from headgate.spark.compile.read_sets import Reading, check_leaves
from headgate.spark.compile.schemas import ARRIVAL, CLOSES, FROM, OFFSET, arrow_schema
from headgate.spark.compile.time_spans import floor, micros

TIME = pa.timestamp("us", "UTC")
Origin = tuple[str, int]


class Row(NamedTuple):
    """A row on its way through a plan; times are microseconds."""

    values: Values
    arrival: float
    closes: int | None
    origins: tuple[Origin, ...]


@dataclass(slots=True)
class Tables:
    """What a plan gives, reading by reading."""

    streams: Mapping[str, Stream]
    rows: RowsOf
    failures: list[Failure] = field(default_factory=list)

    def of(self, reading: Reading) -> list[Row]:
        """The rows of a node."""
        node = reading.node
        match node:
            case Source():
                return _stored(self.streams[node.stream], self.rows(reading).table)
            case Join():
                return self._joined(node, *map(self.of, reading.inputs))
            case Aggregate():
                return self._counted(node, self.of(reading.inputs[0]))
        below = [row for one in reading.inputs for row in self.of(one)]
        match node:
            case Select():
                holds = scalar(node.predicate)
                return [row for row in below if holds(row.values)]
            case Project():
                return self._projected(node, below)
            case Union():
                return below
        raise NotImplementedError(node)

    def _projected(self, node: Project, rows: Sequence[Row]) -> list[Row]:
        columns = [((column.name,), scalar(column.expression)) for column in node.columns]
        made = []
        for row in rows:
            try:
                made.append(row._replace(values={ref: compute(row.values) for ref, compute in columns}))
            except ZeroDivisionError:
                self.failures.append(Failure(row.origins, "division by zero", closes=row.closes))
        return made

    def _joined(self, node: Join, lefts: list[Row], rights: list[Row]) -> list[Row]:
        left_time, right_time = scalar(node.left_time), scalar(node.right_time)
        low, high, holds = micros(node.lower), micros(node.upper), scalar(node.condition)
        made = []
        for left in lefts:
            mine = _owned(left.values, node.left)
            for right in rights:
                values = {**mine, **_owned(right.values, node.right)}
                if low <= right_time(values) - left_time(values) <= high and holds(values):
                    arrival = max(left.arrival, right.arrival)
                    made.append(Row(values, arrival, None, (*left.origins, *right.origins)))
        return made

    def _counted(self, node: Aggregate, rows: Sequence[Row]) -> list[Row]:
        size, time = micros(node.window.size), scalar(node.time)
        keys = [((key.name,), scalar(key.expression)) for key in node.keys]
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in rows:
            start = int(floor(time(row.values), size))
            groups.setdefault((start, *(compute(row.values) for _, compute in keys)), []).append(row)
        return [_group(node, size, [ref for ref, _ in keys], group, found) for group, found in groups.items()]


def _group(node: Aggregate, size: int, keys: Sequence[Ref], group: tuple[Any, ...], rows: Sequence[Row]) -> Row:
    start, *held = group
    values: dict[Ref, Any] = {START: start, END: start + size, **dict(zip(keys, held, strict=True))}
    for column in node.aggregates:
        values[(column.name,)] = fold(column.expression)([row.values for row in rows])
    origins = [row.origins for row in rows]
    return Row(values, max(row.arrival for row in rows), start + size, (*min(origins), *max(origins)))


def _stored(stream: Stream, table: pa.Table) -> list[Row]:
    """Rows of a log, or rows that wait inside a query."""
    if isinstance(stream, FragmentStream):
        columns = [_plain(table[name]) for name in stream.types.names]
        found = [tuple((each["stream"], each["offset"]) for each in one) for one in table[FROM].to_pylist()]
        return [
            Row(dict(zip(stream.refs, values, strict=True)), arrival, closes, origins)
            for arrival, closes, origins, *values in zip(
                table[ARRIVAL].to_pylist(), _plain(table[CLOSES]), found, *columns, strict=True
            )
        ]
    refs = [(name,) for name in stream.columns]
    columns = [_plain(table[name]) for name in stream.columns]
    return [
        Row(dict(zip(refs, values, strict=True)), arrival, None, ((stream.name, offset),))
        for arrival, offset, *values in zip(
            table[ARRIVAL].to_pylist(), table[OFFSET].to_pylist(), *columns, strict=True
        )
    ]


def _plain(column: Any) -> list[Any]:
    """Values as Python's, times as microseconds."""
    made: list[Any] = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
    return made


def _owned(values: Values, owner: str) -> Values:
    return {(owner, ref[-1]): value for ref, value in values.items()} if owner else values


@dataclass(slots=True)
class PlainEvaluation(PreparedQuery):
    """A plan that runs here."""

    refs: tuple[Ref, ...] = ()

    def __post_init__(self) -> None:
        """There is no Spark to be asked about expressions that fail."""

    def run(
        self,
        leaves: Leaves,
        logs: Logs,
        whole: WholeQuery | None = None,
        aside: Path | None = None,
    ) -> Result:
        del aside
        check_leaves(self.plan, leaves)
        reader = LogReader(leaves, logs, self.catalog.streams)
        survey = survey_of(self.catalog, self.plan, leaves, reader.train_span, whole)
        tables = Tables(self.catalog.streams, reader.rows_of)
        made = [row for reading in survey.readings() for row in tables.of(reading)]
        failures = {failure.key: failure for failure in tables.failures}
        return Result(self._table(made), tuple(failures.values()))

    def _table(self, rows: Sequence[Row]) -> pa.Table:
        schema = self.hidden_schema
        if not rows:
            return schema.empty_table()
        columns: list[list[Any]] = [[row.values[ref] for row in rows] for ref in self.refs]
        columns += [[row.arrival for row in rows], [row.closes for row in rows]]
        columns += [
            [row.values[ref] for row in rows] for ref in (self.output_columns.times if self.output_columns else ())
        ]
        if self.tracked:
            columns.append([[{"stream": name, "offset": at} for name, at in row.origins] for row in rows])
        arrays = [pa.array(column, one.type) for column, one in zip(columns, schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=schema)


def prepare_query(
    spark: Any,
    plan: Operator,
    streams: Mapping[str, Stream],
    tables: Any,
    output_columns: OutputColumns | None = None,
    known: object = None,
) -> PlainEvaluation:
    """What `jobs.evaluate.prepared` gives, without its analyser; so there is nothing to be `known`."""
    del known
    outputs = output_columns or OutputColumns.result(scope(plan, streams, {}))
    schema = pa.schema(
        [(name, _type(plan, ref, streams)) for ref, name in zip(outputs.refs, outputs.names, strict=True)]
    )
    return PlainEvaluation(
        Catalog(spark, streams, tables), plan, schema, lambda frame, extra: frame, output_columns, refs=outputs.refs
    )


def _type(node: Operator | Source, ref: Ref, streams: Mapping[str, Stream]) -> pa.DataType:
    match node:
        case Source():
            stream = streams[node.stream]
            if isinstance(stream, FragmentStream):
                return stream.types.field(stream.refs.index(ref)).type
            return arrow_schema(stream).field(ref[0]).type
        case Join():
            side = 1 if ref[0] == node.right else 0
            return _type(node.inputs[side], ref[1:] if side or node.left else ref, streams)
        case Project():
            expression = next(column.expression for column in node.columns if column.name == ref[0])
            return _type(node.inputs[0], reference(expression), streams) if is_reference(expression) else pa.int64()
        case Aggregate():
            if ref in (START, END):
                return TIME
            key = next((one for one in node.keys if one.name == ref[0]), None)
            return pa.int64() if key is None else _type(node.inputs[0], reference(key.expression), streams)
    return _type(node.inputs[0], ref, streams)
