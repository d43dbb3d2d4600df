"""Where a query's expressions may fail, and why they did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.types import StructType

from headgate.spark.jobs.compile import literal
from headgate.spark.jobs.guard import tried
from headgate.spark.jobs.inner import Ref
from headgate.spark.jobs.problems import told
from headgate.spark.jobs.times import quoted

LONGEST = 4_000  # characters of a failing row that are kept
LOOKUPS = 8  # failing rows of a run for which Spark is asked why: each takes milliseconds
KEPT = 1_000  # reasons that are remembered


@dataclass(frozen=True, slots=True)
class Site:
    """Expressions that are computed together over rows of some columns."""

    expressions: tuple[str, ...]
    types: str  # of the columns, as DDL
    reason: str = ""  # where it can fail for one reason only

    def text(self) -> str:
        """What failed, for people."""
        found = ", ".join(self.expressions)
        return f"{found[:200]}…" if len(found) > 200 else found


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
            if note not in self._reasons and asked < LOOKUPS:
                asked += 1
                self._remember(note, self._reason(note))
            found.append(self._reasons.get(note) or f"{self._site(note)[0].text()} failed")
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

    def _reason(self, note: str) -> str:
        """Let Spark's optimiser compute the expressions over constants: it fails as the job would, without a job."""
        site, row = self._site(note)
        if site.reason:
            return f"{site.reason}: {site.text()}"
        try:
            rows = self.spark.createDataFrame([], "one int").selectExpr(  # of no rows: nothing is read
                f"from_json({literal(row)}, {literal(site.types)}) AS row"
            )
            computed: Any = rows.selectExpr("row.*").selectExpr(*site.expressions)
            computed._jdf.queryExecution().optimizedPlan()
        except PySparkException as error:
            return f"{told(error)}: {site.text()}"
        return f"{site.text()} failed"


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
