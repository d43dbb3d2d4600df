"""Spark's functions by name: which are accepted, which are refused, and why (`functions.toml`)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

_ENDLESS = 10_000  # arguments: as many as a list may have


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


def takes(name: str, count: int) -> bool:
    """Whether a function may have so many arguments; those with a grammar of their own take what that gives them.

    >>> takes("lpad", 3), takes("lpad", 4), takes("greatest", 40), takes("pi", 1)
    (True, False, True, False)
    """
    ranges = _counts().get(name)
    return ranges is None or any(least <= count <= most for least, most in ranges)


def counts_of(name: str) -> str:
    """How many arguments a function takes, in words.

    >>> counts_of("lpad"), counts_of("greatest"), counts_of("abs"), counts_of("make_timestamp")
    ('2 or 3 arguments', '2 arguments or more', '1 argument', '1 to 3 or 6 or 7 arguments')
    """
    words = []
    for least, most in _counts()[name]:
        if most == _ENDLESS:
            return f"{least} arguments or more"
        words.append(str(least) if least == most else f"{least} {'or' if most == least + 1 else 'to'} {most}")
    return f"{' or '.join(words)} argument{'s' if words != ['1'] else ''}"


@cache
def _counts() -> dict[str, list[tuple[int, int]]]:
    """The ranges of how many arguments a function takes, by its name."""
    return {
        name: [_range(each) for each in said.split()]
        for said, names in listed()["arguments"].items()
        for name in names.split()
    }


def _range(said: str) -> tuple[int, int]:
    if said.endswith("+"):
        return int(said[:-1]), _ENDLESS
    least, _, most = said.partition("-")
    return int(least), int(most or least)


def _names(lists: Iterable[str]) -> frozenset[str]:
    return frozenset(name for names in lists for name in names.split())


@cache
def listed() -> dict[str, Any]:
    """The file: groups of names, and for the refused ones `why` and `hint`."""
    return tomllib.loads((files(__package__) / "functions.toml").read_text("utf-8"))
