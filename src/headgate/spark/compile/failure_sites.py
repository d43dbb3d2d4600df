"""Where a query's expressions may fail, and why one did fail on a row.

A job only marks a failing row with a *note*: the number of the *site* (a set of expressions over some columns) and the
row's values as JSON, such as `3 {"k":0}`. The reason is found afterwards, for a few rows: the driver lets Spark's
optimiser compute the site's expressions over those values as constants, which fails with Spark's own message
("division by zero"), without a job.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.types import StructType

from headgate.plan.sql.rewriting import names_in
from headgate.spark.compile.event_time_columns import quoted
from headgate.spark.compile.fragment_stream import Ref
from headgate.spark.compile.safe_expressions import try_eval
from headgate.spark.compile.sql_text import literal
from headgate.spark.jvm.errors import SPARK_ERRORS, first_line

LONGEST = 4_000  # characters of a failing row that are kept
LOOKUPS = 8  # failing rows of a run for which the reason is looked up: each takes milliseconds
MOST_EXPRESSIONS = 20  # of a site that are tried one by one to find the one that fails
LONGEST_TEXT = 200  # characters of an expression in a reason
KEPT = 1_000  # reasons that are cached


@dataclass(frozen=True, slots=True)
class Site:
    """Expressions that are computed together over rows of some columns."""

    expressions: tuple[str, ...]
    types: str  # of the columns, as DDL
    reason: str = ""  # set if it can fail for one reason only

    def read(self, row: str) -> str:
        """The values that the expressions read of a row: rows with equal ones fail for the same reason."""
        try:
            values = json.loads(row)
        except ValueError:  # cut off, because it was too long
            return row
        names = _names(self.expressions)
        return json.dumps({name: value for name, value in values.items() if name in names})

    def text(self) -> str:
        """The expressions, shortened for a message."""
        return shortened(", ".join(self.expressions))


@dataclass(slots=True)
class Sites:
    """The sites of one query, numbered as they are met, and the reasons found so far."""

    spark: SparkSession
    _sites: list[Site] = field(default_factory=list)
    _numbers: dict[tuple[object, ...], int] = field(default_factory=dict)
    _reasons: dict[str, str] = field(default_factory=dict)

    def note(self, frame: DataFrame, refs: Sequence[Ref], expressions: Sequence[str], reason: str = "") -> Column:
        """The note of a row on which these expressions fail; `refs` are the columns whose values it carries."""
        return F.concat(F.lit(f"{self.number(frame, refs, expressions, reason)} "), row_as_json(self.spark, refs))

    def number(self, frame: DataFrame, refs: Sequence[Ref], expressions: Sequence[str], reason: str = "") -> int:
        """The number of a site."""
        row_struct = nested(refs)
        key = (tuple(expressions), row_struct)
        if key not in self._numbers:
            types = frame.select(F.expr(row_struct).alias("row")).schema["row"].dataType
            assert isinstance(types, StructType)
            ddl = ", ".join(f"{quoted((column.name,))} {column.dataType.simpleString()}" for column in types)
            self._numbers[key] = len(self._sites)
            self._sites.append(Site(tuple(expressions), ddl, reason))
        return self._numbers[key]

    def reasons(self, notes: Sequence[str]) -> list[str]:
        """Why each row failed, by its note. It depends on the row alone, so equal rows are looked up once."""
        lookups, reasons = 0, []
        for note in notes:
            site, row = self._site(note)
            key = f"{note.partition(' ')[0]} {site.read(row)}"
            if key not in self._reasons and lookups < LOOKUPS:
                lookups += 1
                self._remember(key, self._reason(site, row))
            reasons.append(self._reasons.get(key) or f"{site.text()} failed")
        return reasons

    def row_of(self, note: str) -> str:
        """The failing row's values in a note, as JSON."""
        return self._site(note)[1]

    def _site(self, note: str) -> tuple[Site, str]:
        number, _, row = note.partition(" ")
        return self._sites[int(number)], row

    def _remember(self, key: str, reason: str) -> None:
        if len(self._reasons) >= KEPT:
            self._reasons.clear()
        self._reasons[key] = reason

    def _reason(self, site: Site, row: str) -> str:
        """Let Spark's optimiser compute the expressions over constants: it fails as the job did, without a job."""
        if site.reason:
            return f"{site.reason}: {site.text()}"
        values = f"SELECT row.* FROM (SELECT from_json({literal(row)}, {literal(site.types)}) AS row)"
        for expression in site.expressions[:MOST_EXPRESSIONS]:
            try:
                computed: Any = self.spark.sql(f"SELECT {expression} FROM ({values})")
                computed._jdf.queryExecution().optimizedPlan()
            except SPARK_ERRORS as error:  # Spark's own, or one of a parser that it uses
                return f"{first_line(error)}: {shortened(expression)}"
        return f"{site.text()} failed"


@cache
def _names(expressions: tuple[str, ...]) -> frozenset[str]:
    """All names that occur in some expressions."""
    return frozenset().union(*map(names_in, expressions))


def shortened(expression: str) -> str:
    """An expression, cut off if it is too long for a message."""
    return f"{expression[:LONGEST_TEXT]}…" if len(expression) > LONGEST_TEXT else expression


def row_as_json(spark: SparkSession, refs: Sequence[Ref]) -> Column:
    """Columns of a row as JSON, cut off if too long; an empty object if they cannot be written as JSON."""
    return F.left(F.coalesce(try_eval(spark, f"to_json({nested(refs)})"), F.lit("{}")), F.lit(LONGEST))


def nested(refs: Sequence[Ref]) -> str:
    """Columns as one struct: those of a join's sides in a struct each, so that expressions find them by their names.

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
