"""Names: one rule for streams, tables, classes and queries, wherever they are declared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

from headgate.model.errors import ConflictError, HeadgateError, unknown

MOST_CHARACTERS = 100
MOST_BYTES = 200  # of the file name made of it; file systems take 255, and endings such as .jsonl come behind it
_NAME = re.compile(r"\w[\w.-]*( [\w.-]+)*")
SEPARATOR = ".."  # between a namespace and the name within it
_T = TypeVar("_T")
_HINT = "use letters, digits, '_', '-', '.' and single spaces between them"


def check_name(name: object, what: str = "name") -> str:
    """The name, if it is one: it must do in specification strings, in file names and, quoted, in SQL.

    >>> check_name("hot-machines.2"), check_name("größte Höhe")
    ('hot-machines.2', 'größte Höhe')
    >>> check_name("a/b", "the text")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: the text 'a/b' is not a name; use letters, digits, '_', '-', '.' and single spaces between them
    """  # noqa: E501
    if not isinstance(name, str):
        raise HeadgateError(f"{what} must be text, found {type(name).__name__}", hint="put it in quotes")
    if len(name) > MOST_CHARACTERS or _bytes(name) > MOST_BYTES:
        hint = f"use at most {MOST_CHARACTERS} letters, fewer where they are not those of English"
        raise HeadgateError(f"{what} '{name[:20]}…' is too long: {len(name)} characters", hint=hint)
    if _NAME.fullmatch(name) is None:
        raise HeadgateError(f"{what} '{name}' is not a name", hint=_HINT)
    return name


def check_relation(kind: str, name: str, taken: Mapping[str, str]) -> None:
    """Refuse a stream's or table's name that SQL could not tell from another: it reads S and s as one.

    `taken` has what is there by `folded` names, as text.

    >>> check_relation("table", "Rooms", {"rooms": "stream 'rooms'"})
    Traceback (most recent call last):
    headgate.model.errors.ConflictError: table 'Rooms' has the name of stream 'rooms'; give one of them another name
    """
    there = taken.get(folded(name))
    if there == relation(kind, name):
        raise ConflictError(f"{there} exists already", hint="choose another name")
    if there is not None:
        raise ConflictError(f"{relation(kind, name)} has the name of {there}", hint="give one of them another name")


def relation(kind: str, name: str) -> str:
    """What `check_relation` calls a stream or table."""
    return f"{kind} '{name}'"


def folded(name: str) -> str:
    """A stream's or table's name as SQL reads it, quoted or not."""
    return name.lower()


def namespace(name: str) -> str:
    """The namespace of a stream, table or query: the part of its name before "..", or "" for none.

    Those who share an engine without knowing of each other have a namespace each. The SQL of a query in a namespace
    reads the streams and tables of that namespace, by their names within it, and no others.

    >>> namespace("acme..readings"), namespace("readings")
    ('acme', '')
    """
    before, separator, _ = name.partition(SEPARATOR)
    return before if separator else ""


def within(space: str, name: str) -> str:
    """The whole name of something in a namespace.

    >>> within("acme", "readings"), within("", "readings")
    ('acme..readings', 'readings')
    """
    return f"{space}{SEPARATOR}{name}" if space else name


def visible(things: Mapping[str, _T], space: str) -> dict[str, _T]:
    """Those of a namespace by their names within it; without one, everything by its whole name.

    >>> visible({"acme..readings": 1, "readings": 2}, "acme"), len(visible({"acme..readings": 1, "readings": 2}, ""))
    ({'readings': 1}, 2)
    """
    if not space:
        return dict(things)
    start = space + SEPARATOR
    return {name.removeprefix(start): thing for name, thing in things.items() if name.startswith(start)}


def check_known(what: str, name: object, names_in_use: Iterable[str]) -> str:
    """The name, if something is called so.

    >>> check_known("stream", None, ["sensors"])
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: the name of a stream must be text, found NoneType; known: sensors
    """
    names = list(names_in_use)
    if not isinstance(name, str):
        article = "an" if what[0] in "aeiou" else "a"
        hint = f"known: {', '.join(sorted(names))}" if names else f"there is no {what} at all: add one"
        raise HeadgateError(f"the name of {article} {what} must be text, found {type(name).__name__}", hint=hint)
    if name not in names:
        raise unknown(what, name[:MOST_CHARACTERS], names)
    return name


def _bytes(name: str) -> int:
    """How long the file name is: what is not ASCII takes three characters for each of its bytes."""
    return sum(1 if character.isascii() else 3 * len(character.encode("utf-8", "replace")) for character in name)
