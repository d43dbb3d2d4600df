"""Queries that are to start, as callers of the engine give them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from headgate.model import HeadgateError, Query
from headgate.spark.sinks.base import Call


@dataclass(frozen=True, slots=True)
class NewQuery:
    """A query to start: the function of its sink, its times in seconds since the epoch, and what it still lacks."""

    query: Query
    call: Call | None = None
    start: float | None = None
    end: float | None = None
    lacks: tuple[str, ...] = ()

    def of_class(self, query_class: str) -> NewQuery:
        """The same in a class."""
        return replace(self, query=replace(self.query, query_class=query_class))


@contextmanager
def named(query: str) -> Iterator[None]:
    """Errors inside say which query they are about.

    >>> with named("hot"):
    ...     raise HeadgateError("since is 'now' or 'start', found 'then'")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: query 'hot': since is 'now' or 'start', found 'then'
    """
    try:
        yield
    except HeadgateError as error:
        place = f"query '{query}'"
        raise (error if place in str(error) else error.at(place)) from None
