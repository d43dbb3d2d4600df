"""Random rows by the types of their columns; the same seed gives the same rows."""

from __future__ import annotations

from collections.abc import Callable, Generator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from headgate.model import HeadgateError
from headgate.spark.ingest.parsing.files import PAGE
from headgate.spark.ingest.parsing.records import Read
from headgate.workload.settings import Settings

WORDS = ("amber", "birch", "cedar", "delta", "ember")

Draw = Callable[[np.random.Generator], Any]  # one page of a column


def generated(schema: pa.Schema, settings: Settings, random: np.random.Generator) -> Generator[Read, None, None]:
    """Pages without end. A setting with a column's name says what is in it: `id=[0, 99]`, `name=[a, b]`, `on=0.3`.

    Otherwise whole numbers are from 0 to 999, other numbers below 100, texts one of five words. Times and dates are
    null here: the feeder writes the moment of arrival there. Other types are null.
    """
    draws = [_draw(field, settings) for field in schema]
    return _pages(schema, draws, random)


def _pages(schema: pa.Schema, draws: list[Draw], random: np.random.Generator) -> Generator[Read, None, None]:
    while True:
        yield pa.Table.from_arrays([draw(random) for draw in draws], schema=schema), []


def _draw(field: Any, settings: Settings) -> Draw:
    kind, name = field.type, field.name
    if pa.types.is_integer(kind):
        low, high = (round(bound) for bound in _range(name, settings, 0, _largest(kind)))
        return lambda random: pa.array(random.integers(low, high, PAGE, endpoint=True)).cast(kind)
    if pa.types.is_floating(kind):
        bottom, top = _range(name, settings, 0.0, 100.0)
        return lambda random: pa.array(random.uniform(bottom, top, PAGE)).cast(kind)
    if pa.types.is_decimal(kind):
        return _decimals(kind, *_range(name, settings, 0.0, min(100.0, 10.0 ** (kind.precision - kind.scale) - 1)))
    if pa.types.is_boolean(kind):
        chance = settings.number(name, 0.0, 1.0)
        share = 0.5 if chance is None else chance
        return lambda random: pa.array(random.random(PAGE) < share)
    if pa.types.is_string(kind):
        return _words(settings.words(name) if name in settings else list(WORDS))
    if name in settings:
        raise HeadgateError(f"column '{name}' is {kind}, which takes no setting", hint=f"leave out {name}")
    return lambda random: pa.nulls(PAGE, kind)


def _largest(kind: Any) -> int:
    return min(999, (1 << int(kind.bit_width) - 1) - 1)


def _range(name: str, settings: Settings, low: float, high: float) -> tuple[float, float]:
    if name not in settings:
        return low, high
    bounds = settings.numbers(name)
    if len(bounds) != 2 or bounds[0] > bounds[1]:
        raise HeadgateError(f"{name} is not a range, found {settings.word(name)}", hint=f"write {name}=[0, 99]")
    return bounds[0], bounds[1]


def _words(words: list[str]) -> Draw:
    if not words:
        raise HeadgateError("a list of words is empty", hint="write for example name=[a, b]")
    return lambda random: pa.array(np.array(words)[random.integers(0, len(words), PAGE)].tolist(), pa.string())


def _decimals(kind: Any, low: float, high: float) -> Draw:
    unit = Decimal(1).scaleb(-kind.scale)

    def draw(random: np.random.Generator) -> Any:
        return pa.array([Decimal(float(value)).quantize(unit) for value in random.uniform(low, high, PAGE)], kind)

    return draw
