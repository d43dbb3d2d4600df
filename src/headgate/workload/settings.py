"""Typed settings of a specification string, read from its text: a value's unit must not be lost on the way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from math import inf, isfinite

from headgate.model import HeadgateError, Spec, check_name, seconds, unknown

_COMMA = re.compile(r",(?![^\[]*\])")  # not inside a list
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


class Settings:
    """The name and the settings of one string.

    >>> settings = Settings("select, cost=5ms, selectivity=0.5, from=[a, b]")
    >>> settings.name, settings.duration("cost"), settings.number("selectivity"), settings.words("from")
    ('select', 0.005, 0.5, ['a', 'b'])
    >>> Settings("select, cost=5").duration("cost")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: cost has no unit, found 5; write cost=5ms or cost=5s
    """

    def __init__(self, text: str) -> None:
        self.name = Spec.parse(text).name
        pairs = (part.partition("=") for part in _COMMA.split(text)[1:])
        self._raw = {key.strip(): value.strip() for key, _, value in pairs}

    def __contains__(self, key: str) -> bool:
        return key in self._raw

    def only(self, allowed: Iterable[str]) -> None:
        """Refuse settings that are not among the known ones."""
        names = list(allowed)
        for key in self._raw:
            if key not in names:
                raise unknown(f"{self.name} setting", key, names)

    def need(self, key: str, example: str) -> None:
        if key not in self._raw:
            raise HeadgateError(f"'{self.name}' needs {key}", hint=f"write {key}={example}")

    def number(self, key: str, low: float = -inf, high: float = inf, *, above: float = -inf) -> float | None:
        """A number within bounds; None if it is not there."""
        if key not in self._raw:
            return None
        return _within(key, self._raw[key], _number, low, high, above)

    def numbers(self, key: str, low: float = -inf) -> list[float]:
        return [_within(key, raw, _number, low) for raw in self._items(key)]

    def whole(self, key: str, low: int, high: float = inf) -> int | None:
        if key not in self._raw:
            return None
        value = _within(key, self._raw[key], _number, low, high)
        if not value.is_integer():
            raise HeadgateError(
                f"{key} must be a whole number, found {self._raw[key]}", hint="write it without a point"
            )
        return int(value)

    def duration(self, key: str, *, low: float = 0.0, above: float = -inf) -> float | None:
        """Seconds, written with a unit; None if it is not there."""
        if key not in self._raw:
            return None
        return _within(key, self._raw[key], _duration, low, above=above)

    def durations(self, key: str) -> list[float]:
        return [_within(key, raw, _duration, 0.0) for raw in self._items(key)]

    def flags(self, key: str) -> tuple[bool, ...]:
        """A list of true and false; empty if it is not there."""
        if key not in self._raw:
            return ()
        raws = self._items(key)
        if not raws or any(raw not in ("true", "false") for raw in raws):
            written = self._raw[key]
            raise HeadgateError(
                f"{key} must be a list of true and false, found {written}", hint=f"write {key}=[true, false]"
            )
        return tuple(raw == "true" for raw in raws)

    def word(self, key: str) -> str | None:
        return self._raw[key].strip("\"'") if key in self._raw else None

    def named(self, key: str) -> str | None:
        """A word that can serve as a name."""
        word = self.word(key)
        return None if word is None else check_name(word, key)

    def words(self, key: str) -> list[str]:
        """A word or a list of them."""
        if not self._raw[key].startswith("["):
            return [self._raw[key].strip("\"'")]
        return [raw.strip("\"'") for raw in self._items(key)]

    def raws(self, key: str) -> list[str]:
        """The elements of a list as they are written."""
        return self._items(key)

    def _items(self, key: str) -> list[str]:
        raw = self._raw[key]
        if not (raw.startswith("[") and raw.endswith("]")):
            raise HeadgateError(f"{key} must be a list, found {raw}", hint=f"write {key}=[{raw}]")
        return [item.strip() for item in raw[1:-1].split(",") if item.strip()]


def bare(raw: str) -> bool:
    """Whether a value is a number without a unit."""
    return _NUMBER.fullmatch(raw) is not None


def _number(key: str, raw: str) -> float:
    if not bare(raw):
        raise HeadgateError(f"{key} must be a number, found {raw}", hint=f"write for example {key}=1")
    return float(raw)


def _duration(key: str, raw: str) -> float:
    if bare(raw) and float(raw) != 0.0:
        raise HeadgateError(f"{key} has no unit, found {raw}", hint=f"write {key}={raw}ms or {key}={raw}s")
    if raw.startswith("["):
        raise HeadgateError(f"{key} is not a duration, found {raw}", hint=f"write for example {key}=250ms")
    return seconds(raw, what=key)


def _within(
    key: str,
    raw: str,
    read: Callable[[str, str], float],
    low: float = -inf,
    high: float = inf,
    above: float = -inf,
) -> float:
    value = read(key, raw)
    if isfinite(value) and low <= value <= high and value > above:
        return value
    if not isfinite(value):
        bound = "finite"
    elif above > -inf:
        bound = f"more than {above:g}"
    elif low == high:
        bound = f"{low:g}"
    elif high < inf:
        bound = f"from {low:g} to {high:.7g}"
    else:
        bound = f"at least {low:g}"
    raise HeadgateError(f"{key} must be {bound}, found {raw}", hint=f"correct {key}")
