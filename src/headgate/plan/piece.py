from __future__ import annotations

from dataclasses import dataclass

from headgate.model import Level, OperatorId, QueryId, QueueId


@dataclass(frozen=True, slots=True)
class Piece:
    """A unit in the making: operators, the queues they take from, and the queries they work for."""

    level: Level
    calls: tuple[OperatorId, ...]
    queues: tuple[QueueId, ...]
    queries: tuple[QueryId, ...]
    name: str
