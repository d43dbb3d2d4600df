"""Checks of arguments that need no server; the rules and texts are those of `headgate.Session`."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from headgate.model import HeadgateError, Stream, seconds
from headgate.model.values import as_text, located, not_negative, text


def span(value: object, name: str) -> float:
    """Seconds, from a number or from text with a unit; may be infinite.

    >>> span(2, "timeout"), span("500 ms", "timeout"), span(None, "timeout")
    (2.0, 0.5, inf)
    """
    if value is None:
        return inf
    with located(name):
        if isinstance(value, int | float) and not isinstance(value, bool):
            return not_negative(float(value), value)
        if not isinstance(value, str):
            raise HeadgateError(f"is not a duration, found {as_text(value)}", hint='write for example "250 ms"')
        return not_negative(seconds(value), value)


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None: the server has the same defaults."""
    return {name: value for name, value in fields.items() if value is not None}


def optional_text(value: object, name: str, example: str) -> Any:
    """Text that may be left out."""
    if value is not None:
        with located(name):
            text(value, example)
    return value


def schema_text(schema: Any) -> Any:
    """A schema as text, from text or from pairs.

    >>> schema_text([("id", "bigint"), ("v", "double")])
    'id bigint, v double'
    """
    if isinstance(schema, str) or not isinstance(schema, Sequence):
        with located("schema"):
            return text(schema, "id bigint, temp double, ts timestamp")
    for pair in schema or ("nothing",):
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            hint = 'write for example "id bigint, ts timestamp" or [("id", "bigint"), ("ts", "timestamp")]'
            raise HeadgateError(f"must be columns and their types, found {as_text(pair)}", where="schema", hint=hint)
    return ", ".join(f"{column} {kind}" for column, kind in schema)


def stream_of(described: dict[str, Any]) -> Stream:
    """A stream as the model has it, from the server's description."""
    ahead = described.get("ahead")
    return Stream(
        name=described["name"],
        schema=columns(described["schema"]),
        event_time=described.get("event_time"),
        watermark=float(described.get("watermark") or 0.0),
        ahead=inf if ahead is None else float(ahead),
        source=described.get("source"),
    )


def columns(schema: str) -> tuple[tuple[str, str], ...]:
    """Columns and their types from text as the server writes it.

    >>> columns("id bigint, price decimal(10,2), tags struct<a: int, b: string>")
    (('id', 'bigint'), ('price', 'decimal(10,2)'), ('tags', 'struct<a: int, b: string>'))
    """
    pieces, depth = [""], 0
    for character in schema:
        depth += (character in "(<") - (character in ")>")
        if character == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += character
    pairs = (piece.strip().partition(" ") for piece in pieces)
    return tuple((column, kind.strip()) for column, _, kind in pairs if column)
