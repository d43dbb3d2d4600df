"""Which recorded query is most like one that was not recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from headgate.model import Operator, Query, Source, walk

_STREAM, _FORM = 4, 2  # what the same streams, and the same last but one operator, count for beside operators


def most_similar(query: Query, candidates: Iterable[Query]) -> Query:
    """The query with the same streams and operators, as far as there is one; its numbers stand for those of the other.

    >>> from headgate.model import Aggregate, Select, Window
    >>> def make(name, plan):
    ...     return Query(name=name, query_class="c", plan=plan)
    >>> rows, window = Select(inputs=(Source("s"),)), Window(5.0)
    >>> recorded = [make("rows", rows), make("counts", Aggregate(inputs=(rows,), window=window))]
    >>> most_similar(make("new", Aggregate(inputs=(Source("s"),), window=window)), recorded).name
    'counts'
    """
    parts = _parts(query.plan)
    return max(sorted(candidates, key=lambda other: other.name), key=lambda other: _likeness(parts, _parts(other.plan)))


def _parts(plan: Operator) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    for node in walk(plan):
        if isinstance(node, Source):
            found["stream", node.stream] += _STREAM
        else:
            found["operator", node.kind] += 1
            if (window := getattr(node, "window", None)) is not None:
                found["window", node.kind] += _FORM
                found["window", node.kind, str(window)] += 1
    return found


def _likeness(one: Counter[tuple[str, ...]], other: Counter[tuple[str, ...]]) -> float:
    return sum((one & other).values()) / max(1, sum((one | other).values()))
