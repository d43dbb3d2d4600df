"""Spark's functions by name: which are accepted, which are refused, and why (`functions.toml`)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class Reason(NamedTuple):
    """Why a function is refused, after its name, and what to do instead."""

    why: str
    hint: str


@cache
def accepted() -> frozenset[str]:
    """Names of functions that a query may use.

    >>> "abs" in accepted(), "sum" in accepted(), "rand" in accepted()
    (True, True, False)
    """
    return _names((*listed()["accepted"].values(), *listed()["aggregates"].values()))


@cache
def aggregates() -> frozenset[str]:
    """Names of accepted aggregates."""
    return _names(listed()["aggregates"].values())


@cache
def settled() -> frozenset[str]:
    """Aggregates that are accepted only in a form which does not depend on the order of rows."""
    return _names((listed()["aggregates"]["settled"],))


@cache
def refused() -> dict[str, Reason]:
    """Names of functions that no query may use.

    >>> refused()["java_method"].why
    'runs Java code: it reaches outside the data'
    """
    groups = listed()["refused"].values()
    return {name: Reason(group["why"], group["hint"]) for group in groups for name in group["functions"].split()}


def _names(lists: Iterable[str]) -> frozenset[str]:
    return frozenset(name for names in lists for name in names.split())


@cache
def listed() -> dict[str, Any]:
    """The file: groups of names, and for the refused ones `why` and `hint`."""
    return tomllib.loads((files(__package__) / "functions.toml").read_text("utf-8"))
