"""Fusion is grouping, before the policy sees anything: queries of one shape become one unit."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import StrEnum

from headgate.model import Aggregate, Join, Kind
from headgate.plan.network import Network, Node
from headgate.plan.piece import Piece

STATELESS = frozenset({Kind.SELECT, Kind.PROJECT, Kind.SPLIT, Kind.TABLE_JOIN})


class Fuse(StrEnum):
    """Which queries may share a job: none, those of one class, or all."""

    OFF = "off"
    CLASS = "class"
    ALL = "all"


def group(network: Network, pieces: Sequence[Piece], fuse: Fuse) -> list[list[Piece]]:
    """Put pieces of one shape (and, with `class`, of one class) together, in their order."""
    groups: dict[Hashable, list[Piece]] = {}
    for position, piece in enumerate(pieces):
        form = shape(network, piece)
        payer = network.payer(piece.queries) if fuse is Fuse.CLASS else None
        key = (form, payer) if form is not None and fuse is not Fuse.OFF else position
        groups.setdefault(key, []).append(piece)
    return list(groups.values())


def shape(network: Network, piece: Piece) -> Hashable | None:
    """What a piece must have in common with others to share a job with them; None: it stays alone.

    Stateless over one stream; one aggregate of equal window and keys; one join of equal streams, condition and
    window.
    """
    nodes = [network.nodes[call] for call in piece.calls]
    stateful = [node for node in nodes if node.operator.kind not in STATELESS]
    streams = tuple(dict.fromkeys(_streams(network, nodes)))
    if not stateful and len(streams) == 1:
        return ("stateless", streams)
    if len(stateful) == 1:
        operator = stateful[0].operator
        if isinstance(operator, Aggregate) and len(streams) == 1:
            return ("aggregate", streams, operator.window, operator.time, operator.keys)
        if isinstance(operator, Join):
            return ("join", streams, operator.condition, operator.lower, operator.upper)
    return None


def _streams(network: Network, nodes: Sequence[Node]) -> list[str]:
    edges = [network.edges[queue] for node in nodes for queue in node.queues]
    return [edge.stream for edge in edges if edge.stream is not None]
