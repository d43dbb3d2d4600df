"""Cost and selectivity of one operator (Aurora: a box), for policies that run a whole query (a superbox) at once."""

from __future__ import annotations

from typing import NamedTuple

from headgate.model import OperatorId, QueueId


class Box(NamedTuple):
    """An operator as a superbox sees it (Carney 2005, section 3.3.1.2): its numbers, and what is downstream.

    >>> Box(1, downstream=(1, 2), cost=0.5, selectivity=0.5, result_cost=2.0, size=8.0).downstream
    (1, 2)
    """

    operator: OperatorId
    downstream: tuple[OperatorId, ...]  # D: the box itself, then all it feeds inside the superbox, in their order
    cost: float  # seconds per tuple
    selectivity: float  # tuples that leave it per tuple
    result_cost: float  # cost/o_sel: seconds it spends per result
    size: float  # bytes of a tuple before it
    overhead: float = 0.0  # seconds per call
    queues: tuple[QueueId, ...] = ()  # what waits before it
