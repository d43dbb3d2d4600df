"""The one string syntax: a name and its settings, `"bsd, clusters=12"`.

Policies, operators, arrivals and draws are all written this way, in files, on the command line and in code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from headgate.model.errors import HeadgateError, unknown

Value = bool | int | float | str | list["Value"]  # durations are floats, in seconds

SECONDS = MappingProxyType({"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0})
_NUMBER = re.compile(r"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*([a-zA-Zµ]*)")


@dataclass(frozen=True, slots=True)
class Spec:
    """A parsed specification string.

    >>> Spec.parse("onoff, on=[1s, 250ms], rate=3, deep=true, by=class")
    Spec(name='onoff', settings={'on': [1.0, 0.25], 'rate': 3, 'deep': True, 'by': 'class'})
    >>> str(Spec.parse("bsd,clusters = 12"))
    'bsd, clusters=12'
    """

    name: str
    settings: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Spec:
        hint = 'write "name, setting=value, …"'
        if not isinstance(text, str):
            raise HeadgateError(f"must be text, found {type(text).__name__}", hint=hint)
        try:
            return cls._parsed(text)
        except (ValueError, RecursionError):  # a number of thousands of digits, a thousand brackets
            raise HeadgateError(f"'{text[:40]}…' cannot be read", hint=hint) from None

    @classmethod
    def _parsed(cls, text: str) -> Spec:
        named, *given = parts(text)
        name = named.strip()
        if not name or "=" in name:
            raise HeadgateError(f"'{text}' does not start with a name", hint='write "name, setting=value, …"')
        settings: dict[str, Value] = {}
        for part in given:
            key, equals, value = (piece.strip() for piece in part.partition("="))
            if not (key and equals and value):
                raise HeadgateError(f"'{part.strip()}' in '{text}' is not a setting", hint="write setting=value")
            if key in settings:
                raise HeadgateError(f"setting '{key}' is given twice in '{text}'", hint="keep one of them")
            settings[key] = parse_value(value)
        return cls(name, settings)

    def __str__(self) -> str:
        return ", ".join([self.name, *(f"{key}={format_value(value)}" for key, value in self.settings.items())])

    def only(self, allowed: Iterable[str]) -> None:
        """Refuse settings that are not among the known ones."""
        names = list(allowed)
        for key in self.settings:
            if key not in names:
                error = unknown("setting", key, names)
                raise HeadgateError(f"{error.message} of '{self.name}'", hint=error.hint)


def parse_value(text: str) -> Value:
    """Read one value: a number, a duration with its unit, true or false, a list, or a word.

    >>> parse_value("5ms"), parse_value("2"), parse_value("[true, x]"), parse_value("inf")
    (0.005, 2, [True, 'x'], inf)
    """
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        inner = text[1:-1].strip()
        return [parse_value(part) for part in parts(inner)] if inner else []
    if text in ("true", "false"):
        return text == "true"
    if text == "inf":
        return float("inf")
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text.strip("\"'")
    number, unit = match.groups()
    if unit:
        if unit not in SECONDS:
            raise HeadgateError(f"unknown unit '{unit}' in '{text}'", hint=f"use one of {', '.join(SECONDS)}")
        # Divide by the whole number where there is one: 5ms must be the float 0.005, not 5 * 0.001.
        scale = SECONDS[unit]
        return float(number) * scale if scale >= 1 else float(number) / round(1 / scale)
    return int(number) if re.fullmatch(r"[-+]?\d+", number) else float(number)


def format_value(value: Value) -> str:
    """Write a value so that `parse_value` reads it back."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(format_value(item) for item in value) + "]"
    return str(value)


def seconds(value: Value, *, what: str = "duration") -> float:
    """Read a duration written with its unit.

    >>> seconds("250 ms"), seconds("2 min")
    (0.25, 120.0)
    """
    if isinstance(value, str):
        value = parse_value(value)
    elif isinstance(value, int | float) and not isinstance(value, bool) and value != 0:
        raise HeadgateError(f"{what} has no unit, found {value}", hint=f'write "{value} s" or "{value} ms"')
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise HeadgateError(f"{what} is not a duration, found '{value}'", hint='write for example "250 ms"')
    return float(value)


def parts(text: str) -> list[str]:
    """A specification cut at its commas, those in brackets aside.

    >>> parts("steps, rates=[1, 2], every=5s")
    ['steps', ' rates=[1, 2]', ' every=5s']
    """
    pieces, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "[(") - (character in "])")
        if depth < 0:
            break
        if character == "," and depth == 0:
            pieces.append(text[start:position])
            start = position + 1
    if depth != 0:
        raise HeadgateError(f"the brackets in '{text}' do not match", hint="close every [ with a ]")
    pieces.append(text[start:])
    return pieces
