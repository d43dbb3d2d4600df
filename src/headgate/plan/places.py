"""Places: where an operator stands in the plan of its query."""

from __future__ import annotations

from headgate.model import Aggregate, Except, Join, Operator, Source

WINDOWED = (Aggregate, Join, Except)
Place = tuple[int, ...]  # the way from a query's root to an operator: which input, at each step


def below_window(plan: Operator, place: Place) -> bool:
    """Whether an operator with windows stands above a place.

    >>> joined = Join(inputs=(Source("a"), Source("b")), lower=0.0, upper=0.0)
    >>> below_window(joined, (1,)), below_window(joined, ())
    (True, False)
    """
    node: Operator | Source = plan
    for port in place:
        assert isinstance(node, Operator)
        if isinstance(node, WINDOWED):
            return True
        node = node.inputs[port]
    return False


def by_depth(place: Place) -> tuple[int, Place]:
    """The order in which equal sub-plans are told apart: the first one is where their results are made.

    >>> sorted([(0, 0, 0), (0, 1), (0,)], key=by_depth)
    [(0,), (0, 1), (0, 0, 0)]
    """
    return len(place), place
