"""Where a query's expressions may fail, and why they did."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import sqlglot
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.types import StructType
from sqlglot import exp

from headgate.spark.compile.event_times import quoted
from headgate.spark.compile.fragment_stream import Ref
from headgate.spark.compile.frames import literal
from headgate.spark.compile.safe_expressions import tried
from headgate.spark.jvm.errors import spark_message

LONGEST = 4_000  # characters of a failing row that are kept
LOOKUPS = 8  # failing rows of a run for which Spark is asked why: each takes milliseconds
MOST_EXPRESSIONS = 20  # of a failing row that Spark is asked about, one by one
LONGEST_TEXT = 200  # characters of an expression in a reason
KEPT = 1_000  # reasons that are remembered


@dataclass(frozen=True, slots=True)
class Site:
    """Expressions that are computed together over rows of some columns."""

    expressions: tuple[str, ...]
    types: str  # of the columns, as DDL
    reason: str = ""  # where it can fail for one reason only

    def read(self, row: str) -> str:
        """What the expressions read of a row: rows that are alike there fail for the same reason."""
        try:
            held = json.loads(row)
        except ValueError:  # too long to be told
            return row
        names = _names(self.expressions)
        return json.dumps({name: value for name, value in held.items() if name in names})

    def text(self) -> str:
        """What failed, for people."""
        return shortened(", ".join(self.expressions))


@dataclass(slots=True)
class Sites:
    """The sites of one query, numbered as they are met. A failing row says the number, and what it holds as JSON."""

    spark: SparkSession
    _sites: list[Site] = field(default_factory=list)
    _numbers: dict[tuple[object, ...], int] = field(default_factory=dict)
    _reasons: dict[str, str] = field(default_factory=dict)

    def note(self, frame: DataFrame, refs: Sequence[Ref], expressions: Sequence[str], reason: str = "") -> Column:
        """What a row of a frame says when these expressions fail on it; `refs` are the columns to be told."""
        return F.concat(F.lit(f"{self.number(frame, refs, expressions, reason)} "), row_told(self.spark, refs))

    def number(self, frame: DataFrame, refs: Sequence[Ref], expressions: Sequence[str], reason: str = "") -> int:
        """The number of a site."""
        held = nested(refs)
        key = (tuple(expressions), held)
        if key not in self._numbers:
            types = frame.select(F.expr(held).alias("row")).schema["row"].dataType
            assert isinstance(types, StructType)
            ddl = ", ".join(f"{quoted((one.name,))} {one.dataType.simpleString()}" for one in types)
            self._numbers[key] = len(self._sites)
            self._sites.append(Site(tuple(expressions), ddl, reason))
        return self._numbers[key]

    def reasons(self, notes: Sequence[str]) -> list[str]:
        """Why each row failed. What it says depends on the row alone, so equal rows are asked about once."""
        asked, found = 0, []
        for note in notes:
            site, row = self._site(note)
            key = f"{note.partition(' ')[0]} {site.read(row)}"
            if key not in self._reasons and asked < LOOKUPS:
                asked += 1
                self._remember(key, self._reason(site, row))
            found.append(self._reasons.get(key) or f"{site.text()} failed")
        return found

    def held(self, note: str) -> str:
        """The failing row, as JSON."""
        return self._site(note)[1]

    def _site(self, note: str) -> tuple[Site, str]:
        number, _, row = note.partition(" ")
        return self._sites[int(number)], row

    def _remember(self, note: str, reason: str) -> None:
        if len(self._reasons) >= KEPT:
            self._reasons.clear()
        self._reasons[note] = reason

    def _reason(self, site: Site, row: str) -> str:
        """Let Spark's optimiser compute the expressions over constants: it fails as the job would, without a job."""
        if site.reason:
            return f"{site.reason}: {site.text()}"
        given = f"SELECT row.* FROM (SELECT from_json({literal(row)}, {literal(site.types)}) AS row)"
        for expression in site.expressions[:MOST_EXPRESSIONS]:
            try:
                computed: Any = self.spark.sql(f"SELECT {expression} FROM ({given})")
                computed._jdf.queryExecution().optimizedPlan()
            except PySparkException as error:
                return f"{spark_message(error)}: {shortened(expression)}"
        return f"{site.text()} failed"


@cache
def _names(expressions: tuple[str, ...]) -> frozenset[str]:
    """All names in some expressions."""
    return frozenset(
        part.name for one in expressions for part in sqlglot.parse_one(one, dialect="spark").find_all(exp.Identifier)
    )


def shortened(expression: str) -> str:
    """An expression as a reason tells it."""
    return f"{expression[:LONGEST_TEXT]}…" if len(expression) > LONGEST_TEXT else expression


def row_told(spark: SparkSession, refs: Sequence[Ref]) -> Column:
    """Columns of a row as JSON, not too long; an empty object where they cannot be written so."""
    return F.left(F.coalesce(tried(spark, f"to_json({nested(refs)})"), F.lit("{}")), F.lit(LONGEST))


def nested(refs: Sequence[Ref]) -> str:
    """Columns as one struct: those of a join's sides each in a struct of their own, as expressions name them.

    >>> nested([("a", "k"), ("b", "k"), ("v",)])
    'struct(struct(`a`.`k` AS `k`) AS `a`, struct(`b`.`k` AS `k`) AS `b`, `v` AS `v`)'
    """
    sides: dict[str, list[Ref]] = {}
    for ref in refs:
        sides.setdefault(ref[0], []).append(ref)
    fields = []
    for name, own in sides.items():
        value = quoted((name,)) if (name,) in own else f"struct({', '.join(_named(ref) for ref in own)})"
        fields.append(f"{value} AS {quoted((name,))}")
    return f"struct({', '.join(fields)})"


def _named(ref: Ref) -> str:
    return f"{quoted(ref)} AS {quoted(ref[-1:])}"
