"""What an operator is worth that several queries share (Sharaf et al. 2006, section 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from headgate.model import Level, OperatorId, QueryId, Unit
from headgate.plan.network import Network
from headgate.plan.units import connected, unit_of
from headgate.policies.settings import Setting

SHARING = Setting(
    "sharing",
    "sum",
    "what a shared operator counts: its best query (max), all of them (sum), or those that raise it (pdt)",
    choices=("max", "sum", "pdt"),
)


class Rate(Protocol):
    """A rate of a unit, or of some of its queries as if only they used its operators."""

    def __call__(self, unit: Unit, of: Sequence[QueryId] | None = None, /) -> float: ...


def worth(unit: Unit, rate: Rate, sharing: str) -> float:
    """The rate that a unit counts with, by the reading of sharing."""
    if len(unit.queries) == 1 or sharing == "sum":
        return rate(unit)
    if sharing == "max":
        return max(rate(unit, (name,)) for name in unit.queries)
    return rate(unit, priority_tree(unit, rate))


def priority_tree(unit: Unit, rate: Rate) -> list[QueryId]:
    """The queries of the priority-defining tree of a unit.

    They are visited by falling rate and added while the rate of all that are taken grows; the first that does not
    raise it ends the tree, as the document says, even if a later one would. The first may share nothing with some
    others where queries are joined in a row, p with q and q with r; those stay for a tree of their own.
    """
    falling = sorted(unit.queries, key=lambda name: -rate(unit, (name,)))
    taken, best = falling[:1], rate(unit, falling[:1])
    for name in falling[1:]:
        more = rate(unit, [*taken, name])
        if more <= best:
            break
        taken, best = [*taken, name], more
    return taken


def trees(network: Network, rate: Rate) -> list[Unit] | None:
    """Whole queries; those that share an operator as priority-defining trees and what the trees leave over.

    A tree runs as one unit. What the other queries have beyond its operators are units of their own, cut the same way
    where they share operators again. Streams are read as ever. None: no query shares anything.
    """
    if all(len(queries) == 1 for queries in connected(network.operators)):
        return None
    parts = _parts(network, {name: list(network.operators[name]) for name in network.queries}, rate)
    sources = [unit_of(network, number, Level.SOURCE, [node.id]) for number, node in enumerate(network.readers)]
    return sources + [_unit(network, number, *part) for number, part in enumerate(parts, len(sources))]


_Part = tuple[list[OperatorId], list[QueryId]]


def _parts(network: Network, operators: dict[QueryId, list[OperatorId]], rate: Rate) -> Iterator[_Part]:
    """Operators and queries of every unit that some queries' operators are cut into."""
    for queries in connected(operators):
        calls = list(dict.fromkeys(call for name in queries for call in operators[name]))
        tree = _around_the_best(network, calls, queries, operators, rate)
        inside = dict.fromkeys(call for name in tree for call in operators[name])
        rest = {name: [call for call in operators[name] if call not in inside] for name in queries}
        yield list(inside), [name for name in queries if not rest[name]]  # those that the tree covers come for nothing
        yield from _parts(network, {name: left for name, left in rest.items() if left}, rate)


def _around_the_best(
    network: Network,
    calls: list[OperatorId],
    queries: tuple[QueryId, ...],
    operators: dict[QueryId, list[OperatorId]],
    rate: Rate,
) -> Sequence[QueryId]:
    """The tree of the best of some queries and of those that share an operator with it."""
    if len(queries) == 1:
        return queries
    whole = _unit(network, 0, calls, queries)
    best = max(queries, key=lambda name: rate(whole, (name,)))
    near = [name for name in queries if not set(operators[name]).isdisjoint(operators[best])]
    return priority_tree(_unit(network, 0, calls, near), rate)


def _unit(network: Network, number: int, calls: Sequence[OperatorId], queries: Sequence[QueryId]) -> Unit:
    return unit_of(network, number, Level.QUERY if len(queries) == 1 else Level.SHARED, calls, queries)
