"""Numbers and durations formatted for reading, and durations read from options."""

from __future__ import annotations

import math
from collections.abc import Sequence

from headgate.model import HeadgateError, seconds
from headgate.model.number_text import significant

NOTHING = "–"


def rough_duration(seconds: float) -> str:
    """A duration as one says it of something that is only estimated.

    >>> rough_duration(12.4), rough_duration(95.0), rough_duration(5000.0)
    ('12 s', '2 min', '1 h 23 min')
    """
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def aligned(values: Sequence[float | None], scale: float = 1.0) -> list[str]:
    """A column of numbers with the same number of decimals, so that their points stand below each other.

    >>> aligned([12.25, 130.5, None])
    ['12.25', '130.50', '–']
    >>> aligned([3.0, 12.0])
    ['3', '12']
    """
    scaled = [None if value is None else value / scale for value in values]
    places = _decimals([abs(value) for value in scaled if value])
    return [NOTHING if value is None else f"{value:,.{places}f}" for value in scaled]


def number(value: float) -> str:
    """One number, at most six significant digits.

    >>> number(3.0), number(0.0012345678), number(1234567.0)
    ('3', '0.00123457', '1,234,567')
    """
    return significant(value, 6)


def read_duration(text: str, option: str) -> float:
    """Read the duration that an option was given."""
    value = _with_unit(text, option)
    if not 0 < value < math.inf:
        raise HeadgateError(f"{option} must be longer than 0 s, found {text}", hint='write for example "10 s"')
    return value


def read_moment(text: str, option: str) -> float:
    """Read a time since the start that an option was given."""
    value = _with_unit(text, option)
    if not 0 <= value < math.inf:
        raise HeadgateError(f"{option} must not be before the start, found {text}", hint='write for example "12.5 s"')
    return value


def _with_unit(text: str, option: str) -> float:
    try:
        bare = float(text)
    except ValueError:
        return seconds(text, what=option)
    raise HeadgateError(f"{option} has no unit, found {text}", hint=f'write "{bare:g} s" or "{bare:g} ms"')


def _decimals(present: Sequence[float]) -> int:
    """Four significant digits for the smallest, seven at most for the largest, none for whole numbers."""
    if not present or all(value == int(value) for value in present):
        return 0
    smallest, largest = (math.floor(math.log10(extreme)) for extreme in (min(present), max(present)))
    return max(0, min(3, 3 - smallest, 6 - largest))
