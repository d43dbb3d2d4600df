"""Cursors: opaque texts that say where a list, the journal or the results of a query go on.

A cursor says what was given last, not how many were, so that things which come or go meanwhile neither repeat nor hide
others. It has the kind of list that it belongs to; a cursor of another list, or a changed one, is refused.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Generic, TypeVar

from headgate.model import HeadgateError

LONGEST = 2000  # characters of a cursor
T = TypeVar("T")
Value = str | float | int | bool | None


def cursor(kind: str, *position: Value) -> str:
    """The cursor for a position in a list of a kind.

    >>> position(cursor("rows of 'hot'", 17), "rows of 'hot'")
    [17]
    """
    text = json.dumps([kind, *position], separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def position(text: str, kind: str) -> list[Any]:
    """The position in a cursor, which must be of this kind."""
    found = _decoded(text)
    if found is None:
        raise HeadgateError("the cursor is not one that this server gave", where="cursor", hint="leave it out to begin")
    if found[0] != kind:
        raise HeadgateError(
            "the cursor is of another list, or of one in another order", where="cursor", hint="leave it out to begin"
        )
    return found[1:]


def row_position(text: str, kind: str) -> int:
    """The row number in a cursor of results."""
    match position(text, kind):
        case [int(row)] if not isinstance(row, bool) and 0 <= row < 1 << 62:
            return row
    raise HeadgateError("the cursor is not one that this server gave", where="cursor", hint="leave it out to begin")


def _decoded(text: str) -> list[Any] | None:
    if not text or len(text) > LONGEST or not text.isascii():
        return None
    try:
        found = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        return None
    return found if isinstance(found, list) and found and isinstance(found[0], str) else None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items of a list, and the cursor for those after them; None if there are no more."""

    items: list[T]
    next: str | None


@dataclass(frozen=True, slots=True)
class Order(Generic[T]):
    """How a list is sorted: by a value of each item, where those without one are last, and then by name."""

    kind: str  # of the cursor
    name: Callable[[T], str]
    value: Callable[[T], Value] = lambda item: None
    descending: bool = False

    def page(self, items: Iterable[T], after: str | None, limit: int) -> Page[T]:
        """The first items, or those after a cursor.

        >>> order: Order[str] = Order("words", str, len, descending=True)
        >>> first = order.page(["a", "bb", "cc", "d"], None, limit=3)
        >>> first.items, order.page(["a", "bb", "cc", "d"], first.next, limit=3).items
        (['bb', 'cc', 'a'], ['d'])
        """
        placed = sorted(((self._place(item), item) for item in items), key=lambda pair: pair[0])
        if after is not None:
            begin = self._key(*self._last(after))
            placed = [pair for pair in placed if pair[0] > begin]
        chosen = [item for _, item in placed[:limit]]
        more = len(placed) > limit
        return Page(chosen, cursor(self.kind, self._value(chosen[-1]), self.name(chosen[-1])) if more else None)

    def _last(self, after: str) -> tuple[Value, str]:
        match position(after, self.kind):
            case [(str() | int() | float() | None) as value, str(name)]:
                return value, name
        raise HeadgateError("the cursor is not one that this server gave", where="cursor", hint="leave it out to begin")

    def _value(self, item: T) -> Value:
        value = self.value(item)
        return None if isinstance(value, float) and not isfinite(value) else value

    def _place(self, item: T) -> tuple[Any, ...]:
        return self._key(self._value(item), self.name(item))

    def _key(self, value: Value, name: str) -> tuple[Any, ...]:
        if value is None:
            return (1, (), name)
        if isinstance(value, str):
            return (0, (1, (*(-ord(letter) for letter in value), 1) if self.descending else value), name)
        return (0, (0, -value if self.descending else value), name)


def of_names(kind: str, names: Iterable[str], after: str | None, limit: int) -> Page[str]:
    """A page of a list that is sorted by name alone.

    >>> of_names("streams", ["b", "a"], None, 1).items
    ['a']
    """
    order: Order[str] = Order(kind, str)
    return order.page(names, after, limit)


def listed(page: Page[T], shown: Callable[[T], Any]) -> dict[str, Any]:
    """A page as the API shows it."""
    items: Sequence[Any] = [shown(item) for item in page.items]
    return {"items": items, "next": page.next}
