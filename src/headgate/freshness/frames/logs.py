"""Master profiles and change rates as aggregations over log tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.model import HeadgateError, unknown

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def profile_frame(
    log: DataFrame,
    weights: DataFrame | None = None,
    *,
    user: str = "user",
    element: str = "id",
    accesses: str | None = None,
    per_user: bool = False,
) -> DataFrame:
    """The master profile, columns `id` and `access` (which sum to 1), as `headgate.freshness.profiles` makes it.

    `log` has a row per access, or per user and element with a column that counts. `weights` has a row per user with a
    column `weight`; users without one count 1.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    _check(log, [user, element, *([accesses] if accesses else [])])
    count = fn.col(accesses).cast("double") if accesses else fn.lit(1.0)
    rows = log.select(fn.col(user).alias("user"), fn.col(element).alias("id"), count.alias("count"))
    rows = rows.groupBy("user", "id").agg(fn.sum("count").alias("count"))
    weight: Column = fn.lit(1.0)
    if weights is not None:
        _check(weights, [user, "weight"])
        user_weights = weights.select(fn.col(user).alias("user"), fn.col("weight").cast("double"))
        rows = rows.join(user_weights, "user", "left")
        weight = fn.coalesce(fn.col("weight"), fn.lit(1.0))
    if per_user:
        total = fn.sum("count").over(Window.partitionBy("user"))
        rows = rows.withColumn("count", fn.when(total > 0, fn.col("count") / total).otherwise(0.0))
    wanted = rows.groupBy("id").agg(fn.sum(fn.col("count") * weight).alias("wanted"))
    row = wanted.agg(fn.sum("wanted").alias("total"), fn.count_if(~(fn.col("wanted") >= 0)).alias("wrong")).first()
    if row is None or row["wrong"]:
        raise HeadgateError("accesses or weights are negative", hint="write 0 or more")
    if not row["total"]:
        raise HeadgateError("the profiles sum to 0", hint="at least one user must want something")
    return wanted.select("id", (fn.col("wanted") / float(row["total"])).alias("access"))


def rates_frame(
    visits: DataFrame, *, element: str = "id", at: str = "at", changed: str = "changed", period: float = 1.0
) -> DataFrame:
    """Change rates per period, columns `id`, `change_rate`, `low`, `high`, `visits`, from a row per visit.

    `at` is a timestamp, or a number of seconds; a period has `period` seconds. The first visit of an element tells
    nothing: it has no visit before it.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as fn
    from pyspark.sql.pandas.functions import arrow_udf

    from headgate.freshness.frames.batches import RATES, rates

    _check(visits, [element, at, changed])
    if not period > 0:
        raise HeadgateError(f"a period must be longer than 0 seconds, found {period:g}", hint="write for example 86400")
    kind = dict(visits.dtypes)[at]
    moment = fn.unix_micros(at) / 1e6 if kind == "timestamp" else fn.col(at).cast("double")
    rows = visits.select(
        fn.col(element).alias("id"), moment.alias("at"), fn.col(changed).cast("boolean").alias("changed")
    )
    before = fn.lag("at").over(Window.partitionBy("id").orderBy("at"))
    rows = rows.withColumn("gap", (fn.col("at") - before) / period).where("gap > 0")
    histories = rows.groupBy("id").agg(
        fn.collect_list(fn.when(fn.col("changed"), fn.col("gap"))).alias("gaps"),
        fn.sum(fn.when(~fn.col("changed"), fn.col("gap")).otherwise(0.0)).alias("unchanged"),
        fn.count("*").alias("visits"),
    )
    estimated = arrow_udf(rates, RATES)  # type: ignore[call-overload]  # the stubs ask for a kind, hints give it
    estimate = estimated("gaps", "unchanged", "visits")
    return histories.select("id", estimate.alias("found"), "visits").select("id", "found.*", "visits")


def _check(frame: DataFrame, names: list[str]) -> None:
    for name in names:
        if name not in frame.columns:
            raise unknown("column", name, frame.columns, where="the table")
