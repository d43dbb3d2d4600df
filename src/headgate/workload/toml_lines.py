"""The line number of every table, key and element of a TOML text, which tomllib does not give."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

Loc = tuple[str | int, ...]  # ("query", 2, "operators", 0)

_TOKEN = re.compile(
    r"""
    (?P<skip>[ \t\r]+|\#[^\n]*)
    |(?P<newline>\n)
    |(?P<text>\"{3}(?:\\.|[^\\])*?\"{3}(?!\")|'{3}.*?'{3}(?!')|"(?:\\.|[^"\\\n])*"|'[^'\n]*')
    |(?P<mark>[][{},=.])
    |(?P<word>[^\s\[\]{},=.\#"']+|.)
    """,
    re.VERBOSE | re.DOTALL,
)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def lines(text: str) -> dict[Loc, int]:
    r"""The line of every table, key and element of a text that tomllib has accepted.

    >>> line_of = lines('[[query]]\nname = "q"\noperators = [\n  "select",\n  "project",\n]')
    >>> line_of["query", 0], line_of["query", 0, "name"], line_of["query", 0, "operators", 1]
    (1, 2, 5)
    """
    scanner = _Scanner(text)
    with suppress(RecursionError):  # what was found so far is enough to point near the place
        scanner.document()
    return scanner.lines


class _Scanner:
    """Walks over the tokens and notes where things start."""

    def __init__(self, text: str) -> None:
        self.lines: dict[Loc, int] = {}
        self._counts: dict[Loc, int] = {}
        self._tokens = _tokens(text)
        self._next = next(self._tokens)

    def document(self) -> None:
        table: Loc = ()
        while self._next.kind != "end":
            if self._next.kind == "newline":
                self._take()
            elif self._next.text == "[":
                table = self._header()
            else:
                self._pair(table)

    def _take(self) -> _Token:
        token = self._next
        self._next = next(self._tokens, _Token("end", "", token.line))
        return token

    def _header(self) -> Loc:
        line = self._next.line
        self._take()
        many = self._next.text == "["
        keys = self._key("]")
        loc = (*self._resolve(keys[:-1]), keys[-1]) if many else self._resolve(keys)
        if many:
            self._counts[loc] = self._counts.get(loc, 0) + 1
            self.lines.setdefault(loc, line)
            loc = (*loc, self._counts[loc] - 1)
        self.lines.setdefault(loc, line)
        self._until_newline()
        return loc

    def _resolve(self, keys: list[str]) -> Loc:
        """`[query.draw]` belongs to the last [[query]]."""
        loc: Loc = ()
        for key in keys:
            loc = (*loc, key)
            if loc in self._counts:
                loc = (*loc, self._counts[loc] - 1)
        return loc

    def _key(self, stop: str) -> list[str]:
        keys = []
        while self._next.text != stop and self._next.kind not in ("newline", "end"):
            token = self._take()
            if token.kind in ("word", "text"):
                keys.append(token.text.strip("\"'") if token.kind == "text" else token.text)
        return keys or [""]

    def _pair(self, table: Loc) -> None:
        line, loc = self._next.line, table
        for key in self._key("="):
            loc = (*loc, key)
            self.lines.setdefault(loc, line)
        self._take()
        self._value(loc)

    def _value(self, loc: Loc) -> None:
        if self._next.text == "[":
            self._array(loc)
        elif self._next.text == "{":
            self._inline_table(loc)
        else:
            while self._next.text not in (",", "]", "}") and self._next.kind not in ("newline", "end"):
                self._take()

    def _array(self, loc: Loc) -> None:
        self._take()
        index = 0
        while self._next.text != "]" and self._next.kind != "end":
            if self._next.kind == "newline" or self._next.text == ",":
                self._take()
                continue
            self.lines[(*loc, index)] = self._next.line
            self._value((*loc, index))
            index += 1
        self._take()

    def _inline_table(self, loc: Loc) -> None:
        self._take()
        while self._next.text != "}" and self._next.kind != "end":
            if self._next.kind == "newline" or self._next.text == ",":
                self._take()
            else:
                self._pair(loc)
        self._take()

    def _until_newline(self) -> None:
        while self._next.kind not in ("newline", "end"):
            self._take()


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "word"
        if kind != "skip":
            yield _Token(kind, match.group(), line)
        line += match.group().count("\n")
    yield _Token("end", "", line)
