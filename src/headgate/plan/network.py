"""All queries' operators as one graph, equal sub-plans shared; edges are queues.

A network is immutable: adding or removing a query gives a new one in which every operator and queue that was
there before keeps its number, so that queues, traces and running work stay valid.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from headgate.model import (
    ClassId,
    ConflictError,
    Given,
    HeadgateError,
    Kind,
    Operator,
    OperatorId,
    Query,
    QueryClass,
    QueryId,
    QueueId,
    Read,
    Source,
    Stream,
    Table,
    Target,
    effective_target,
    unknown,
)
from headgate.plan.places import Place
from headgate.plan.shared_operators import check_same, signature

GONE = 10_000  # operators and queues that are gone, whose numbers are kept: a query that comes again has them again


@dataclass(frozen=True, slots=True)
class Edge:
    """A queue of the network: what waits before one input of an operator, fed by a stream or by an operator."""

    id: QueueId
    operator: OperatorId
    port: int
    stream: str | None
    producer: OperatorId | None


@dataclass(frozen=True, slots=True)
class Node:
    """An operator in its place in the network."""

    id: OperatorId
    operator: Operator
    queues: tuple[QueueId, ...]  # by port
    consumers: tuple[QueueId, ...]  # where its results go
    queries: tuple[QueryId, ...]  # that use it
    emits: tuple[QueryId, ...]  # whose results leave here

    @property
    def reads(self) -> bool:
        """Whether it reads a stream for the queries, and is no operator of theirs."""
        return self.operator.kind is Kind.READ

    @property
    def label(self) -> str:
        if self.operator.name:
            return self.operator.name
        if self.reads:
            return f"read {self.operator.describe()}"
        return f"{self.queries[0]}.{self.operator.kind}-{self.id}"


@dataclass(frozen=True, slots=True)
class Network:
    """Operators and queues of all queries; operators stand after those that feed them."""

    streams: Mapping[str, Stream]
    classes: Mapping[ClassId, QueryClass]
    queries: Mapping[QueryId, Query] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    nodes: Mapping[OperatorId, Node] = field(default_factory=dict)
    edges: Mapping[QueueId, Edge] = field(default_factory=dict)
    operators: Mapping[QueryId, tuple[OperatorId, ...]] = field(default_factory=dict)  # of each query, reading aside
    numbers: Mapping[Hashable, int] = field(
        default_factory=dict, repr=False
    )  # signature ⇒ number, also of what is gone
    share: bool = True  # equal operators of different queries are one
    reads: bool = False  # streams that take time to read have an operator for it

    @classmethod
    def of(
        cls,
        queries: Iterable[Query],
        streams: Iterable[Stream],
        classes: Iterable[QueryClass],
        tables: Iterable[Table] = (),
        *,
        share: bool = True,
        reads: bool = False,
    ) -> Network:
        """Build the network of some queries.

        >>> from headgate.model import Select
        >>> plan = Select(inputs=(Source("s"),), name="hot")
        >>> queries = [Query(name=name, query_class="c", plan=plan) for name in ("p", "q")]
        >>> network = Network.of(queries, [Stream(name="s")], [QueryClass("c")])
        >>> [(node.label, node.queries) for node in network.nodes.values()]
        [('hot', ('p', 'q'))]
        >>> network = Network.of(queries, [Stream(name="s", source_cost=0.001)], [QueryClass("c")], reads=True)
        >>> [(node.label, node.queries) for node in network.nodes.values()], network.operators["p"]
        ([('read s', ('p', 'q')), ('hot', ('p', 'q'))], (1,))
        """
        empty = cls(
            {stream.name: stream for stream in streams},
            {query_class.name: query_class for query_class in classes},
            tables={table.name: table for table in tables},
            share=share,
            reads=reads,
        )
        return empty._with(list(queries))

    def add(self, query: Query) -> Network:
        """The network with one more query; what it costs does not grow with how many there are, copies aside."""
        return self.add_all([query])

    def add_all(self, queries: Iterable[Query]) -> Network:
        """The network with more queries: the same as if they were added one after the other."""
        added = list(queries)
        for query in added:
            if query.name in self.queries:
                hint = "remove it first or choose another name"
                raise ConflictError(f"query '{query.name}' exists already", hint=hint)
        return self._with(added)

    def remove(self, name: QueryId) -> Network:
        """The network without a query and what only it used."""
        self.query(name)
        nodes, edges = dict(self.nodes), dict(self.edges)
        gone: set[QueueId] = set()
        for node in self.nodes.values():
            if name in node.queries and len(node.queries) == 1:
                del nodes[node.id]
                gone.update(node.queues)
        for queue in gone:
            del edges[queue]
        for node in self.nodes.values():
            if node.id in nodes and name in node.queries:
                nodes[node.id] = replace(
                    node,
                    consumers=tuple(queue for queue in node.consumers if queue not in gone),
                    queries=tuple(other for other in node.queries if other != name),
                    emits=tuple(other for other in node.emits if other != name),
                )
        queries = {key: query for key, query in self.queries.items() if key != name}
        operators = {key: used for key, used in self.operators.items() if key != name}
        return replace(self, queries=queries, nodes=nodes, edges=edges, operators=operators)

    def move(self, name: QueryId, query_class: ClassId) -> Network:
        """The same network with a query in another class."""
        self.query_class(query_class)
        moved = replace(self.query(name), query_class=query_class)
        return replace(self, queries={**self.queries, name: moved})

    def declare(self, stream: Stream | None = None, query_class: QueryClass | None = None) -> Network:
        """The same network with a stream or a class that queries may refer to."""
        streams = self.streams if stream is None else {**self.streams, stream.name: stream}
        classes = self.classes if query_class is None else {**self.classes, query_class.name: query_class}
        return replace(self, streams=streams, classes=classes)

    def undeclare(self, stream: str | None = None, query_class: ClassId | None = None) -> Network:
        """The same network without a stream or a class; no query may refer to it.

        >>> network = Network.of([], [Stream(name="s"), Stream(name="t")], [QueryClass("c")])
        >>> list(network.undeclare("s", "c").streams), list(network.undeclare(query_class="c").classes)
        (['t'], [])
        """
        streams = {name: each for name, each in self.streams.items() if name != stream}
        classes = {name: each for name, each in self.classes.items() if name != query_class}
        return replace(self, streams=streams, classes=classes)

    def prioritize(self, query_class: ClassId, priority: float) -> Network:
        """The same network with another priority of a class."""
        changed = replace(self.query_class(query_class), priority=priority)
        return replace(self, classes={**self.classes, query_class: changed})

    def query(self, name: QueryId) -> Query:
        if name not in self.queries:
            raise unknown("query", name, self.queries)
        return self.queries[name]

    def query_class(self, name: ClassId) -> QueryClass:
        if name not in self.classes:
            raise unknown("class", name, self.classes)
        return self.classes[name]

    def target(self, name: QueryId) -> Target | None:
        """How soon a query's results are wanted: its own target, its class's, or its QoS graph's deadline."""
        query = self.query(name)
        return effective_target(query, self.classes[query.query_class])

    def payer(self, queries: Iterable[QueryId]) -> ClassId:
        """The highest class among some queries; the first by name among equals."""
        classes = sorted({self.queries[name].query_class for name in queries})
        return max(classes, key=lambda name: self.classes[name].priority)

    def nodes_of(self, query: QueryId) -> tuple[Node, ...]:
        """A query's operators, every one after those that feed it."""
        return tuple(self.nodes[number] for number in self.operators[query])

    def places(self, query: QueryId) -> dict[Place, OperatorId]:
        """The operator at each place of a query's plan; equal sub-plans are one operator at several places."""
        planned = self.query(query)
        numbers: dict[Place, OperatorId] = {}

        def visit(operator: Operator, place: Place) -> None:
            numbers[place] = self.numbers[("operator", signature(operator, place, planned, self.share))]
            for port, child in enumerate(operator.inputs):
                if isinstance(child, Operator):
                    visit(child, (*place, port))

        visit(planned.plan, ())
        return numbers

    def inputs(self, query: QueryId) -> dict[Place, QueueId]:
        """The queue before which each stream and each operator but the last of a query's plan stands, by its place."""
        return {
            (*place, port): queue
            for place, number in self.places(query).items()
            for port, queue in enumerate(self.nodes[number].queues)
        }

    def leaves(self, query: QueryId) -> dict[Place, QueueId]:
        """The queue that each leaf of a query's plan stands for, by the leaf's place."""
        return {place: queue for place, queue in self.inputs(query).items() if self.stream(queue) is not None}

    def stream(self, queue: QueueId) -> str | None:
        """The stream whose tuples wait in a queue as they came, read already or not; None behind a query's operator."""
        edge = self.edges[queue]
        if edge.producer is None or not self.nodes[edge.producer].reads:
            return edge.stream
        return self.stream(*self.nodes[edge.producer].queues)

    @property
    def readers(self) -> tuple[Node, ...]:
        """The operators that read streams."""
        return tuple(node for node in self.nodes.values() if node.reads) if self.reads else ()

    def _with(self, added: list[Query]) -> Network:
        builder = _Builder(self)
        for query in added:
            builder.place(query)
        return builder.network()


class _Builder:
    """Places queries one after the other behind those of a former network, whose numbers stay."""

    def __init__(self, former: Network) -> None:
        self._former = former
        self._queries = dict(former.queries)
        self._numbers = dict(former.numbers)
        self._operators: dict[OperatorId, Operator] = {}  # those that are new
        self._edges: dict[QueueId, Edge] = {}  # likewise
        self._users: dict[OperatorId, dict[QueryId, None]] = {}
        self._used: dict[QueryId, dict[OperatorId, None]] = {}
        self._roots: dict[OperatorId, list[QueryId]] = {}

    def place(self, query: Query) -> None:
        if query.name in self._queries:
            raise HeadgateError(f"query '{query.name}' is given twice", hint="give every query its own name")
        if query.query_class not in self._former.classes:
            raise unknown("class", query.query_class, self._former.classes, where=f"query {query.name}")
        self._queries[query.name] = query
        root = self._place(query.plan, (), query)
        self._roots.setdefault(root, []).append(query.name)

    def _place(self, operator: Operator, place: Place, query: Query) -> OperatorId:
        producers = [self._input(child, (*place, port), query) for port, child in enumerate(operator.inputs)]
        number = self._number(("operator", signature(operator, place, query, self._former.share)))
        existing = self._existing(number)
        if existing is None:
            self._operators[number] = operator
            for port, (stream, producer) in enumerate(producers):
                queue = self._number(("queue", number, port))
                self._edges[queue] = Edge(queue, number, port, stream, producer)
        elif query.sql is None:
            check_same(existing, operator, query)
        self._users.setdefault(number, {})[query.name] = None
        self._used.setdefault(query.name, {})[number] = None
        return number

    def _input(self, child: Operator | Source, place: Place, query: Query) -> tuple[str | None, OperatorId | None]:
        if isinstance(child, Operator):
            return None, self._place(child, place, query)
        if child.stream not in self._former.streams:
            raise unknown("stream", child.stream, self._former.streams, where=f"query {query.name}")
        if self._former.reads and self._former.streams[child.stream].source_cost:
            return None, self._read(child.stream, query)
        return child.stream, None

    def _read(self, stream: str, query: Query) -> OperatorId:
        """The operator that reads a stream: one for all queries, and none of theirs."""
        number = self._number(("operator", ("read", stream)))
        if self._existing(number) is None:
            about = self._former.streams[stream]
            given = Given(cost=about.source_cost, overhead=about.source_overhead)
            self._operators[number] = Read(inputs=(Source(stream),), given=given)
            queue = self._number(("queue", number, 0))
            self._edges[queue] = Edge(queue, number, 0, stream, None)
        self._users.setdefault(number, {})[query.name] = None
        return number

    def _number(self, key: Hashable) -> int:
        kind = key[0] if isinstance(key, tuple) else key
        if key not in self._numbers:
            self._numbers[("last", kind)] = self._numbers.get(("last", kind), -1) + 1
            self._numbers[key] = self._numbers[("last", kind)]
        return self._numbers[key]

    def _existing(self, number: OperatorId) -> Operator | None:
        node = self._former.nodes.get(number)
        return self._operators.get(number) if node is None else node.operator

    def network(self) -> Network:
        consumers: dict[OperatorId, list[QueueId]] = {}
        queues: dict[OperatorId, list[QueueId]] = {}
        for edge in self._edges.values():
            queues.setdefault(edge.operator, []).append(edge.id)
            if edge.producer is not None:
                consumers.setdefault(edge.producer, []).append(edge.id)
        nodes = dict(self._former.nodes)
        for number, users in self._users.items():
            fed, emits = tuple(consumers.get(number, ())), tuple(self._roots.get(number, ()))
            if (node := nodes.get(number)) is None:
                nodes[number] = Node(number, self._operators[number], tuple(queues[number]), fed, tuple(users), emits)
            else:
                nodes[number] = replace(
                    node,
                    consumers=(*node.consumers, *fed),
                    queries=(*node.queries, *users),
                    emits=(*node.emits, *emits),
                )
        edges = {**self._former.edges, **self._edges}
        return replace(
            self._former,
            queries=self._queries,
            nodes=nodes,
            edges=edges,
            operators={**self._former.operators, **{name: tuple(used) for name, used in self._used.items()}},
            numbers=self._remembered(nodes, edges),
        )

    def _remembered(self, nodes: Mapping[OperatorId, Node], edges: Mapping[QueueId, Edge]) -> dict[Hashable, int]:
        """All numbers; if too many are of operators and queues that are gone, only those of what is there."""
        if len(self._numbers) <= len(nodes) + len(edges) + GONE:
            return self._numbers
        kinds = {"operator": nodes.keys(), "queue": edges.keys()}
        return {
            key: number
            for key, number in self._numbers.items()
            if isinstance(key, tuple) and (key[0] not in kinds or number in kinds[key[0]])
        }
