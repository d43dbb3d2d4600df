"""`headgate explain --json`: SQL, plans, network and units as JSON."""

from __future__ import annotations

from typing import Any

from headgate.model import Level, Operator, Query, Source, Unit
from headgate.plan.explain import settings, sql_text
from headgate.plan.fusion import Fuse
from headgate.plan.network import Network, Node
from headgate.plan.units import units


def of_stage(stage: str, network: Network, level: Level, fuse: Fuse, query: str | None) -> dict[str, Any]:
    """The JSON of one stage, for all queries or for one."""
    queries = list(network.queries.values()) if query is None else [network.query(query)]
    names = {shown.name for shown in queries}
    if stage == "sql":
        return {"queries": [_query(shown) | {"sql": shown.sql and sql_text(shown.sql)} for shown in queries]}
    if stage == "plan":
        return {"queries": [_query(shown) | {"plan": _plan(shown.plan)} for shown in queries]}
    if stage == "network":
        nodes = [node for node in network.nodes.values() if names & set(node.queries)]
        queues = [_queue(network, queue) for node in nodes for queue in node.queues]
        streams = [queue["stream"] for queue in queues if queue["stream"]] if query else network.streams
        return {"streams": list(dict.fromkeys(streams)), "operators": [_node(node) for node in nodes], "queues": queues}
    return {"units": [_unit(unit) for unit in units(network, level, fuse) if names & set(unit.queries)]}


def _query(query: Query) -> dict[str, Any]:
    return {"name": query.name, "class": query.query_class}


def _plan(node: Operator | Source) -> dict[str, Any]:
    if isinstance(node, Source):
        return {"stream": node.stream}
    return _operator(node) | {"inputs": [_plan(child) for child in node.inputs]}


def _operator(operator: Operator) -> dict[str, Any]:
    return {
        "kind": operator.kind.value,
        "name": operator.name,
        "computes": operator.describe() or None,
        "given": settings(operator.given),
    }


def _node(node: Node) -> dict[str, Any]:
    return {
        "id": node.id,
        "label": node.label,
        **_operator(node.operator),
        "queues": list(node.queues),
        "consumers": list(node.consumers),
        "queries": list(node.queries),
        "emits": list(node.emits),
    }


def _queue(network: Network, queue: int) -> dict[str, Any]:
    edge = network.edges[queue]
    return {
        "id": edge.id,
        "operator": edge.operator,
        "input": edge.port,
        "stream": edge.stream,
        "producer": edge.producer,
    }


def _unit(unit: Unit) -> dict[str, Any]:
    return {
        "id": unit.id,
        "name": str(unit),
        "level": unit.level.value,
        "queries": list(unit.queries),
        "payer": unit.payer,
        "operators": list(unit.calls),
        "queues": list(unit.queues),
        "entries": [list(entry) for entry in unit.entries],
    }
