"""Which operators of different queries are one operator of the network."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from headgate.model import HeadgateError, Operator, Query, Source
from headgate.plan.places import WINDOWED, Place, below_window


def signature(operator: Operator, place: Place, query: Query, share: bool = True) -> Hashable:
    """Equal signatures are one operator. Where queries share nothing, a query's name is part of all of its own.

    With `share=False` (on Spark) an operator below a window passes over late tuples and one that no window is above
    takes them, so the two stay apart.

    Operators from SQL are shared when their whole sub-plans are equal; operators given by cost say nothing of what
    they compute, so they are shared only when they carry the same name.

    >>> from headgate.model import Select
    >>> alone = Select(inputs=(Source("s"),))
    >>> q = Query(name="q", query_class="c", plan=alone)
    >>> signature(alone, (0, 1), q)
    ('place', 'q', (0, 1))
    >>> signature(Select(inputs=(Source("s"),), name="hot"), (), q)
    ('name', 'hot')
    """
    alone = () if share else (query.name, _takes_late(operator) and not below_window(query.plan, place))
    if query.sql is not None:
        return ("plan", operator, *alone)
    if operator.name is not None:
        return ("name", operator.name, *alone)
    return ("place", query.name, place)


def _takes_late(node: Operator | Source) -> bool:
    """Whether tuples get through to a node without passing through windows."""
    if isinstance(node, Source):
        return True
    return not isinstance(node, WINDOWED) and any(map(_takes_late, node.inputs))


def check_same(first: Operator, second: Operator, query: Query) -> None:
    """Refuse one name for two different operators."""
    alike = replace(first, inputs=()) == replace(second, inputs=()) and len(first.inputs) == len(second.inputs)
    if not (alike and all(map(_same_input, first.inputs, second.inputs))):
        raise HeadgateError(
            f"operator '{second.name}' is already given with other settings or inputs",
            where=f"query {query.name}",
            hint="give shared operators the same settings, or this one another name",
        )


def _same_input(first: Operator | Source, second: Operator | Source) -> bool:
    """Operators below have been compared when they were placed, so their names are enough here."""
    if isinstance(first, Operator) and isinstance(second, Operator):
        return first.name is not None and first.name == second.name
    return first == second
