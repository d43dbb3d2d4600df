"""Dataclasses as trees of plain values for JSON, and trees as flat dictionaries by dotted path."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

Scalar = float | int | str | None


def plain(value: object) -> Any:
    """Dictionaries, lists and numbers; infinite numbers and NaN become None.

    >>> plain({"a": (1.0, float("nan")), "b": float("inf")})
    {'a': [1.0, None], 'b': None}
    """
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The tree's numbers by dotted path; lists and texts are left out.

    >>> flatten({"slowdown": {"mean": 2.5}, "classes": {"a": {"results": 3}}})
    {'slowdown.mean': 2.5, 'classes.a.results': 3}
    """
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        elif not isinstance(value, list | str):
            flat[prefix + key] = value
    return flat
