"""What Spark's analysis of a query gave, kept by the query's form, so that the next query of that form needs none.

Only what was accepted is kept: a refusal is a sentence about one query, with its constants.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headgate.model import Operator, Stream, TableJoin, streams, walk
from headgate.plan.places import Place
from headgate.spark.compile.frames import Finish
from headgate.spark.compile.query_forms import form, text_columns

MOST = 2_000  # forms that are kept


@dataclass(frozen=True, slots=True)
class Analysis:
    """What is equal for all queries of one form."""

    types: Mapping[Place, StructType]  # that set operations agree on
    schema: pa.Schema  # of the results
    finish: Finish


class KnownForms:
    """Analyses of one Spark session, by form. Several threads may use it: at worst both analyse a form.

    The key holds all that an analysis reads: the form, the streams as they are declared, the columns of tables, and the
    settings of the Spark session. So a stream that is declared anew with other columns is another key.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._settings: Any = None if spark is None else _settings(spark)
        self._known: dict[Hashable, Analysis] = {}

    def __len__(self) -> int:
        return len(self._known)

    def key(self, plan: Operator, declared: Mapping[str, Stream], tables: Mapping[str, DataFrame]) -> Hashable:
        """The key of a plan."""
        read = [declared[name] for name in sorted(streams(plan))]
        joined = sorted({node.table for node in walk(plan) if isinstance(node, TableJoin)})
        schemas = [tables[name].schema for name in joined]
        relations = [dict(stream.schema) for stream in read]
        relations += [{column.name: column.dataType.simpleString() for column in schema} for schema in schemas]
        shape = form(plan, text_columns(plan, relations))
        described = tuple((name, schema.json()) for name, schema in zip(joined, schemas, strict=True))
        return shape, tuple(read), described, self._settings.hashCode()

    def find(self, key: Hashable) -> Analysis | None:
        """The analysis of another plan with this key."""
        return self._known.get(key)

    def keep(self, key: Hashable, analysis: Analysis) -> None:
        """Remember an analysis."""
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[key] = analysis


def _settings(spark: SparkSession) -> Any:
    """The settings of a session, as an object whose hash changes with them."""
    private: Any = spark
    return private._jsparkSession.sessionState().conf().settings()
