"""Which queries one Spark job can do together: those whose templates have an equal `form`; `fusion` makes the groups.

A template is a query of one of three forms, and nothing else between:

    project?  select*  STREAM
    project?  select*  AGGREGATE  select*  STREAM
    project?  select*  JOIN  (select* STREAM, select* STREAM)

Members of a group agree on what is written in capitals; predicates, aggregate functions and outputs are their own.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache

from headgate.model import Aggregate, Column, Join, Operator, Project, Select, Source
from headgate.plan.places import Place

Core = Source | Aggregate | Join
_NAME = r"(?:\w+|`[^`]+`)"
_PLAIN = re.compile(_NAME)  # a column as it is
_PLAIN_OF_PAIR = re.compile(rf"{_NAME}(?:\.{_NAME})?")  # one of a join's two streams


@dataclass(frozen=True, slots=True)
class Side:
    """A stream and the predicates that its tuples must meet."""

    place: Place
    source: Source
    predicates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """A query taken apart: the operator in its middle, what is below it and what is above."""

    core: Core
    sides: tuple[Side, ...]
    above: tuple[str, ...]  # predicates on what the core gives
    outputs: tuple[Column, ...] | None  # None: all that the core gives
    keys: tuple[str, ...] = ()  # of a join: the equalities in its condition; the rest of it is among `above`

    @property
    def form(self) -> Hashable:
        """What members of one group have in common."""
        streams = tuple(side.source.stream for side in self.sides)
        match self.core:
            case Aggregate() as core:
                return ("aggregate", streams, core.window, core.time, core.keys)
            case Join() as core:
                names = (core.left, core.right, core.left_time, core.right_time)
                return ("join", streams, names, self.keys, core.lower, core.upper)
        return ("rows", streams)

    @property
    def computed(self) -> frozenset[str]:
        """What a job computes for the query and its rows carry: outputs that are no plain columns, and aggregates.

        >>> Template(Source("s"), (), (), (Column("v", "v"), Column("n", "v + 1"))).computed
        frozenset({'v + 1'})
        """
        plain = _PLAIN_OF_PAIR if isinstance(self.core, Join) else _PLAIN
        outputs = (column.expression for column in self.outputs or ())
        own = self.core.aggregates if isinstance(self.core, Aggregate) else ()
        return frozenset((*(text for text in outputs if not plain.fullmatch(text)), *(one.expression for one in own)))


@lru_cache(maxsize=10_000)
def template(plan: Operator) -> Template | None:
    """A plan taken apart, or None if it is of another form.

    >>> plan = Project(inputs=(Select(inputs=(Source("s"),), predicate="v > 1"),), columns=(Column("v", "v"),))
    >>> template(plan).form, template(plan).sides[0].predicates
    (('rows', ('s',)), ('v > 1',))
    >>> template(Select(inputs=(plan,), predicate="v > 2")) is None
    True
    """
    node: Operator | Source = plan
    place: Place = ()
    outputs = None
    if isinstance(plan, Project):
        node, place, outputs = plan.inputs[0], (0,), plan.columns
    predicates, node, place = _selects(node, place)
    if isinstance(node, Source):
        return Template(node, (Side(place, node, predicates),), (), outputs)
    if not isinstance(node, Aggregate | Join):
        return None
    sides = [_side(child, (*place, port)) for port, child in enumerate(node.inputs)]
    if any(side is None for side in sides):
        return None
    keys: tuple[str, ...] = ()
    if isinstance(node, Join):
        keys, rest = join_conditions(node.condition)
        predicates = (*predicates, *rest)
    return Template(node, tuple(side for side in sides if side is not None), predicates, outputs, keys)


def join_conditions(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The equalities of columns in a join's condition, and the rest of it.

    >>> join_conditions("a.id = b.id AND a.v < b.w")
    (('a.id = b.id',), ('a.v < b.w',))
    """
    if not text:
        return (), ()
    from headgate.plan.sql import joins  # here: it takes long to import, and most who import this have no SQL

    return joins.equalities(text)


def _side(node: Operator | Source, place: Place) -> Side | None:
    predicates, below, place = _selects(node, place)
    return Side(place, below, predicates) if isinstance(below, Source) else None


def _selects(node: Operator | Source, place: Place) -> tuple[tuple[str, ...], Operator | Source, Place]:
    """The predicates above the first node that is no selection, in the order in which they are tested.

    A predicate may be there to keep rows from the next one: `k <> 0` in a subquery from `100 / k > 3` outside. A
    selection that is given by cost has none.

    >>> _selects(Select(inputs=(Select(inputs=(Source("s"),), predicate="k <> 0"),), predicate="100 / k > 3"), ())[0]
    ('k <> 0', '100 / k > 3')
    """
    predicates: list[str] = []
    while isinstance(node, Select) and node.predicate:
        predicates.insert(0, node.predicate)
        node, place = node.inputs[0], (*place, 0)
    return tuple(predicates), node, place
