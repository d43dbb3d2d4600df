"""One kind of error for everything a user can get wrong."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


class HeadgateError(Exception):
    """What was asked, what was found, and what to do, in one line.

    `where` marks the place (`file.toml:12: query q1`), `hint` says what to do.

    >>> print(HeadgateError("cost must not be negative, found -1", where="w.toml:7", hint="write 0 or more"))
    w.toml:7: cost must not be negative, found -1; write 0 or more
    """

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f"; {self.hint}" if self.hint else ""
        return printable(f"{place}{self.message}{advice}")

    def __reduce__(self) -> tuple[object, ...]:  # keeps its keywords on the way out of a worker process
        return _rebuild, (type(self), self.message, self.where, self.hint)

    def at(self, where: str) -> HeadgateError:
        """The same error with an outer place put before its own."""
        place = f"{where}: {self.where}" if self.where else where
        return type(self)(self.message, where=place, hint=self.hint)


class ConflictError(HeadgateError):
    """A request that is fine by itself, but not with what is there now.

    A name that exists already, other values under the same name, a state that does not allow a command.
    """


class BusyError(HeadgateError):
    """A request that cannot be taken at the moment: the same one may succeed later."""


class DiskError(HeadgateError):
    """The disk does not take what must be kept: nothing is wrong with the request."""


def _rebuild(kind: type[HeadgateError], message: str, where: str, hint: str) -> HeadgateError:
    return kind(message, where=where, hint=hint)


def closed() -> HeadgateError:
    """The refusal of everything that is asked of a session after its `close`."""
    return HeadgateError("the session is closed", hint="open another one, on the same directory to go on there")


def printable(text: str) -> str:
    r"""Text on one line, without characters that would do something to a terminal.

    >>> print(printable("a,\n  b\x1b"))
    a, b\x1b
    """
    if text.isprintable():
        return text
    line = re.sub(r"\s*\n\s*", " ", text)
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in line)


def unknown(what: str, name: str, names: Iterable[str], *, where: str = "") -> HeadgateError:
    """The error for a name that does not exist, with the nearest ones that do.

    >>> print(unknown("policy", "hnnr", ["hr", "hnr", "bsd"]))
    unknown policy 'hnnr'; did you mean 'hnr' or 'hr'?
    >>> print(unknown("stream", "x", ["sensors"]))
    unknown stream 'x'; known: sensors
    """
    choices = sorted(names)
    near = difflib.get_close_matches(name, choices, n=3, cutoff=0.6)
    if near:
        hint = "did you mean " + " or ".join(f"'{choice}'" for choice in near) + "?"
    else:
        hint = f"known: {', '.join(choices)}" if choices else f"there is no {what} at all: add one"
    return HeadgateError(f"unknown {what} '{name}'", where=where, hint=hint)
