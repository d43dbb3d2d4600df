"""Fusion: which queries share one Spark job, and how large such a group may get. To the policy a group is one unit."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from headgate.model import Aggregate, Join, Kind
from headgate.plan.fusion_template import template
from headgate.plan.network import Network, Node
from headgate.plan.unit_draft import UnitDraft

MOST = 1000  # members of a group
MOST_COMPUTED = 60  # expressions that a group computes, which all of its rows carry
MOST_BY_COST = 60  # members of a group of queries that are given by cost, of which nobody knows what they compute
FULL = 0.5  # of a worker's time: a group whose own work takes more gains little from sharing one overhead
STATELESS = frozenset({Kind.SELECT, Kind.PROJECT, Kind.SPLIT, Kind.TABLE_JOIN})


class Fuse(StrEnum):
    """Which queries may share a job: none, those of one class, or all."""

    OFF = "off"
    CLASS = "class"
    ALL = "all"


Load = Callable[[UnitDraft], float]  # the share of a worker's time that a draft's own work takes


def unknown(draft: UnitDraft) -> float:
    """The load of a draft that has not run yet."""
    return 0.0


def group(network: Network, drafts: Sequence[UnitDraft], fuse: Fuse, load: Load = unknown) -> list[list[UnitDraft]]:
    """Put drafts of one shape (and, with `class`, of one class) together, in their order.

    A group has at most `MOST` members and, as far as costs are known, no more work than half a worker can do: members
    wait for each other, and what they save is one overhead, the smaller part of the job by then.
    """
    groups: dict[Hashable, list[UnitDraft]] = {}
    for position, draft in enumerate(drafts):
        form = fusion_key(network, draft) if fuse is not Fuse.OFF else None
        payer = network.payer(draft.queries) if fuse is Fuse.CLASS else None
        key: Hashable = position if form is None else (form, payer)
        groups.setdefault(key, []).append(draft)
    return [part for members in groups.values() for part in _parts(network, members, load)]


@dataclass(slots=True)
class _Part:
    """A group that is being formed."""

    drafts: list[UnitDraft] = field(default_factory=list)
    work: float = 0.0
    computed: set[str] = field(default_factory=set)  # expressions of its members

    def has_room(self, work: float, computed: frozenset[str] | None) -> bool:
        """Whether a member fits; None instead of what it computes: it is given by cost."""
        if self.drafts and self.work + work > FULL:
            return False
        if computed is None:
            return len(self.drafts) < MOST_BY_COST
        return len(self.drafts) < MOST and (computed <= self.computed or self._can_compute(computed))

    def _can_compute(self, computed: frozenset[str]) -> bool:
        return not self.drafts or len(self.computed | computed) <= MOST_COMPUTED


def _parts(network: Network, members: Sequence[UnitDraft], load: Load) -> list[list[UnitDraft]]:
    """Put each member into the first group that has room for it."""
    parts: list[_Part] = []
    for draft in members:
        work, computed = _roughly(load(draft)), _computed(network, draft)
        part = next((part for part in parts if part.has_room(work, computed)), None)
        if part is None:
            part = _Part()
            parts.append(part)
        part.drafts.append(draft)
        part.work += work
        part.computed |= computed or frozenset()
    return [part.drafts for part in parts]


def _computed(network: Network, draft: UnitDraft) -> frozenset[str] | None:
    """What a job computes for the query of a draft; None if it is given by cost, or shares no job."""
    query = network.queries[draft.queries[0]]
    found = None if query.sql is None else template(query.plan)
    return None if found is None else found.computed


def _roughly(work: float) -> float:
    """The nearest power of two: groups must not change whenever a measurement does.

    >>> _roughly(0.0), _roughly(0.11), _roughly(0.09)
    (0.0, 0.125, 0.125)
    """
    return 2.0 ** round(math.log2(work)) if work > 0 else 0.0


def fusion_key(network: Network, draft: UnitDraft) -> Hashable | None:
    """What a draft must have in common with others to share a job with them; None: it stays alone.

    SQL says what is computed, so there a template decides. Of operators given by cost all that is known is their
    kind: stateless over one stream; one aggregate of equal window; one join of equal streams and window.
    """
    query = network.queries[draft.queries[0]]
    if query.sql is not None:
        sql_template = template(query.plan) if len(draft.queries) == 1 else None
        return None if sql_template is None else sql_template.form
    nodes = [network.nodes[call] for call in draft.calls]
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
    streams = [network.stream(queue) for node in nodes for queue in node.queues]
    return [stream for stream in streams if stream is not None]
