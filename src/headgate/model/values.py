"""Checks of values from outside, the same for workload files and for callers from Python.

The errors say what is wrong with the value; whoever asks adds the place, with `HeadgateError.at` or `located`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite, isnan
from typing import Any

from headgate.model.errors import HeadgateError


class _Unchanged:
    """Stands for an argument that was not given, where None means something."""

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Any = _Unchanged()


def as_text(value: object) -> str:
    """A value as an error message shows it.

    >>> as_text("x"), as_text(True), as_text([1]), as_text(2.5), as_text(object())
    ("'x'", 'true', 'a list', '2.5', 'an object')
    """
    if isinstance(value, str):
        return f"'{value if len(value) <= 60 else value[:59] + '…'}'"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple | dict):
        return "a table" if isinstance(value, dict) else "a list"
    if isinstance(value, float | datetime.date | datetime.time):
        return str(value)
    if isinstance(value, int):
        return str(value) if abs(value) < 10**60 else "a number of more than 60 digits"
    if value is None:
        return "nothing"
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def finite(value: object) -> float:
    """A finite number; refuses text, booleans, NaN and infinity.

    >>> finite("50")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: must be a number, found '50'; write it without quotes
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        hint = "write it without quotes" if isinstance(value, str) else "write a number"
        raise HeadgateError(f"must be a number, found {as_text(value)}", hint=hint)
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not isfinite(number):
        raise HeadgateError(f"must be a finite number, found {as_text(value)}", hint="write a number")
    return number


def priority(value: object) -> float:
    """A class's priority: a finite number above 0.

    >>> priority(60)
    60.0
    >>> priority(0)
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: must be more than 0, found 0; correct priority
    """
    number = finite(value)
    if number <= 0:
        raise HeadgateError(f"must be more than 0, found {as_text(value)}", hint="correct priority")
    return number


def whole(value: object, low: int, high: int | None = None) -> int:
    """A whole number within bounds.

    >>> whole(3, 1), whole(0, 1, 100)
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: must be from 1 to 100, found 0; write a number from 1 to 100
    """
    if isinstance(value, bool) or not isinstance(value, int):
        hint = "write it without quotes and without a point"
        raise HeadgateError(f"must be a whole number, found {as_text(value)}", hint=hint)
    if value < low or (high is not None and value > high):
        bound = f"at least {low}" if high is None else f"from {low} to {high}"
        raise HeadgateError(f"must be {bound}, found {as_text(value)}", hint=f"write a number {bound}")
    return value


def text(value: object, example: str) -> str:
    """Text that is not empty."""
    if not isinstance(value, str):
        raise HeadgateError(f"must be text, found {as_text(value)}", hint=f'write for example "{example}"')
    if not value.strip():
        raise HeadgateError("is empty", hint=f'write for example "{example}"')
    return value


def not_negative(value: float, written: object) -> float:
    """Seconds that are not negative."""
    if isnan(value):
        raise HeadgateError(f"is not a duration, found {as_text(written)}", hint='write for example "250 ms"')
    if value < 0.0:
        raise HeadgateError(f"must not be negative, found {as_text(written)}", hint="write 0 or more")
    return value


@contextmanager
def located(where: str) -> Iterator[None]:
    """Mark errors with the place of the value.

    >>> with located("class 'c', priority"):
    ...     priority(-3)
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: class 'c', priority: must be more than 0, found -3; correct priority
    """
    try:
        yield
    except HeadgateError as error:
        raise error.at(where) from None
