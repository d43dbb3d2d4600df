"""TOML as the workload files write it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import wrap
from typing import Any

WIDTH = 116


def comment(text: str) -> str:
    r"""Paragraphs as comment lines.

    >>> print(comment("One. \n\nTwo."), end="")
    # One.
    #
    # Two.
    """
    paragraphs = [wrap(" ".join(part.split()), WIDTH - 2) for part in text.split("\n\n")]
    lines = [line for paragraph in paragraphs for line in [*paragraph, ""]][:-1]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def table(head: str, **pairs: Any) -> str:
    """A table; a trailing `_` keeps Python's words apart from keys, and None is left out.

    >>> print(table("[[query]]", name="q", from_=["s"], count=None), end="")
    <BLANKLINE>
    [[query]]
    name = "q"
    from = ["s"]
    """
    lines = [f"{key.rstrip('_')} = {value(each)}\n" for key, each in pairs.items() if each is not None]
    return f"\n{head}\n" + "".join(lines)


def inline(rows: Iterable[Mapping[str, Any]], key: str) -> str:
    """Many small tables, a line each."""
    lines = ("    { " + ", ".join(f"{name} = {value(each)}" for name, each in row.items()) + " },\n" for row in rows)
    return f"\n{key} = [\n{''.join(lines)}]\n"


def value(each: Any) -> str:
    """A value as TOML writes it; a long list takes a line for each element."""
    if isinstance(each, bool):
        return str(each).lower()
    if isinstance(each, str):
        return f'"{each}"'
    if isinstance(each, Mapping):
        return "{ " + ", ".join(f"{name} = {value(one)}" for name, one in each.items()) + " }"
    if not isinstance(each, (list, tuple)):
        return f"{each}"
    parts = [value(one) for one in each]
    short = f"[{', '.join(parts)}]"
    return short if len(short) < 90 else "[\n" + "".join(f"    {part},\n" for part in parts) + "]"
