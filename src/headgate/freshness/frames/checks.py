"""What can be wrong with a DataFrame of elements, found by aggregations; the keys of a few bad rows are fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headgate.freshness.column_names import ColumnNames
from headgate.freshness.elements import SHOWN, in_words
from headgate.model import HeadgateError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

NAMES = {"rate": "change_rate", "access": "access", "size": "size", "floor": "min_freshness"}


class Totals(NamedTuple):
    """What a pass over checked elements has counted."""

    rows: int
    access: float


def checked_numbers(frame: DataFrame, columns: ColumnNames) -> DataFrame:
    """The columns that a plan needs, as doubles under our names; `floor` only if it is there."""
    from pyspark.sql import functions as fn
    from pyspark.sql.types import NumericType

    names = columns.found_in(frame.columns, "the table")
    chosen = [fn.col(f"`{names['id']}`").alias("id")]
    for ours, meaning in NAMES.items():
        if meaning not in names:
            if ours == "size":
                chosen.append(fn.lit(1.0).alias("size"))
            continue
        name = names[meaning]
        if not isinstance(frame.schema[name].dataType, NumericType):
            raise HeadgateError(f"column '{name}' holds something else than numbers", hint="cast it to double")
        chosen.append(fn.col(f"`{name}`").cast("double").alias(ours))
    return frame.select(*chosen)


def check_frame(base: DataFrame, min_freshness: float | None, *, unique_ids: bool) -> Totals:
    """Refuse what no plan can be made for, in one pass (and one shuffle for keys that come twice)."""
    from pyspark.sql import functions as fn

    if min_freshness is not None and not 0 <= min_freshness < 1:
        raise HeadgateError(f"min_freshness is {min_freshness:g}", hint="write a share from 0 to below 1")
    wrong = _wrong(base)
    counts = [fn.count_if(condition).alias(f"c{place}") for place, (_, _, condition) in enumerate(wrong)]
    row = base.agg(fn.count("*").alias("rows"), fn.sum("access").alias("access"), *counts).first()
    assert row is not None
    if not row["rows"]:
        raise HeadgateError("there are no elements", hint="give at least one row")
    for place, (message, hint, condition) in enumerate(wrong):
        if row[f"c{place}"]:
            keys = [str(row["id"]) for row in base.where(condition).select("id").limit(SHOWN).collect()]
            count = int(row[f"c{place}"])
            raise HeadgateError(
                f"{message} in {'row' if count == 1 else 'rows'} with id {in_words(keys, count)}", hint=hint
            )
    if not row["access"]:
        raise HeadgateError("access sums to 0", hint="at least one element must be wanted")
    if not unique_ids:
        _check_keys(base)
    return Totals(int(row["rows"]), float(row["access"]))


def _wrong(base: DataFrame) -> list[tuple[str, str, Column]]:
    from pyspark.sql import functions as fn

    mistakes = [("id is missing", "give every element a key", fn.col("id").isNull())]
    for ours, name in NAMES.items():
        if ours in base.columns:
            column = fn.col(ours)
            mistakes += [
                (f"{name} is missing", "write a number", column.isNull() | fn.isnan(column)),
                (f"{name} is not finite", "write a number", column == float("inf")),
                (f"{name} is negative", "write 0 or more", column < 0),
            ]
    mistakes.append(("size is 0", "write more than 0: a refresh that costs nothing needs no plan", fn.col("size") == 0))
    if "floor" in base.columns:
        floor = fn.col("floor")
        mistakes.append(("min_freshness is above 1", "write a share between 0 and 1", floor > 1))
        always = (floor == 1) & (fn.col("rate") > 0)
        mistakes.append(("min_freshness is 1 for an element that changes", "write less than 1", always))
    return mistakes


def _check_keys(base: DataFrame) -> None:
    from pyspark.sql import functions as fn

    twice = base.groupBy("id").agg(fn.count("*").alias("times")).where("times > 1")
    keys = [str(row["id"]) for row in twice.limit(SHOWN + 1).collect()]
    if keys:
        more = " and more" if len(keys) > SHOWN else ""
        raise HeadgateError(f"id is not unique: {', '.join(keys[:SHOWN])}{more}", hint="give each element one row")
