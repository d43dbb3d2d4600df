"""Converts one value of a record to the type of its column; a value that would lose something is refused.

3.0 is a bigint, 3.5 and "3" are not; the error becomes the reason of a dead letter.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import math
import numbers
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from headgate.model import times
from headgate.model.times import FIRST_MOMENT, LAST_MOMENT

Cell = Callable[[Any], Any]  # converts a value, or raises `CellError`

_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
_KNOWN_YEARS = "a time between the years 1 and 9999"


class CellError(ValueError):
    """A value that the column cannot hold."""


def cell(kind: Any) -> Cell:
    """The function that reads values of an Arrow type; it raises `CellError`.

    >>> cell(pa.int64())(3.0), cell(pa.timestamp("us", "UTC"))("1970-01-01T00:00:01Z")
    (3, 1000000)
    >>> cell(pa.int64())(3.5)
    Traceback (most recent call last):
    headgate.spark.ingest.parsing.cells.CellError: 3.5 is not a whole number
    """
    read = _reader(kind)

    def checked(value: Any) -> Any:
        if value is None:
            return None
        try:
            return read(_from_numpy(value) if type(value).__module__ == "numpy" else value)
        except CellError:
            raise
        except (ValueError, TypeError, ArithmeticError, AttributeError, RecursionError, pa.ArrowException):
            raise _wrong(value, str(kind)) from None

    return checked


def text_cell(kind: Any) -> Cell:
    """The same for values that are always text, as in CSV: numbers are read from it, and empty text is null.

    >>> text_cell(pa.int64())("12"), text_cell(pa.bool_())("True"), text_cell(pa.string())("")
    (12, True, None)
    """
    read = cell(kind)

    def checked(value: Any) -> Any:
        return None if value is None or value == "" else read(_from_text(value, kind))

    return checked


def _from_numpy(value: Any) -> Any:
    if value.dtype.kind != "M":
        return value.item()
    number = int(value.astype("datetime64[us]").astype("int64"))
    return None if number == -(1 << 63) else times.iso(number)


def _from_text(text: str, kind: Any) -> Any:
    if pa.types.is_boolean(kind):
        return {"true": True, "false": False}.get(text.strip().lower(), text)
    if pa.types.is_integer(kind):
        return _number(text, int, float)
    return _number(text, float) if pa.types.is_floating(kind) or pa.types.is_timestamp(kind) else text


def _number(text: str, *kinds: Callable[[str], float]) -> float | str:
    for kind in kinds if "_" not in text else ():  # Python takes 1_000 for a number
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def _reader(kind: Any) -> Cell:
    types = pa.types
    if types.is_integer(kind):
        bits = kind.bit_width
        return lambda value: _whole(value, bits)
    simple: tuple[tuple[Callable[[Any], bool], Cell], ...] = (
        (types.is_floating, _double),
        (types.is_boolean, _boolean),
        (types.is_timestamp, _timestamp),
        (types.is_date, _date),
        (lambda type_: types.is_string(type_) or types.is_large_string(type_), _string),
        (lambda type_: types.is_binary(type_) or types.is_large_binary(type_), _binary),
    )
    for matches, read in simple:
        if matches(kind):
            return read
    return _exact(kind) if types.is_decimal(kind) else _nested(kind)


def _wrong(value: Any, what: str) -> CellError:
    return CellError(f"{shown(value)} is not {what}")


def shown(value: Any) -> str:
    """A value in a message, cut short."""
    try:
        text = repr(value)
    except Exception:  # any object may come from an iterator
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "…"


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool)


def _whole(value: Any, bits: int) -> int:
    if not _is_number(value) or value != value or value in (math.inf, -math.inf) or int(value) != value:
        raise _wrong(value, "a whole number")
    if not -(1 << bits - 1) <= (number := int(value)) < 1 << bits - 1:
        raise CellError(f"{shown(value)} does not fit into {bits} bits")
    return number


def _double(value: Any) -> float:
    if not _is_number(value) and value not in _NOT_FINITE:
        raise _wrong(value, "a number")
    return float(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _wrong(value, "true or false")
    return value


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(value, "a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise CellError(f"{shown(value)} is not UTF-8") from None
    return value


def _binary(value: Any) -> bytes:
    return bytes(value) if isinstance(value, bytes | bytearray) else base64.b64decode(value, validate=True)


def _timestamp(value: Any) -> int:
    """Microseconds; a time without a zone is UTC."""
    time = times.moment(value) if isinstance(value, str) else value
    if isinstance(time, datetime.datetime):
        moment = times.microseconds(time)
    elif isinstance(value, str):
        moment = time  # outside the years that Python knows
    elif _is_number(value):
        moment = round(value * 1_000_000)
    else:
        raise _wrong(value, "a time: ISO 8601 or seconds since 1970")
    if not FIRST_MOMENT <= moment <= LAST_MOMENT:
        raise _wrong(value, _KNOWN_YEARS)
    return moment


def _date(value: Any) -> datetime.date:
    if isinstance(value, datetime.datetime):
        return value.date()
    found = value if isinstance(value, datetime.date) else times.day(value)
    if not isinstance(found, int):
        return found
    if not FIRST_MOMENT <= found * 86_400_000_000 <= LAST_MOMENT:
        raise _wrong(value, _KNOWN_YEARS)
    return times.EPOCH.date() + datetime.timedelta(found)


class WrittenFloat(float):
    """A number with a fraction as it was written: a decimal column keeps all its digits.

    >>> WrittenFloat("123456789012345678.91").text
    '123456789012345678.91'
    """

    __slots__ = ("text",)

    def __new__(cls, text: str) -> WrittenFloat:
        made = super().__new__(cls, text)
        made.text = text
        return made

    text: str


def _exact(kind: Any) -> Cell:
    def read(value: Any) -> Decimal:
        if isinstance(value, bool) or "_" in str(value):  # Python takes 1_000 for a number
            raise _wrong(value, str(kind))
        written = value.text if isinstance(value, WrittenFloat) else repr(value) if isinstance(value, float) else value
        number = Decimal(written)
        exact: Decimal = pa.scalar(number, kind).as_py()
        return exact

    return read


def _nested(kind: Any) -> Cell:
    if pa.types.is_map(kind):
        key, item = cell(kind.key_type), cell(kind.item_type)
        return lambda value: [(key(left), item(right)) for left, right in _pairs(value)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        element = cell(kind.value_type)
        return lambda value: [element(item) for item in _listed(value)]
    if pa.types.is_struct(kind):
        fields = {field.name: cell(field.type) for field in kind}
        return lambda value: {name: read(_mapping(value).get(name)) for name, read in fields.items()}
    return lambda value: pa.scalar(value, kind).as_py()


def _pairs(value: Any) -> Any:
    pairs = list(value.items() if isinstance(value, Mapping) else _listed(value))
    if any(left is None for left, _ in pairs):
        raise CellError("a map has no null key")
    return pairs


def _listed(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise _wrong(value, "a list")
    return value


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(value, "an object")
    return value
