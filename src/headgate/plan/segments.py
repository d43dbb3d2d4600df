"""Segments: maximal chains of operators without a fork or a join inside."""

from __future__ import annotations

from headgate.plan.network import Network, Node


def chains(network: Network) -> list[list[Node]]:
    """Cut the network where an operator has several inputs, several consumers, or a result leaves half way.

    What reads a stream is a segment of its own.

    >>> from headgate.model import Join, Query, QueryClass, Select, Source, Stream
    >>> left = Select(inputs=(Select(inputs=(Source("a"),)),))
    >>> plan = Select(inputs=(Join(inputs=(left, Source("b")), lower=-1.0, upper=1.0),))
    >>> streams = [Stream(name="a"), Stream(name="b")]
    >>> network = Network.of([Query(name="q", query_class="c", plan=plan)], streams, [QueryClass("c")])
    >>> [[node.id for node in chain] for chain in chains(network)]
    [[0, 1], [2, 3]]
    """
    chain_of: dict[int, list[Node]] = {}
    for node in network.nodes.values():
        producer = network.edges[node.queues[0]].producer
        if len(node.queues) == 1 and producer is not None and _passes_on(network.nodes[producer]):
            chain = chain_of[producer]
            chain.append(node)
            chain_of[node.id] = chain
        else:
            chain_of[node.id] = [node]
    return list({id(chain): chain for chain in chain_of.values()}.values())


def _passes_on(node: Node) -> bool:
    return len(node.consumers) == 1 and not node.emits and not node.reads
