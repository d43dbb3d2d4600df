"""The network as a graph: streams and tables, the operators of queries, and the queries, with what flows and waits.

Queries of a group that have the same part of a plan share the nodes of it. Rows are counted where they enter a job and
where results leave it: the rates in between are what enters, times the selectivity where that was measured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headgate.metrics.measures.latency import WINDOWS
from headgate.model import Operator, Source, TableJoin, streams
from headgate.plan.places import Place
from headgate.server.live.numbers import Json, QueryNumbers
from headgate.server.live.snapshots import Snapshot
from headgate.server.problems import own_words
from headgate.server.workspace.names import Names
from headgate.spark.machine.network_views import NetworkView, ScheduledQuery
from headgate.spark.session import Session

UNSCHEDULED = ScheduledQuery()
_LATELY = WINDOWS["last_10_s"]


def network_json(session: Session, snapshot: Snapshot, names: Names) -> bytes:
    """The graph of a tenant's queries as JSON; made once for all who ask of the same moment."""

    def encoded() -> bytes:
        graph = network_graph(session.engine.network(), snapshot, names)
        return json.dumps(graph, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "backslashreplace")

    return snapshot.page((names.tenant, "network"), encoded)


def network_graph(view: NetworkView, snapshot: Snapshot, names: Names) -> Json:
    """The nodes, edges and groups that a tenant may see; a query that is done has none."""
    queries = {
        name: numbers
        for name, numbers in sorted(snapshot.queries.items())
        if names.has(name) and numbers.view.state != "done"
    }
    graph = _Graph(view, snapshot, names)
    for stream in snapshot.streams:
        if names.has(stream):
            graph.stream(stream)
    grouped = [[name for name in group if name in queries] for group in view.groups]
    found = {name: members for members in grouped if members for name in members}
    for name, numbers in queries.items():
        graph.query(numbers, f"group:{names.short(found[name][0])}" if name in found else None)
    groups = [graph.group([queries[name] for name in members]) for members in grouped if members]
    return {"nodes": graph.nodes(), "edges": graph.edges(), "groups": groups}


@dataclass(slots=True)
class _Node:
    """A node while its queries are collected."""

    json: Json
    queries: list[str] = field(default_factory=list)
    waiting: int = 0
    rate: float = 0.0
    costs: list[float] = field(default_factory=list)
    selectivities: list[float] = field(default_factory=list)

    def to_json(self) -> Json:
        means = {"cost": self.costs, "selectivity": self.selectivities}
        known = {name: round(sum(values) / len(values), 9) for name, values in means.items() if values}
        numbers = {"queries": self.queries, "waiting": self.waiting, "rate": round(self.rate, 3)}
        return self.json | numbers | known


class _Graph:
    """Nodes and edges by their ids. What several queries share flows once, so of their numbers the largest counts."""

    def __init__(self, view: NetworkView, snapshot: Snapshot, names: Names) -> None:
        self._view, self._snapshot, self._names = view, snapshot, names
        self._nodes: dict[str, _Node] = {}
        self._edges: dict[tuple[str, str], list[float]] = {}  # rate, waiting
        self._operators: dict[tuple[str, Operator], str] = {}  # by group: the ids of nodes

    def nodes(self) -> list[Json]:
        return [node.to_json() for node in self._nodes.values()]

    def edges(self) -> list[Json]:
        return [
            {"from": begin, "to": end, "rate": round(rate, 3), "waiting": int(waiting)}
            for (begin, end), (rate, waiting) in self._edges.items()
        ]

    def group(self, members: Sequence[QueryNumbers]) -> Json:
        """What runs together."""
        names = [self._names.short(one.view.query.name) for one in members]
        highest = max(members, key=lambda one: one.view.priority)
        return {
            "id": f"group:{names[0]}",
            "class": highest.view.query.query_class,
            "queries": names,
            "waiting": sum(one.view.waiting for one in members),
            "oldest_wait": max(one.json["oldest_wait"] for one in members),
            "rate": round(sum(one.view.rate for one in members), 3),
            "runs": max(one.view.runs for one in members),
        }

    def stream(self, stream: str) -> str:
        rate = self._snapshot.streams.get(stream, {}).get("rate", 0.0)
        return self._source("stream", stream, rate)

    def _source(self, kind: str, name: str, rate: float) -> str:
        identity = f"{kind}:{self._names.short(name)}"
        if identity not in self._nodes:
            self._nodes[identity] = _Node({"id": identity, "kind": kind, "text": self._names.short(name)}, rate=rate)
        return identity

    def query(self, numbers: QueryNumbers, group: str | None) -> None:
        """Add a query with its operators."""
        query, view = numbers.view.query, numbers.view
        name = self._names.short(query.name)
        results = numbers.times.latency["last_10_s"]["count"] / _LATELY
        flow = _Flow(name, group, self._view.queries.get(query.name, UNSCHEDULED), self._taken(numbers))
        root, _ = self._operator(query.plan, (), flow)
        where = {} if group is None else {"group": group}
        self._nodes[f"query:{name}"] = _Node(
            {"id": f"query:{name}", "kind": "query", "text": name, "class": query.query_class, **where},
            [name],
            view.waiting,
            results,
        )
        self._edge(root, f"query:{name}", results, 0)

    def _taken(self, numbers: QueryNumbers) -> dict[str, float]:
        """How many tuples per second a query takes of each of its streams, by how fast these are."""
        read = sorted(streams(numbers.view.query.plan))
        rates = {stream: self._snapshot.streams.get(stream, {}).get("rate", 0.0) for stream in read}
        whole = sum(rates.values())
        return {
            stream: numbers.view.rate * (rate / whole if whole else 1 / len(read)) for stream, rate in rates.items()
        }

    def _operator(self, operator: Operator, place: Place, flow: _Flow) -> tuple[str, float]:
        """Add an operator with all below it; gives its id, and how many rows per second come out."""
        identity = self._known(operator, place, flow)
        node, entering, waiting = self._nodes[identity], 0.0, 0
        node.queries.append(flow.query)
        for port, child in enumerate(operator.inputs):
            below = (*place, port)
            if isinstance(child, Source):
                begin, rate = self.stream(child.stream), flow.taken[child.stream]
                self._shared(self._nodes[begin], flow.query, flow.scheduled.waiting.get(below, 0))
            else:
                begin, rate = self._operator(child, below, flow)
            self._edge(begin, identity, rate, flow.scheduled.waiting.get(below, 0))
            entering, waiting = entering + rate, waiting + flow.scheduled.waiting.get(below, 0)
        if isinstance(operator, TableJoin) and operator.table:
            table = self._source("table", operator.table, 0.0)
            self._shared(self._nodes[table], flow.query, 0)
            self._edge(table, identity, 0.0, 0)
        node.waiting, node.rate = max(node.waiting, waiting), max(node.rate, entering)
        return identity, entering * self._measured(node, place, flow)

    def _known(self, operator: Operator, place: Place, flow: _Flow) -> str:
        """The id of an operator's node, which another query of the group may have made."""
        key = flow.group or f"query:{flow.query}", operator
        if key not in self._operators:
            at = "/".join(map(str, place)) or "root"
            identity = self._operators[key] = f"operator:{flow.query}:{at}"
            words = " ".join(filter(None, (operator.name or "", operator.describe())))
            where = {} if flow.group is None else {"group": flow.group}
            kind, text = str(operator.kind), own_words(words, self._names.tenant)
            self._nodes[identity] = _Node({"id": identity, "kind": "operator", "operator": kind, "text": text, **where})
        return self._operators[key]

    @staticmethod
    def _measured(node: _Node, place: Place, flow: _Flow) -> float:
        """Note what was measured of the job whose topmost operator this is; gives its selectivity, or 1."""
        job = flow.scheduled.jobs.get(place)
        if job is None or job.cost is None:
            return 1.0
        node.costs.append(job.cost)
        if job.selectivity is None:
            return 1.0
        node.selectivities.append(job.selectivity)
        return job.selectivity

    @staticmethod
    def _shared(node: _Node, query: str, waiting: int) -> None:
        if query not in node.queries:
            node.queries.append(query)
        node.waiting = max(node.waiting, waiting)

    def _edge(self, begin: str, end: str, rate: float, waiting: int) -> None:
        edge = self._edges.setdefault((begin, end), [0.0, 0])
        edge[:] = max(edge[0], rate), max(edge[1], waiting)


@dataclass(frozen=True, slots=True)
class _Flow:
    """A query whose operators are being added."""

    query: str  # as the tenant calls it
    group: str | None
    scheduled: ScheduledQuery
    taken: Mapping[str, float]  # tuples per second, by stream
