"""Numbers and times as people read them: few digits, a fitting unit."""

from __future__ import annotations

import math
from collections.abc import Iterable

UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def time_unit(values: Iterable[float | None]) -> tuple[str, float]:
    """The unit in which the smallest of some times is at least 1 and the largest still readable.

    >>> time_unit([0.012, 0.9]), time_unit([0.0009, 250.0])
    (('ms', 0.001), ('s', 1.0))
    """
    present = [abs(value) for value in values if value]
    if not present:
        return UNITS[0]
    fitting = [unit for unit in UNITS if max(present) / unit[1] < 1e5] or [UNITS[0]]
    return next((unit for unit in fitting if min(present) >= unit[1]), fitting[-1])


def significant(value: float, digits: int = 4) -> str:
    """A number with some significant digits and without an exponent; more digits only before the point.

    >>> significant(302.46), significant(0.00001234), significant(1234567.0), significant(1.5)
    ('302.5', '0.00001234', '1,234,567', '1.5')
    """
    if not value or not math.isfinite(value):
        return f"{value:g}"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    if not -15 <= places <= 15:
        return f"{value:.{digits}g}"
    text = f"{value:,.{places}f}" if places > 0 else f"{value:,.0f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text if abs(value) >= 1e5 else text.replace(",", "")


def with_margin(mean: float, half: float) -> str:
    """A mean and the half-width of its interval: two significant digits of this one say how many are shown of both.

    >>> with_margin(134.2, 302.4), with_margin(134.2, 3.024), with_margin(0.01234, 0.00056), with_margin(134.2, 0.0)
    ('130 ± 300', '134.2 ± 3.0', '0.01234 ± 0.00056', '134.2')
    """
    if not half or not math.isfinite(half):
        return significant(mean)
    places = 1 - math.floor(math.log10(half))
    if places > 15:
        return f"{significant(mean)} ± {significant(half, 2)}"
    return " ± ".join(f"{round(value, places):,.{max(0, places)}f}" for value in (mean, half))


def duration(value: float) -> str:
    """A duration in the unit that suits it; below a nanosecond there is only rounding.

    >>> duration(0.01225), duration(75.0), duration(0.99999), duration(1e-12)
    ('12.25 ms', '75 s', '1 s', '0 s')
    """
    value = float(f"{value:.4g}") if abs(value) < 1000 else value  # what is rounded to 1000 ms is 1 s
    if abs(value) < 1e-9:
        return "0 s"
    unit, scale = time_unit([value])
    return f"{significant(value / scale)} {unit}"
