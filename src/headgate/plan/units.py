"""Units: the parts of the network that a policy chooses between, at every level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from headgate.model import Level, OperatorId, QueryId, QueueId, Unit, UnitId
from headgate.plan.fusion import Fuse, Load, group, unknown
from headgate.plan.network import Network, Node
from headgate.plan.segments import chains
from headgate.plan.unit_draft import UnitDraft


def units(network: Network, level: Level, fuse: Fuse = Fuse.OFF, load: Load = unknown) -> tuple[Unit, ...]:
    """All units of a network at one level. Fusion groups whole queries; the other levels are finer than a query.

    What reads a stream is a unit of its own at every level.

    >>> from headgate.model import Query, QueryClass, Select, Source, Stream
    >>> plan = Select(inputs=(Select(inputs=(Source("s"),)),))
    >>> network = Network.of([Query(name="q", query_class="c", plan=plan)], [Stream(name="s")], [QueryClass("c")])
    >>> [str(unit) for unit in units(network, Level.OPERATOR)]
    ['q.select-0', 'q.select-1']
    >>> [(str(unit), unit.calls) for unit in units(network, Level.QUERY)]
    [('q', (0, 1))]
    >>> slow = [Stream(name="s", source_cost=0.001)]
    >>> network = Network.of(network.queries.values(), slow, [QueryClass("c")], reads=True)
    >>> [(str(unit), unit.level.value, unit.calls) for unit in units(network, Level.QUERY)]
    [('read s', 'source', (0,)), ('q', 'query', (1, 2))]
    """
    if level is Level.OPERATOR:
        drafted = [[_of_nodes(level, [node], node.label)] for node in network.nodes.values()]
    elif level is Level.SEGMENT:
        drafted = [[_of_nodes(level, chain, _span(chain))] for chain in chains(network)]
    elif level is Level.PATH:
        drafted = [*_sources(network), *([path] for name in network.queries for path in _paths(network, name))]
    else:
        whole = [[superbox] for superbox in superboxes(network)]
        if level is Level.GROUP or fuse is not Fuse.OFF:
            whole = group(network, [draft for (draft,) in whole], fuse, load)
        drafted = [*_sources(network), *whole]
    return tuple(_unit(network, number, drafts) for number, drafts in enumerate(drafted))


def unit_of(
    network: Network, number: UnitId, level: Level, calls: Sequence[OperatorId], queries: Sequence[QueryId] = ()
) -> Unit:
    """A unit of some operators and all of their queues, for policies that cut the network themselves.

    It works for some queries, or for all that use the operators.

    >>> from headgate.model import Query, QueryClass, Select, Source, Stream
    >>> plan = Select(inputs=(Select(inputs=(Source("s"),), name="a"),), name="b")
    >>> network = Network.of([Query(name="q", query_class="c", plan=plan)], [Stream(name="s")], [QueryClass("c")])
    >>> unit = unit_of(network, 7, Level.SEGMENT, [1])
    >>> str(unit), unit.id, unit.queues, unit.depth
    ('b', 7, (1,), 1)
    """
    nodes = [network.nodes[call] for call in calls]
    name = _span(nodes) if level is Level.SEGMENT or not queries else "+".join(queries)
    return _unit(network, number, [_of_nodes(level, nodes, name, tuple(queries))])


def superboxes(network: Network) -> Iterator[UnitDraft]:
    """Whole queries; those that share an operator are one shared set."""
    for queries in connected(network.operators):
        numbers = dict.fromkeys(number for name in queries for number in network.operators[name])
        nodes = [network.nodes[number] for number in numbers]
        level = Level.QUERY if len(queries) == 1 else Level.SHARED
        yield _of_nodes(level, nodes, "+".join(queries), queries)


def connected(operators: Mapping[QueryId, Iterable[OperatorId]]) -> list[tuple[QueryId, ...]]:
    """Sets of queries that share operators, directly or through others, in the queries' order.

    >>> connected({"p": [1, 2], "q": [3], "r": [2, 4]})
    [('p', 'r'), ('q',)]
    """
    home = {name: {name} for name in operators}
    users: dict[OperatorId, QueryId] = {}  # the first of each operator
    for name, numbers in operators.items():
        for number in numbers:
            first = users.setdefault(number, name)
            if home[name] is not home[first]:
                merged = home[name] | home[first]
                home.update(dict.fromkeys(merged, merged))
    order = {name: position for position, name in enumerate(operators)}
    distinct = {id(members): members for members in home.values()}
    return [tuple(sorted(members, key=order.__getitem__)) for members in distinct.values()]


def _paths(network: Network, query: QueryId) -> Iterator[UnitDraft]:
    """From each leaf of a query to its root; a join has one path per input."""

    def climb(node: Node, queue: QueueId) -> Iterator[list[QueueId]]:
        if query in node.emits:
            yield [queue]
        for consumer in node.consumers:
            above = network.nodes[network.edges[consumer].operator]
            if query in above.queries:
                yield from ([queue, *rest] for rest in climb(above, consumer))

    for node in network.nodes_of(query):
        for queue in node.queues:
            stream = network.stream(queue)
            if stream is not None:
                for queues in climb(node, queue):
                    calls = tuple(network.edges[step].operator for step in queues)
                    yield UnitDraft(Level.PATH, calls, tuple(queues), (query,), f"{query}:{stream}-{queue}")


def _sources(network: Network) -> list[list[UnitDraft]]:
    return [[_of_nodes(Level.SOURCE, [node], node.label)] for node in network.readers]


def _of_nodes(level: Level, nodes: Iterable[Node], name: str, queries: tuple[QueryId, ...] = ()) -> UnitDraft:
    members = list(nodes)
    return UnitDraft(
        Level.SOURCE if members[0].reads else level,
        tuple(node.id for node in members),
        tuple(queue for node in members for queue in node.queues),
        queries or tuple(dict.fromkeys(name for node in members for name in node.queries)),
        name,
    )


def _span(chain: list[Node]) -> str:
    return chain[0].label if len(chain) == 1 else f"{chain[0].label}…{chain[-1].label}"


def _unit(network: Network, number: int, drafts: list[UnitDraft]) -> Unit:
    """A unit of one draft, or of several that are fused."""
    entries = tuple(_entries(network, draft) for draft in drafts)
    outer = [queue for entry in entries for queue in entry]
    inner = [queue for draft in drafts for queue in draft.queues if queue not in outer]
    queries = tuple(name for draft in drafts for name in draft.queries)
    return Unit(
        id=number,
        level=drafts[0].level if len(drafts) == 1 else Level.GROUP,
        calls=tuple(call for draft in drafts for call in draft.calls),
        queues=(*outer, *inner),
        entries=entries,
        queries=queries,
        payer=network.payer(queries),
        depth=_depth(network, drafts[0].queues[0]),
        name=drafts[0].name if len(drafts) == 1 else f"{drafts[0].name}…{drafts[-1].name} ({len(queries)} queries)",
    )


def _entries(network: Network, draft: UnitDraft) -> tuple[QueueId, ...]:
    """The queues that are not fed from inside the draft."""
    inside = set(draft.calls)
    return tuple(queue for queue in draft.queues if network.edges[queue].producer not in inside)


def _depth(network: Network, queue: QueueId) -> int:
    """How many operators stand before a queue."""
    producer = network.edges[queue].producer
    return 0 if producer is None else 1 + max(_depth(network, feed) for feed in network.nodes[producer].queues)
