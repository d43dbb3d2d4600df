"""ETags: a short text for the present definition of a query, class, stream or table, so that nobody overwrites blindly.

An ETag is of what was declared, not of live numbers. Whoever sends it back in `If-Match` changes a thing only if nobody
else has changed it meanwhile. All changes of one thing through the API come one after another, so that nothing happens
between the comparison and the change.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from weakref import WeakValueDictionary

from headgate.model import HeadgateError
from headgate.server.problems import PreconditionError


def etag(definition: Mapping[str, Any]) -> str:
    """The ETag of a definition.

    >>> etag({"name": "hot", "class": "critical"}) == etag({"class": "critical", "name": "hot"})
    True
    """
    text = json.dumps(definition, sort_keys=True, default=str)
    return f'"{hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:20]}"'


def matches(if_match: str, present: str) -> bool:
    """Whether a header `If-Match` has the present ETag.

    >>> matches('"a", "b"', '"b"'), matches("*", '"b"'), matches('W/"b"', '"b"')
    (True, True, False)
    """
    return if_match.strip() == "*" or present in (part.strip() for part in if_match.split(","))


class Changes:
    """Lets changes of one thing come one after another; changes of different things do not wait for each other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: WeakValueDictionary[Hashable, _Lock] = WeakValueDictionary()

    @contextmanager
    def of(
        self, key: Hashable, thing: str, if_match: str | None, definition: Callable[[], Mapping[str, Any]]
    ) -> Iterator[None]:
        """Change a thing meanwhile; refused with 412 if its ETag is not the one that was sent.

        `key` is what the engine knows it by: tenants may have things of one name, and must not wait for each other.
        `thing` is what the one who asks calls it.
        """
        with self._lock:
            lock = self._locks.setdefault(key, _Lock())
        with lock.held:
            if if_match is not None:
                check(thing, if_match, etag(definition()))
            yield


class _Lock:
    """A lock that weak references can point to."""

    def __init__(self) -> None:
        self.held = threading.Lock()


def check(thing: str, if_match: str, present: str) -> None:
    """Refuse an `If-Match` that has not the present ETag."""
    if not matches(if_match, present):
        raise _changed(thing, if_match, present)


def _changed(thing: str, if_match: str, present: str) -> HeadgateError:
    return PreconditionError(
        f"{thing} has changed: If-Match has {if_match[:100]}, and its ETag is {present}",
        hint="read it again, decide again, and send its new ETag",
    )
