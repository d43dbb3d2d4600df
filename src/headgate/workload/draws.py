"""Sections with `count`: many streams or queries from one; each query has its own drawn values for `$name`."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping

import numpy as np

from headgate.model import HeadgateError, check_name, unknown
from headgate.workload.settings import Settings, bare

_DOLLAR = re.compile(r"\$(\w+)")


def numbered(name: str, count: int | None) -> list[str]:
    """The names of `count` things: with a number each; without a count, of the only one.

    >>> numbered("q", 3), numbered("q", None)
    (['q1', 'q2', 'q3'], ['q'])
    """
    names = [name] if count is None else [f"{name}{number}" for number in range(1, count + 1)]
    check_name(names[-1], "the text")  # the longest
    return names


def drawn(name: str, text: str, seed: int, query: str) -> str:
    """A query's own value of a draw, as it would be written; the same for the same seed and names.

    >>> share = drawn("share", "uniform, low=0.1, high=1.0", 1, "q1")
    >>> share == drawn("share", "uniform, low=0.1, high=1.0", 1, "q1"), 0.1 <= float(share) <= 1.0
    (True, True)
    """
    generator = np.random.default_rng([seed, zlib.crc32(query.encode()), zlib.crc32(name.encode())])
    settings = Settings(text)
    if settings.name == "choice":
        return _choice(settings, generator)
    if settings.name == "uniform":
        return _uniform(settings, generator)
    raise unknown("draw", settings.name, ("choice", "uniform"))


def substitute(text: str, values: Mapping[str, str]) -> str:
    """Put drawn values in place of their names.

    >>> substitute("select, cost=$cost", {"cost": "2us"})
    'select, cost=2us'
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            if values:
                raise unknown("draw", match[1], values)
            raise HeadgateError(
                f"unknown draw '{match[1]}'", hint=f'add draw = {{ {match[1]} = "choice, values=[…]" }}'
            )
        return values[match[1]]

    return _DOLLAR.sub(value, text)


def mentioned(text: str) -> set[str]:
    """The draws that a text uses."""
    return set(_DOLLAR.findall(text))


def _choice(settings: Settings, generator: np.random.Generator) -> str:
    settings.only(["values"])
    settings.need("values", "[1us, 2us]")
    values = settings.raws("values")
    if not values:
        raise HeadgateError("values is empty", hint="write for example values=[1us, 2us]")
    return values[int(generator.integers(len(values)))]


def _uniform(settings: Settings, generator: np.random.Generator) -> str:
    settings.only(["low", "high"])
    settings.need("low", "0.1")
    settings.need("high", "1.0")
    timed = not (bare(settings.word("low") or "") and bare(settings.word("high") or ""))
    read = settings.duration if timed else settings.number
    low, high = read("low") or 0.0, read("high") or 0.0
    if low > high:
        raise HeadgateError(f"low is above high: {low:g} > {high:g}", hint="exchange them")
    return f"{float(generator.uniform(low, high))!r}{'s' if timed else ''}"
