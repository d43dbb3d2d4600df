"""Every representation of a query on its way to the scheduler, as a tree of text.

SQL, plan, network, units: what `headgate explain --stage` prints.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from headgate.model import Given, Level, Operator, OperatorId, Query, QueryId, QueueId, Source, Unit
from headgate.plan.fusion import Fuse
from headgate.plan.network import Network, Node
from headgate.plan.tree import render
from headgate.plan.units import units

_SCALES = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


@dataclass(frozen=True, slots=True)
class Branch:
    r"""A label of one or more lines, and what hangs below it.

    >>> print(Branch("a", (Branch("b\nmore", (Branch("c"),)), Branch("d"))))
    a
    ├─ b
    │  more
    │  └─ c
    └─ d
    """

    label: str
    below: tuple[Branch, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield from self.label.splitlines()
        for branch in self.below:
            last = branch is self.below[-1]
            head, *rest = branch._lines()
            yield ("└─ " if last else "├─ ") + head
            yield from (("   " if last else "│  ") + line for line in rest)


def explain_sql(network: Network, query: QueryId | None = None) -> str:
    """What every query says: its SQL, or the operators it was written with."""
    return _forest(Branch(_title(network, asked), (_written(asked),)) for asked in _asked(network, query))


def explain_plans(network: Network, query: QueryId | None = None) -> str:
    """The operators of every query, the root on top, with what is known of their costs."""
    return _forest(
        Branch(_title(network, asked), (Branch(render(_annotated(asked.plan))),)) for asked in _asked(network, query)
    )


def explain_network(network: Network, query: QueryId | None = None) -> str:
    """Streams on top, operators below those that feed them, queries where their results leave.

    An operator stands in one place; where it has further inputs, they point to it.
    """
    names = {asked.name for asked in _asked(network, query)}
    shown = _Shown(network, names, set())
    streams = [Branch(f"stream {name}", shown.fed_by(shown.readers(name))) for name in network.streams]
    return _forest(tree for tree in streams if tree.below or query is None)


def explain_units(network: Network, level: Level, fuse: Fuse = Fuse.OFF, query: QueryId | None = None) -> str:
    """What a policy chooses between: each unit with its queries, operators and queues."""
    names = {asked.name for asked in _asked(network, query)}
    return _forest(_unit(network, unit) for unit in units(network, level, fuse) if names & set(unit.queries))


def duration(seconds: float) -> str:
    """A time in the unit that suits it, as a workload file would write it.

    >>> duration(0.005), duration(0.00025), duration(90.0), duration(0.0)
    ('5ms', '250us', '90s', '0s')
    """
    unit, scale = next(((unit, scale) for unit, scale in _SCALES if abs(seconds) >= scale), _SCALES[0])
    return f"{seconds / scale:.6g}{unit}"


def settings(given: Given) -> dict[str, str]:
    """What was said of an operator beforehand, as a workload file would write it."""
    said = {
        "cost": duration(given.cost) if given.cost else "",
        "overhead": duration(given.overhead) if given.overhead else "",
        "selectivity": "" if given.selectivity is None else f"{given.selectivity:g}",
        "pass": f"[{', '.join(str(passes).lower() for passes in given.passes)}]" if given.passes else "",
        "attribute": given.attribute or "",
        "bytes": "" if given.bytes is None else str(given.bytes),
    }
    return {name: text for name, text in said.items() if text}


def sql_text(sql: str) -> str:
    """SQL as it was written, clause by clause."""
    from headgate.plan.sql.layout import laid_out  # sqlglot is slow to import, and only this needs it

    return laid_out(sql)


def _forest(trees: Iterable[Branch]) -> str:
    return "\n\n".join(map(str, trees))


def _asked(network: Network, query: QueryId | None) -> list[Query]:
    return list(network.queries.values()) if query is None else [network.query(query)]


def _title(network: Network, query: Query) -> str:
    return f"query {query.name}, {_class(network, query.query_class)}" + _lifetime(query)


def _class(network: Network, name: str) -> str:
    return f"class {name} ({network.query_class(name).priority:g})"


def _lifetime(query: Query) -> str:
    begins = f", from {duration(query.start)} on" if query.start > 0 else ""
    return begins + (f", until {duration(query.end)}" if query.end != float("inf") else "")


def _written(query: Query) -> Branch:
    if query.sql is None:
        return _operators(query.plan)
    return Branch(sql_text(query.sql))


def _operators(node: Operator | Source) -> Branch:
    """Operators given by cost, as they were written: the chain or tree from the root down."""
    if isinstance(node, Source):
        return Branch(f"from {node}")
    said = settings(node.given) | ({"name": node.name} if node.name else {})
    text = ", ".join([str(node.kind), *(f"{name}={value}" for name, value in said.items())])
    return Branch(f"{text}{_meaning(node)}", tuple(map(_operators, node.inputs)))


def _meaning(operator: Operator) -> str:
    meaning = operator.describe()
    return f"  ({meaning})" if meaning else ""


def _annotated(node: Operator | Source) -> Operator | Source:
    """The same plan with costs written behind the operators' names."""
    if isinstance(node, Source):
        return node
    return replace(node, name=_note(node) or None, inputs=tuple(map(_annotated, node.inputs)))


def _note(operator: Operator) -> str:
    said = ", ".join(f"{name} {value}" for name, value in settings(operator.given).items())
    return " ".join(filter(None, (operator.name or "", f"({said})" if said else "")))


def _node_text(node: Node) -> str:
    operator = node.operator
    return " ".join(filter(None, (f"#{node.id}", str(operator.kind), _note(operator), operator.describe())))


@dataclass(frozen=True, slots=True)
class _Shown:
    """The part of a network that some queries use, and which operators have found their place."""

    network: Network
    queries: Collection[QueryId]
    placed: set[OperatorId]

    def readers(self, stream: str) -> list[QueueId]:
        return [edge.id for edge in self.network.edges.values() if edge.stream == stream]

    def fed_by(self, queues: Iterable[QueueId]) -> tuple[Branch, ...]:
        used = [queue for queue in queues if self._uses(self._node(queue))]
        return tuple(self._input(queue) for queue in used)

    def _node(self, queue: QueueId) -> Node:
        return self.network.nodes[self.network.edges[queue].operator]

    def _uses(self, node: Node) -> bool:
        return any(name in self.queries for name in node.queries)

    def _input(self, queue: QueueId) -> Branch:
        node, port = self._node(queue), self.network.edges[queue].port
        which = f" [input {port + 1} of {len(node.queues)}]" if len(node.queues) > 1 else ""
        if node.id in self.placed:
            return Branch(f"#{node.id} {node.operator.kind}{which}, see above")
        self.placed.add(node.id)
        shared = f", shared by {', '.join(node.queries)}" if len(node.queries) > 1 else ""
        results = tuple(
            Branch(_title(self.network, self.network.queries[name])) for name in node.emits if name in self.queries
        )
        return Branch(_node_text(node) + which + shared, (*results, *self.fed_by(node.consumers)))


def _unit(network: Network, unit: Unit) -> Branch:
    title = f"unit {unit}, level {unit.level}, paid by {_class(network, unit.payer)}"
    operators = tuple(Branch(_node_text(network.nodes[call])) for call in unit.calls)
    queues = tuple(Branch(_queue_text(network, queue, unit)) for queue in unit.queues)
    queries = Branch(f"queries: {', '.join(unit.queries)}")
    return Branch(title, (queries, Branch("operators", operators), Branch("queues", queues)))


def _queue_text(network: Network, queue: QueueId, unit: Unit) -> str:
    edge = network.edges[queue]
    feeds = f"stream {edge.stream}" if edge.producer is None else f"#{edge.producer}"
    entry = ", entry" if any(queue in entries for entries in unit.entries) else ""
    port = f" input {edge.port + 1}" if len(network.nodes[edge.operator].queues) > 1 else ""
    return f"queue {queue}: {feeds} → #{edge.operator}{port}{entry}"
