"""What results must be: the same SQL as one Spark batch over the rows that each query reads."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from tests.spark.compile.logs import counted
from tests.spark.fuzz.case import Case
from tests.spark.fuzz.data import to_arrow
from tests.spark.fuzz.model import Model, QueryModel, Span
from tests.spark.fuzz.sql import batch_sql, windowed

Rows = Counter[tuple[Any, ...]]
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    # Else Spark computes what two conditions have in common before both, also where neither would have come to it.
    "spark.sql.subexpressionElimination.enabled": "false",
}
ROOMS = pa.table(
    {"id": [1, 2, 2, None], "label": ["x", "y", "z", "none"], "floor": pa.array([1, 2, None, 4], pa.int32())}
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Results that must be there, and others that may."""

    must: Rows
    may: Rows

    def difference(self, found: Rows) -> str:
        """What is wrong with what was found, "" if nothing is.

        >>> Wanted(Counter([(1,), (2,)]), Counter([(3,)])).difference(Counter([(2,), (3,), (4,)]))
        '1 of 2 lost, as (1,); 1 not asked for, as (4,)'
        """
        lost, extra = self.must - found, found - self.must - self.may
        told = [f"{lost.total()} of {self.must.total()} lost, as {next(iter(lost))}"] if lost else []
        if extra:
            told.append(f"{extra.total()} not asked for, as {next(iter(extra))}")
        return "; ".join(told)


class Oracle:
    """Answers for one case, when all of it has been done."""

    def __init__(self, spark: SparkSession, case: Case, model: Model) -> None:
        self._spark, self._case, self._model = spark.newSession(), case, model
        spark = self._spark
        for key, value in SETTINGS.items():
            spark.conf.set(key, value)
        spark.createDataFrame(ROOMS).createOrReplaceTempView("rooms")
        for name, known in model.streams.items():
            rows = to_arrow(known.stream, known.rows)
            rows = rows.append_column("o__", pa.array(known.offsets, pa.int64()))
            rows = rows.append_column("late__", pa.array(known.late, pa.bool_()))
            schema = f"{known.stream.ddl}, o__ bigint, late__ boolean"
            spark.createDataFrame(rows, schema).createOrReplaceTempView(view(name))

    def wanted(self, query: QueryModel) -> Wanted:
        """The results of all spans; of one that was cut off while it was not settled they may be there."""
        must, may = Rows(), Rows()
        for span in query.spans:
            found = self.rows(self.text(span))
            certain = span.ends is None or (span.exact and not windowed(span.tree))
            if certain and not query.lost:
                must += found
            else:
                may += found
        return Wanted(must, may)

    def text(self, span: Span) -> str:
        """The batch that a span is compared with."""
        return batch_sql(span.tree, lambda stream, above: self._rows(span, stream, above))

    def _rows(self, span: Span, stream: str, above: bool) -> str:
        columns = ", ".join(self._case.stream(stream).names)
        return f"(SELECT {columns} FROM {view(stream)} WHERE {self.limits(span, stream, above)})"

    def limits(self, span: Span, stream: str, above: bool) -> str:
        """In SQL which rows of a stream a span reads, with a window above it or not."""
        limits = [f"o__ >= {span.starts[stream]}"]
        limits += [f"o__ < {span.ends[stream]}"] if span.ends is not None else []
        limits += ["NOT late__"] if above else []
        return " AND ".join(limits)

    def rows(self, text: str) -> Rows:
        """The rows of some SQL over the views, with their multiplicity."""
        return counted(self._spark.sql(text).toArrow())


def view(stream: str) -> str:
    return f"fuzz_{stream}"
