"""The freshness curve as Spark expressions, which Spark compiles.

The ratio at a gain is a smooth function of t = √(−2 ln(1 − gain)) all the way to the last double below 1; divided by t
it is one polynomial, good to 1e-12. Nothing here is null: a null would be tested for in every multiplication.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from headgate.freshness.curve import ratio_at_place

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LAST = 8.7  # no double below 1 has a larger t
DEGREE = 21


def with_ratio(frame: DataFrame, gain: str) -> DataFrame:
    """The frame with the column `gain` and a column `ratio`, which is meant only where the gain is below 1.

    Every step is a column of its own, so that it is computed once. Elsewhere the ratio is some number above 0: Spark
    divides by it whether or not the quotient is used, and refuses to divide by 0.
    """
    root = "CASE WHEN gain < 1.0D THEN sqrt(-2.0D * log1p(-gain)) ELSE 1.0D END AS _t"
    return (
        frame.selectExpr("*", f"{gain} AS gain")
        .selectExpr("*", root)
        .selectExpr("* EXCEPT (_t)", f"{ratio_text('_t')} AS ratio")
    )


def freshness(ratio: Column) -> Column:
    """The share of time that a copy is fresh, at a ratio above 0."""
    from pyspark.sql import functions as fn

    return -fn.expm1(-ratio) / ratio


def gain_of(ratio: Column) -> Column:
    """What one more refresh is worth, accurate to 1e-12 for small ratios as well."""
    from pyspark.sql import functions as fn

    series = ratio * ratio * _horner(ratio, tuple((-1) ** k * (k - 1) / _factorial(k) for k in range(2, 10)))
    return fn.when(ratio < 0.02, series).otherwise(-fn.expm1(-ratio) - ratio * fn.exp(-ratio))


def ratio_text(t: str) -> str:
    """The polynomial by Horner's rule as SQL: one text instead of dozens of calls into the JVM.

    >>> ratio_text("t").count("* t")
    22
    """
    *others, last = (f"{coefficient!r}D" for coefficient in ratio_polynomial())
    polynomial = last
    for coefficient in reversed(others):
        polynomial = f"({polynomial} * {t} + {coefficient})"
    return f"({polynomial} * {t})"


@cache
def ratio_polynomial() -> tuple[float, ...]:
    """Coefficients of the ratio over t.

    >>> coefficients = ratio_polynomial()
    >>> round(coefficients[0], 9), round(coefficients[1], 7)  # the series begins 1 + t/3 + …
    (1.0, 0.3333333)
    """
    places = (np.cos(np.linspace(0.0, np.pi, 400)) + 1.0) / 2.0 * (LAST - 0.01) + 0.01
    fitted = np.polynomial.Chebyshev.fit(places, ratio_at_place(places) / places, DEGREE)
    return tuple(map(float, fitted.convert(kind=np.polynomial.Polynomial).coef))


def _horner(x: Column, coefficients: tuple[float, ...]) -> Column:
    from pyspark.sql import functions as fn

    value = fn.lit(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = value * x + coefficient
    return value


def _factorial(number: int) -> float:
    return float(np.prod(np.arange(1, number + 1)))
