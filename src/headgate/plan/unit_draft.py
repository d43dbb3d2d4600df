"""A unit before it has a number and knows its entries."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.model import Level, OperatorId, QueryId, QueueId


@dataclass(frozen=True, slots=True)
class UnitDraft:
    """Operators, the queues they take from, and the queries they work for; `units` makes units of them."""

    level: Level
    calls: tuple[OperatorId, ...]
    queues: tuple[QueueId, ...]
    queries: tuple[QueryId, ...]
    name: str
