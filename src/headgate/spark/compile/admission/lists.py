"""Reads `allowed.toml`: which Spark classes a query may contain, and which of their arguments are checked."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def listed(name: str) -> frozenset[str]:
    """One of the lists: `plans`, `expressions`, `methods`, `sorted_only`, `loops`, `quadratic`, `no_longer`.

    >>> "plans.logical.Filter" in listed("plans"), "expressions.Rand" in listed("expressions")
    (True, False)
    """
    return frozenset(_file()[name].split())


@cache
def pattern_arguments() -> Mapping[str, tuple[int, ...]]:
    """By class: which arguments are regular expressions."""
    return {name: tuple(positions) for name, positions in _file()["pattern_arguments"].items()}


@cache
def length_argument() -> Mapping[str, int]:
    """By class: which argument says how long the value becomes."""
    return dict(_file()["length_argument"])


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "allowed.toml").read_text("utf-8"))
