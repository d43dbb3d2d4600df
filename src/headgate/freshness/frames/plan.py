"""The exact plan for a DataFrame of any size: the search's steps are Spark aggregations.

One pass makes a sketch (sums by bins of the logarithm of s λ/p), whose own exact plan is a start a few digits off.
Passes over the data polish it: each is one sum of uses and one of slopes, and two or three of them suffice. The plan
is a DataFrame that is computed when it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headgate.freshness.certificate import Certificate
from headgate.freshness.column_names import ColumnNames
from headgate.freshness.curve import ratio_at_freshness
from headgate.freshness.exact import GRACE, HUGE, TINY, Problem, check_bandwidth, check_floors
from headgate.freshness.frames.checks import check_frame, checked_numbers
from headgate.freshness.frames.curve import freshness, gain_of, with_ratio
from headgate.freshness.search import Multiplier, Use, find_multiplier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TOLERANCE = 1e-11
SEARCHED = ("load", "cost", "least")
BINS = 512  # per unit of the logarithm


@dataclass(frozen=True, slots=True, eq=False)
class FramePlan:
    """A plan as a DataFrame with columns id, frequency and freshness, and its proof.

    `passes` counts the passes that the search took after the sketch.
    """

    frame: DataFrame
    certificate: Certificate
    perceived_freshness: float
    elements: int
    unrefreshed: int

    @property
    def passes(self) -> int:
        return self.certificate.steps


def plan_frame(
    frame: DataFrame,
    bandwidth: float,
    *,
    columns: ColumnNames | None = None,
    min_freshness: float | None = None,
    unique_ids: bool = False,
    cache: bool = True,
    progress: Callable[[str], None] | None = None,
) -> FramePlan:
    """The plan that maximizes perceived freshness, as `headgate.freshness.plan` makes it.

    `unique_ids` says that keys are known to come once, which saves a shuffle. `cache` keeps the columns that the search
    reads in memory (on disk where it is short) until the plan is certified.
    """
    from pyspark import StorageLevel

    check_bandwidth(bandwidth)
    say = progress or (lambda _: None)
    say("checking")
    base = checked_numbers(frame, columns or ColumnNames())
    totals = check_frame(base, min_freshness, unique_ids=unique_ids)
    base = _with_cost(_with_least(base, min_freshness), totals.access)
    narrow = base.select(*SEARCHED)
    if cache:
        narrow = narrow.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        solution = _search(narrow, bandwidth, say)
    finally:
        if cache:
            narrow.unpersist()
    say("certifying")
    return _certified(base, solution, bandwidth, totals.rows)


def narrowed(frame: DataFrame, columns: ColumnNames | None = None) -> DataFrame:
    """The columns that the search reads, without floors, of elements that are known to be right."""
    from pyspark.sql import functions as fn

    base = checked_numbers(frame, columns or ColumnNames())
    row = base.agg(fn.sum("access").alias("access")).collect()[0]
    return _with_cost(_with_least(base, None), float(row["access"])).select(*SEARCHED)


def use_at(narrow: DataFrame, price: float, *, floors: bool) -> Use:
    """One step of the search: the bandwidth used at a price, and its slope, in one pass.

    The price is looked up in an array: as a number it would stand in the generated code, and Spark would compile that
    anew for every step.
    """
    frame = with_ratio(narrow, f"coalesce(get(array({price!r}D), int(cost < 0.0D)), 0.0D) * cost")
    frame = frame.selectExpr("*", "CASE WHEN gain < 1.0D THEN load / ratio ELSE 0.0D END AS wanted")
    steep = "wanted * gain * (1.0D + ratio) / (ratio * ratio * greatest(1.0D - gain, 1e-17D))"
    if floors:
        steep = f"CASE WHEN wanted >= least THEN {steep} END"
    used = "greatest(wanted, least)" if floors else "wanted"
    row = frame.selectExpr(f"sum({used}) AS used", f"sum({steep}) AS slope").collect()[0]
    return Use(float(row["used"] or 0.0), -float(row["slope"] or 0.0))


def _search(narrow: DataFrame, bandwidth: float, say: Callable[[str], None]) -> Multiplier:
    from pyspark.sql import functions as fn

    helped = fn.when(fn.col("load") > 0, fn.col("cost"))
    row = narrow.agg(fn.sum("least").alias("least"), fn.min(helped).alias("cheapest")).first()
    assert row is not None
    least = float(row["least"] or 0.0)
    check_floors(least, bandwidth)
    if row["cheapest"] is None:
        return Multiplier(0.0, 0.0, 1.0, 0)
    ceiling = (1.0 + 1e-9) / float(row["cheapest"])
    if least >= bandwidth * (1 - GRACE):
        return Multiplier(ceiling, ceiling, 1.0, 0)
    say("sketching")
    start = _sketched(narrow, bandwidth)

    def use(price: float) -> Use:
        say("searching")
        return use_at(narrow, price, floors=least > 0)

    return find_multiplier(use, bandwidth, ceiling, start, TOLERANCE)


def _sketched(narrow: DataFrame, bandwidth: float) -> float:
    """The multiplier of the sketch: one element for each bin."""
    from pyspark.sql import functions as fn

    logarithm = fn.log("cost")
    bins = (
        narrow.where("load > 0")
        .select("load", logarithm.alias("at"))
        .groupBy(fn.floor(fn.col("at") * BINS).alias("bin"))
        .agg(fn.sum("load").alias("load"), fn.sum(fn.col("load") * fn.col("at")).alias("moment"))
        .collect()
    )
    load = np.array([row["load"] for row in bins])
    cost = np.exp(np.array([row["moment"] for row in bins]) / load)
    return Problem(slice(None), load, cost, np.ones(len(load)), np.empty(0), 0.0).solve(bandwidth).lower


def _with_least(base: DataFrame, min_freshness: float | None) -> DataFrame:
    """With the bandwidth that each element's floor takes."""
    from pyspark.sql import functions as fn

    if min_freshness is not None:
        ratio = float(ratio_at_freshness(min_freshness))
        needed = fn.col("rate") * fn.col("size") / ratio if 0 < ratio < float("inf") else fn.lit(0.0)
        return base.withColumn("least", needed)
    if "floor" not in base.columns:
        return base.withColumn("least", fn.lit(0.0))
    from pyspark.sql.pandas.functions import arrow_udf

    from headgate.freshness.frames.batches import floors

    floor_frequency = arrow_udf(floors, "double")  # type: ignore[call-overload]  # the stubs ask for a kind, hints give it
    return base.withColumn("least", floor_frequency("rate", "size", "floor"))


def _with_cost(base: DataFrame, access: float) -> DataFrame:
    from pyspark.sql import functions as fn

    useful = (fn.col("rate") > 0) & (fn.col("access") > 0)
    load = fn.col("rate") * fn.col("size")
    cost = fn.greatest(fn.lit(TINY), fn.least(fn.lit(HUGE), load / fn.col("access")))
    base = base.withColumn("access", fn.col("access") / access).withColumn("useful", fn.coalesce(useful, fn.lit(False)))
    base = base.withColumn("load", fn.when(fn.col("useful"), fn.coalesce(load, fn.lit(0.0))).otherwise(0.0))
    return base.withColumn("cost", fn.when(fn.col("useful"), fn.coalesce(cost, fn.lit(HUGE))).otherwise(HUGE))


def _with_frequency(base: DataFrame, solution: Multiplier) -> DataFrame:
    """The plan's columns beside those of the elements."""
    from pyspark.sql import functions as fn

    base = _with_wanted(base, "_lower", solution.lower)
    mixed = fn.col("_lower")
    if solution.lower != solution.upper:
        base = _with_wanted(base, "_upper", solution.upper)
        mixed = solution.mix * fn.col("_lower") + (1.0 - solution.mix) * fn.col("_upper")
    base = base.withColumn("frequency", mixed / fn.col("size"))
    ratio = fn.when(fn.col("frequency") > 0, fn.col("rate") / fn.col("frequency"))
    fresh = fn.when(fn.col("rate") == 0, 1.0).otherwise(fn.coalesce(freshness(ratio), fn.lit(0.0)))
    return base.withColumn("freshness", fresh)


def _with_wanted(base: DataFrame, name: str, price: float) -> DataFrame:
    """With the bandwidth that each element gets at a price."""
    from pyspark.sql import functions as fn

    wanted = fn.when((fn.col("gain") < 1.0) & fn.col("useful"), fn.col("load") / fn.col("ratio")).otherwise(0.0)
    priced = with_ratio(base, f"{price!r}D * cost")
    return priced.select(*base.columns, fn.greatest(wanted, fn.col("least")).alias(name))


def _certified(base: DataFrame, solution: Multiplier, bandwidth: float, rows: int) -> FramePlan:
    """The plan with its proof, from one more pass over it."""
    from pyspark.sql import functions as fn

    planned = _with_frequency(base, solution)
    price = solution.upper
    often, size = fn.col("frequency"), fn.col("size")
    reached = fn.when(often > 0, gain_of(fn.col("rate") / often)).otherwise(1.0)
    away = reached / (price * fn.col("cost")) - 1.0
    held = often * size <= fn.col("least")
    violation = fn.when(fn.col("useful"), fn.when(held, fn.greatest(away, fn.lit(0.0))).otherwise(fn.abs(away)))
    row = planned.agg(
        fn.sum(often * size).alias("used"),
        fn.sum(fn.col("access") * fn.col("freshness")).alias("perceived"),
        fn.max(violation if price > 0 else fn.lit(0.0)).alias("violation"),
        fn.count_if(fn.col("useful") & (often == 0.0)).alias("unrefreshed"),
    ).first()
    assert row is not None
    used, perceived = float(row["used"]), float(row["perceived"])
    certificate = Certificate(
        multiplier=price,
        violation=float(row["violation"] or 0.0),
        used=used,
        bound=perceived + price * max(0.0, bandwidth - used),
        steps=solution.steps,
    )
    return FramePlan(
        planned.select("id", "frequency", "freshness"), certificate, perceived, rows, int(row["unrefreshed"])
    )
