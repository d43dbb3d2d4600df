"""Query classes ordered by priority."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby, pairwise


def by_priority(priorities: Mapping[str, float]) -> list[str]:
    """Classes by falling priority, equal ones by name.

    >>> by_priority({"low": 1, "top": 5, "twin": 3, "also": 3})
    ['top', 'also', 'twin', 'low']
    """
    return sorted(priorities, key=lambda name: (-priorities[name], name))


def neighbours(priorities: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """Pairs of classes next to each other in priority, every class of one priority with every class of the next.

    >>> list(neighbours({"low": 1, "top": 5, "twin": 3, "also": 3}))
    [('top', 'also'), ('top', 'twin'), ('also', 'low'), ('twin', 'low')]
    """
    steps = [list(names) for _, names in groupby(by_priority(priorities), key=priorities.__getitem__)]
    for upper, lower in pairwise(steps):
        yield from ((above, below) for above in upper for below in lower)
